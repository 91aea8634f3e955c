#version 450
// Places a tensor into a larger one: pad, and each input of cat. Four consecutive results per
// invocation; where the source has no element the result is `value`, or stays as it was (KEEP).
// Defined per module: T, LOAD and STORE of the dtype.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 2) const uint KEEP = 0u;

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 source;
    uvec2 value;
    uint first;
    uint end;
    uint count;
    uint extents[4];
    int source_extents[4];
    int low[4];
    int step[4];
    int strides[4];
    int offset;
    int value_offset;
} push;

T element(uint index)
{
    ivec4 at = coords(
        index, uvec4(push.extents[0], push.extents[1], push.extents[2], push.extents[3]));
    int from = push.offset;
    for (int k = 0; k < 4; k++) {
        int moved = at[k] - push.low[k];
        int i = moved / push.step[k];
        if (moved < 0 || i * push.step[k] != moved || i >= push.source_extents[k])
            return KEEP != 0u ? LOAD(push.result, int(index)) : LOAD(push.value, push.value_offset);
        from += i * push.strides[k];
    }
    return LOAD(push.source, from);
}

void main()
{
    uint first = push.first + invocation() * 4u;
    if (first >= push.end) return;
    T results[4];
    for (uint i = 0u; i < 4u && first + i < push.count; i++) results[i] = element(first + i);
    STORE(push.result, first, first + 2u < push.count, results);
}
