#version 450
// Adds up, in order from +0, the sums of the chunks of k that matmul_tile.comp left.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant) uniform Push {
    uvec2 sums, out_;
#ifdef HOOK
    uvec2 extra[4];
#endif
    uint count;
    int slices;
};
#include "hook.glsl"

void main()
{
    uint i = invocation();
    if (i >= count) return;
    uint total = 0u;
    for (int s = 0; s < slices; s++) total = f_add(total, load_f32(sums, int(uint(s) * count + i)));
    PUT(i, total);
}
