#version 450
// What matmul_slices.comp does, for many slices: a workgroup has 32 results, each row of its
// invocations reads slices of its own, and the first row adds them up in order from +0.
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

const int SIDE = 32, EACH = 8; // results of a workgroup, slices that an invocation reads at a time
const int ROWS = int(gl_WorkGroupSize.x) / SIDE;

shared float read_[ROWS * EACH][SIDE];

void main()
{
    int me = int(gl_LocalInvocationIndex), row = me / SIDE, column = me % SIDE;
    uint i = workgroup() * uint(SIDE) + uint(column);
    float next[EACH], total = 0.0;
    for (int first = 0; first < slices + ROWS * EACH; first += ROWS * EACH) {
        [[unroll]] for (int e = 0; e < EACH; e++) { // +0 after the last slice changes no sum
            int s = first + row * EACH + e;
            uint bits = i < count && s < slices ? load_f32(sums, int(uint(s) * count + i)) : 0u;
            next[e] = uintBitsToFloat(bits);
        }
        if (row == 0 && first > 0)
            for (int r = 0; r < ROWS; r++)
                [[unroll]] for (int e = 0; e < EACH; e++) {
                    precise float sum = total + read_[r * EACH + e][column];
                    total = sum;
                }
        barrier();
        [[unroll]] for (int e = 0; e < EACH; e++) read_[row * EACH + e][column] = next[e];
        barrier();
    }
    if (row == 0 && i < count) PUT(i, f_canonical(from_zero(floatBitsToUint(total))));
}
