#version 450
// Sorts runs of a line by counting: an element's rank is the number of elements before it.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "sort_push.glsl"

void main()
{
    uint i = invocation();
    if (i >= count) return;
    int line = line_of(i);
    uint mine = i / step % length, rank = 0u;
    uint first = mine / run * run, end = min(length, first + run);
    uvec2 key = key_of(line, mine);
    for (uint k = first; k < end; k++) {
        uvec2 other = key_of(line, k);
        rank += uint(is_before(other, key) || (other == key && k < mine));
    }
    U32x2(out_).v[i - mine * step + (first + rank) * step] = uvec2(mine, 0u);
}
