#version 450
// Reduces what chunks gave, a workgroup to a row, to one word each: chunks of 1024 again, 32
// invocations to each, and their results once more, as reduce.comp does in two dispatches (rules 16
// and 17). Defined per module: T, RESULT, LOAD, COMBINE, IDENTITY, WHOLE, and
// TREE.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "exact.glsl"

const uint LANES = 32u;
const uint CHUNK = 1024u;
const uint BATCH = 16u; // reads on their way at a time

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 source;
#ifdef HOOK
    uvec2 extra[4];
#endif
    uint n;  // of a row; the result of 1024 chunks at most
    uint rows;
} push;
#include "reduce_hook.glsl"

shared T lanes[2u * gl_WorkGroupSize.x];
shared T found[CHUNK];

T of_row(uint row, uint j) { return LOAD(push.source, int(row * push.n + j)); }

#ifdef TREE
T tree_result(T tree[LANES])
{
    for (uint left = LANES / 2u; left > 0u; left >>= 1)
        for (uint i = 0u; i < left; i++) tree[i] = COMBINE(tree[2u * i], tree[2u * i + 1u]);
    return tree[0];
}
T row_lane(uint row, uint first, uint end, uint lane)
{
    T tree[LANES];
    for (uint i = 0u; i < LANES; i++) {
        uint j = first + lane * LANES + i;
        if (j < end) tree[i] = of_row(row, j);
        else tree[i] = IDENTITY;
    }
    return tree_result(tree);
}
T found_lane(uint end, uint lane)
{
    T tree[LANES];
    for (uint i = 0u; i < LANES; i++) {
        uint j = lane * LANES + i;
        if (j < end) tree[i] = found[j];
        else tree[i] = IDENTITY;
    }
    return tree_result(tree);
}
#else
T row_lane(uint row, uint first, uint end, uint lane)
{
    T sum = IDENTITY, next[BATCH];
    uint j = first + lane;
    if (first + CHUNK <= end)
        for (; j < end; j += BATCH * LANES) {
            [[unroll]] for (uint k = 0u; k < BATCH; k++) next[k] = of_row(row, j + k * LANES);
            [[unroll]] for (uint k = 0u; k < BATCH; k++) sum = COMBINE(sum, next[k]);
        }
    for (; j < end; j += LANES) sum = COMBINE(sum, of_row(row, j));
    return sum;
}
T found_lane(uint end, uint lane)
{
    T sum = IDENTITY;
    for (uint j = lane; j < end; j += LANES) sum = COMBINE(sum, found[j]);
    return sum;
}
#endif

// The result of 32 lanes, in the first of them. All invocations of the workgroup take part; each
// turn writes where nobody reads any more, so that one barrier does.
T folded(T mine, uint lane, inout uint turn)
{
    for (uint left = LANES / 2u; left > 0u; left >>= 1) {
        uint me = turn * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
        turn ^= 1u;
        lanes[me] = mine;
        barrier();
#ifdef TREE
        if (lane < left) mine = COMBINE(lanes[me + lane], lanes[me + lane + 1u]);
#else
        if (lane < left) mine = COMBINE(mine, lanes[me + left]);
#endif
    }
    return mine;
}

void main()
{
    uint row = workgroup(), lane = gl_LocalInvocationIndex % LANES, turn = 0u;
    if (row >= push.rows) return;
    uint chunks = (push.n + CHUNK - 1u) / CHUNK, side = gl_WorkGroupSize.x / LANES;
    for (uint first = 0u; first < chunks; first += side) {
        uint part = first + gl_LocalInvocationIndex / LANES, start = part * CHUNK;
        T mine = folded(row_lane(row, start, min(start + CHUNK, push.n), lane), lane, turn);
        if (lane == 0u && part < chunks) found[part] = WHOLE(mine);
    }
    barrier();
    T whole = folded(found_lane(chunks, lane), lane, turn);
    if (gl_LocalInvocationIndex == 0u) PUT(row, WHOLE(whole));
}
