#version 450
// Counts: first number + i · step in int64, wrapping.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 start;
    uvec2 step;
    uint count;
    int start_offset;
    int step_offset;
} push;

void main()
{
    uint first = invocation() * 4u;
    if (first >= push.count) return;
    uvec2 start = load_i64(push.start, push.start_offset);
    uvec2 step = load_i64(push.step, push.step_offset);
    uvec2 results[4];
    for (uint i = 0u; i < 4u; i++)
        results[i] = i64_add(start, i64_mul(uvec2(first + i, 0u), step));
    store4_i64(push.result, first, first + 2u < push.count, results);
}
