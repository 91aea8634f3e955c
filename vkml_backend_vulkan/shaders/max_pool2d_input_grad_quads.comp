#version 450
// The gradient of max_pool2d's input for windows two pixels wide side by side without gaps: an
// invocation reads two windows and their gradients and writes all of their pixels.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "value.glsl"

layout(push_constant) uniform Push {
    uvec2 g, x, out_;
#ifdef HOOK
    uvec2 extra[4];
#endif
    uint count;  // two windows each
    uint across;  // of them in a row
};
#include "hook_quad.glsl"
#include "window_quads.glsl"

void main()
{
    PREPARE();
    uint i = invocation();
    if (i >= count) return;
    uint row = i / across;
    uint first = row * (HEIGHT - 1u) * across + i;
    uvec2 given = U32x2(g).v[i];
    uvec2 best = uvec2(0u), where = uvec2(0u);
    [[unroll]] for (uint y = 0u; y < HEIGHT; y++) {
        uvec4 key = order_keys(pixels(x, first + y * across));
        look(best.x, where.x, key.x, 2u * y);
        look(best.x, where.x, key.y, 2u * y + 1u);
        look(best.y, where.y, key.z, 2u * y);
        look(best.y, where.y, key.w, 2u * y + 1u);
    }
    uint a = f_canonical(from_zero(given.x)), b = f_canonical(from_zero(given.y));
    [[unroll]] for (uint y = 0u; y < HEIGHT; y++) {
        bvec4 here = equal(where.xxyy, uvec4(2u * y, 2u * y + 1u, 2u * y, 2u * y + 1u));
        PUT4(4u * (first + y * across), mix(uvec4(ZERO), uvec4(a, a, b, b), here));
    }
}
