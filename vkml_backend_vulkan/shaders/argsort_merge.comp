#version 450
// Merges sorted runs in pairs: an element goes as many places on as elements of the other run come
// before it, which a binary search finds. Of equal ones those of the left run come first.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "sort_push.glsl"

void main()
{
    uint i = invocation();
    if (i >= count) return;
    int line = line_of(i);
    uint place = i / step % length, start = i - place * step;
    uint mine = place / run, first = mine * run, pair = (mine & ~1u) * run;
    bool is_left = first == pair;
    uint low = min(length, is_left ? first + run : pair), begin = low;
    uint high = is_left ? min(length, low + run) : first;
    uint index = U32x2(from).v[i].x;
    uvec2 key = key_of(line, index);
    while (low < high) {
        uint middle = (low + high) / 2u;
        uvec2 other = key_of(line, U32x2(from).v[start + middle * step].x);
        bool before = is_left ? is_before(other, key) : !is_before(key, other);
        if (before) low = middle + 1u;
        else high = middle;
    }
    uint to = pair + (place - first) + (low - begin);
    U32x2(out_).v[start + to * step] = uvec2(index, 0u);
}
