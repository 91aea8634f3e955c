#version 450
// The first largest element of each window, as max_pool2d.comp, for windows two pixels wide side by
// side without gaps: an invocation reads eight pixels of each row of four windows.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "value.glsl"

layout(push_constant) uniform Push {
    uvec2 x, out_;
#ifdef HOOK
    uvec2 extra[4];
#endif
    uint count;  // four windows each
    uint across;  // of them in a row
};
#include "hook_quad.glsl"
#include "window_quads.glsl"

void look4(inout uvec4 best, inout uvec4 chosen, uvec4 left, uvec4 right, uvec4 l, uvec4 r)
{
    look(best.x, chosen.x, left.x, l.x);
    look(best.x, chosen.x, left.y, l.y);
    look(best.y, chosen.y, left.z, l.z);
    look(best.y, chosen.y, left.w, l.w);
    look(best.z, chosen.z, right.x, r.x);
    look(best.z, chosen.z, right.y, r.y);
    look(best.w, chosen.w, right.z, r.z);
    look(best.w, chosen.w, right.w, r.w);
}

void main()
{
    PREPARE();
    uint i = invocation();
    if (i >= count) return;
    uint row = i / across;
    uint at = 2u * (row * (HEIGHT - 1u) * across + i);
    uvec4 best = uvec4(0u), chosen = uvec4(0u);
    [[unroll]] for (uint y = 0u; y < HEIGHT; y++, at += 2u * across) {
        uvec4 l = pixels(x, at), r = pixels(x, at + 1u);
        look4(best, chosen, order_keys(l), order_keys(r), l, r);
    }
    PUT4(4u * i, canonical(chosen));
}
