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
        // +0 after the last slice, which changes no sum. Without branches: 32 of them are more than
        // what SwiftShader's compiler finds an end of.
        uint next[BLOCK];
        [[unroll]] for (int s = 0; s < BLOCK; s++) {
            uint read = load_f32(sums, int(uint(min(first + s, slices - 1)) * count + i));
            next[s] = mix(0u, read, first + s < slices);
        }
        [[unroll]] for (int s = 0; s < BLOCK; s++) {
            precise float sum = total + uintBitsToFloat(next[s]);
            total = sum;
        }
    }
    PUT(i, f_canonical(from_zero(floatBitsToUint(total))));
}
