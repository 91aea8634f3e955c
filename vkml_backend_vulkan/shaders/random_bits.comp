#version 450
// The top bits of Philox words: counter (element div 4, offset), key = seed (rule 25).
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "philox.glsl"

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 seed;
    uvec2 offset;
    uint count;
    int seed_offset;
    int offset_offset;
    uint bits;
} push;

void main()
{
    uint block = invocation();
    if (block * 4u >= push.count) return;
    uvec2 key = load_i64(push.seed, push.seed_offset);
    uvec2 offset = load_i64(push.offset, push.offset_offset);
    U32x4(push.result).v[block] = philox(uvec4(block, 0u, offset), key) >> (32u - push.bits);
}
