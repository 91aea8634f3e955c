#version 450
// Matrix product, one output at a time, for any strides and dtype.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "value.glsl"

layout(push_constant) uniform Push {
    uvec2 a, b, out_;
#ifdef HOOK
    uvec2 extra[4];
#endif
    int a_offset, a_strides[4];
    int b_offset, b_strides[4];
    uint count, batch, rows, columns, depth;
};
#include "hook.glsl"
// Elements of each factor that are read at a time, so that memory answers while others are asked.
const uint BLOCK = 8u;

V result(uint index)
{
    int n = int(index % columns), m = int(index / columns % rows);
    uint matrix = index / (rows * columns);
    int outer = int(matrix / batch), inner = int(matrix % batch);
    int left = a_offset + outer * a_strides[0] + inner * a_strides[1] + m * a_strides[2];
    int right = b_offset + outer * b_strides[0] + inner * b_strides[1] + n * b_strides[3];
    Chain sum = chain();
    uint k = 0u;
    for (; k + BLOCK <= depth; k += BLOCK) { // of which CHUNK is a multiple
        V x[BLOCK], y[BLOCK];
        [[unroll]] for (int i = 0; i < int(BLOCK); i++) {
            x[i] = load(a, left + i * a_strides[3]);
            y[i] = load(b, right + i * b_strides[2]);
        }
        turn(sum);
        [[unroll]] for (uint i = 0u; i < BLOCK; i++) sum.chunk = add(sum.chunk, mul(x[i], y[i]));
        sum.terms += BLOCK;
        left += int(BLOCK) * a_strides[3];
        right += int(BLOCK) * b_strides[2];
    }
    for (; k < depth; k++) {
        multiply_add(sum, load(a, left), load(b, right));
        left += a_strides[3];
        right += b_strides[2];
    }
    return chain_sum(sum);
}

#include "outputs.glsl"
