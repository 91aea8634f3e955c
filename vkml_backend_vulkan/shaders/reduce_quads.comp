#version 450
// Reduces chunks as reduce.comp does, eight invocations to a chunk: each has four of the 32 lanes
// and reads one element of each at a time. The inner reduced axis lies side by side in memory, and
// all strides but its own are multiples of four. Defined per module: COMBINE,
// IDENTITY and WHOLE.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "exact.glsl"

#define RESULT U32
const uint CHUNK = 1024u;
const uint SIDE = 8u;    // invocations of a chunk
const uint ROUNDS = 32u; // reads of each in a chunk
const uint BATCH = 8u;   // of them on their way at a time
// Whether the reduced axes are one axis; they are two at most.
layout(constant_id = 2) const uint FLAT = 0u;

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 source;
#ifdef HOOK
    uvec2 extra[4];
#endif
    uint outer_extents[4];
    int outer_strides[4]; // in fours, as the next two
    uint inner;           // extent of the inner reduced axis
    int across;           // stride of the outer one
    uint n;               // elements that are reduced to one
    uint chunks;
    uint total;
} push;
#include "reduce_hook.glsl"

shared uvec4 lanes[gl_WorkGroupSize.x];

uint combine(uint a, uint b) { return COMBINE(a, b); }
uvec4 combine(uvec4 a, uvec4 b)
{
    return uvec4(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w));
}
int outer_place(uint i)
{
    uvec4 extents = uvec4(
        push.outer_extents[0], push.outer_extents[1], push.outer_extents[2],
        push.outer_extents[3]);
    ivec4 strides = ivec4(
        push.outer_strides[0], push.outer_strides[1], push.outer_strides[2],
        push.outer_strides[3]);
    return along(coords(i, extents), strides);
}

// Walks through the fours of the reduced axes, SIDE of them at a time, without dividing again.
struct Walk { int base; uint row; uint column; };
Walk walk(int base, uint first)
{
    if (FLAT != 0u) return Walk(base, 0u, first);
    uint row = first / push.inner;
    return Walk(base, row, first - row * push.inner);
}
int here(Walk w)
{
    if (FLAT != 0u) return w.base + int(w.column);
    return w.base + int(w.row) * push.across + int(w.column);
}
void next(inout Walk w, uint rows, uint columns)
{
    w.column += columns;
    if (FLAT != 0u) return;
    w.row += rows;
    if (w.column < push.inner) return;
    w.column -= push.inner;
    w.row++;
}

// The four lanes of an invocation, in a chunk from element `first` on.
uvec4 lanes_result(int base, uint first, uint me)
{
    Walk at = walk(base, first / 4u + me);
    uint rows = FLAT != 0u ? 0u : SIDE / push.inner, columns = SIDE - rows * push.inner;
    uvec4 sum = uvec4(IDENTITY);
    if (push.n - first >= CHUNK) {
        for (uint i = 0u; i < ROUNDS; i += BATCH) {
            uvec4 found[BATCH];
            [[unroll]] for (uint k = 0u; k < BATCH; k++) {
                found[k] = U32x4(push.source).v[here(at)];
                next(at, rows, columns);
            }
            [[unroll]] for (uint k = 0u; k < BATCH; k++) sum = combine(sum, found[k]);
        }
        return sum;
    }
    for (uint i = first + 4u * me; i < push.n; i += 4u * SIDE) {
        uvec4 found = U32x4(push.source).v[here(at)];
        next(at, rows, columns);
        uint left = push.n - i;  // what lies behind the last element counts for nothing
        if (left < 4u) found = mix(uvec4(IDENTITY), found, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(left)));
        sum = combine(sum, found);
    }
    return sum;
}

void main()
{
    uint me = gl_LocalInvocationIndex, mine = me % SIDE;
    uint task = workgroup() * (gl_WorkGroupSize.x / SIDE) + me / SIDE;
    uint outer = task / push.chunks, part = task - outer * push.chunks;
    uvec4 sum = uvec4(IDENTITY);
    if (task < push.total) sum = lanes_result(outer_place(outer), part * CHUNK, mine);
    for (uint left = SIDE / 2u; left > 0u; left >>= 1) {
        lanes[me] = sum;
        barrier();
        if (mine < left) sum = combine(sum, lanes[me + left]);
        barrier();
    }
    uint whole = combine(combine(sum.x, sum.z), combine(sum.y, sum.w));
    if (mine == 0u && task < push.total) PUT(outer * push.chunks + part, WHOLE(whole));
}
