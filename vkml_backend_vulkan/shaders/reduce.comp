#version 450
// Reduces chunks of 1024 elements, taken in row-major order over the reduced axes, to one word (or
// int64) each; 32 invocations to a chunk (rules 16 and 17). Defined per module: T, RESULT (the
// array type of results), LOAD, COMBINE, IDENTITY, WHOLE, and TREE for the order of neighbours.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "exact.glsl"

const uint LANES = 32u;
const uint CHUNK = 1024u;
// Whether the reduced axes are one axis.
layout(constant_id = 2) const uint FLAT = 0u;
// Whether neighbours in memory belong to neighbouring results: then invocations side by side take
// the same element of different results, so that they read side by side.
layout(constant_id = 3) const uint COLUMNS = 0u;

// Whether an invocation computes a result alone: rows of up to 32 elements, one to a lane.
layout(constant_id = 4) const uint ALONE = 0u;

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 source;
#ifdef HOOK
    uvec2 extra[4];
#endif
    uint outer_extents[4];
    int outer_strides[4];
    uint inner_extents[4];
    int inner_strides[4];
    int offset;
    uint n;
    uint chunks;
    uint total;
} push;
#include "reduce_hook.glsl"

shared T lanes[gl_WorkGroupSize.x];

int outer_place(uint i)
{
    uvec4 extents = uvec4(
        push.outer_extents[0], push.outer_extents[1], push.outer_extents[2],
        push.outer_extents[3]);
    ivec4 strides = ivec4(
        push.outer_strides[0], push.outer_strides[1], push.outer_strides[2],
        push.outer_strides[3]);
    return push.offset + along(coords(i, extents), strides);
}
int inner_place(uint i)
{
    if (FLAT != 0u) return int(i) * push.inner_strides[3];
    uvec4 extents = uvec4(
        push.inner_extents[0], push.inner_extents[1], push.inner_extents[2],
        push.inner_extents[3]);
    ivec4 strides = ivec4(
        push.inner_strides[0], push.inner_strides[1], push.inner_strides[2],
        push.inner_strides[3]);
    return along(coords(i, extents), strides);
}

#ifdef TREE
// A lane takes 32 neighbours, whose tree is whole: what is missing at the end is IDENTITY.
T lane_result(int base, uint first, uint end, uint lane)
{
    T tree[LANES];
    for (uint i = 0u; i < LANES; i++) {
        uint j = first + lane * LANES + i;
        if (j < end) tree[i] = LOAD(push.source, base + inner_place(j));
        else tree[i] = IDENTITY;
    }
    for (uint left = LANES / 2u; left > 0u; left >>= 1)
        for (uint i = 0u; i < left; i++) tree[i] = COMBINE(tree[2u * i], tree[2u * i + 1u]);
    return tree[0];
}
T whole_result(int base) { return lane_result(base, 0u, push.n, 0u); }
#else
T lane_result(int base, uint first, uint end, uint lane)
{
    T sum = IDENTITY;
    for (uint j = first + lane; j < end; j += LANES)
        sum = COMBINE(sum, LOAD(push.source, base + inner_place(j)));
    return sum;
}
T whole_result(int base)
{
    T tree[LANES];
    for (uint lane = 0u; lane < LANES; lane++) tree[lane] = lane_result(base, 0u, push.n, lane);
    for (uint left = LANES / 2u; left > 0u; left >>= 1)
        for (uint i = 0u; i < left; i++) tree[i] = COMBINE(tree[i], tree[i + left]);
    return tree[0];
}
#endif

void main()
{
    if (ALONE != 0u) {
        uint row = invocation();
        if (row < push.total) PUT(row, WHOLE(whole_result(outer_place(row))));
        return;
    }
    uint me = gl_LocalInvocationIndex;
    uint side = gl_WorkGroupSize.x / LANES;
    uint step = COLUMNS != 0u ? side : 1u;  // from a lane to the next
    uint lane = me / step % LANES;
    // Not invocation() / LANES: there can be more invocations than 32 bits count.
    uint task = workgroup() * side + (COLUMNS != 0u ? me % side : me / LANES);
    uint outer, part;
    if (COLUMNS != 0u) {
        uint outers = push.total / push.chunks;
        part = task / outers;
        outer = task - part * outers;
    } else {
        outer = task / push.chunks;
        part = task - outer * push.chunks;
    }
    T mine = IDENTITY;
    if (task < push.total) {
        uint first = part * CHUNK;
        mine = lane_result(outer_place(outer), first, min(first + CHUNK, push.n), lane);
    }
    for (uint left = LANES / 2u; left > 0u; left >>= 1) {
        lanes[me] = mine;
        barrier();
#ifdef TREE
        if (lane < left) mine = COMBINE(lanes[me + lane * step], lanes[me + (lane + 1u) * step]);
#else
        if (lane < left) mine = COMBINE(mine, lanes[me + left * step]);
#endif
        barrier();
    }
    if (lane == 0u && task < push.total)
        PUT(outer * push.chunks + part, WHOLE(mine));
}
