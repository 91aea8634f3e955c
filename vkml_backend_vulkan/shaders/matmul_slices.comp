#version 450
// Adds up, in order from +0, the sums of the chunks of k that matmul_tile.comp left.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
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

// Sums that are read at a time, so that memory answers while others are asked.
const int BLOCK = 32;

void main()
{
    uint i = invocation();
    if (i >= count) return;
    float total = 0.0;
    for (int first = 0; first < slices; first += BLOCK) {
        uint next[BLOCK]; // +0 after the last slice: `total` is never -0, so that changes nothing
        [[unroll]] for (int s = 0; s < BLOCK; s++)
            next[s] = first + s < slices ? load_f32(sums, int(uint(first + s) * count + i)) : 0u;
        [[unroll]] for (int s = 0; s < BLOCK; s++) {
            precise float sum = total + uintBitsToFloat(next[s]);
            total = sum;
        }
    }
    PUT(i, f_canonical(floatBitsToUint(total)));
}
