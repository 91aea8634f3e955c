#version 450
// Running sums (rule 18) in three phases: an invocation sums one chunk of 1024 of one row; one
// invocation sums up the chunk totals of a row; an invocation adds to one element what came before
// its chunk. Defined per module: T, RESULT, LOAD, ADD and ZERO.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint CHUNK = 1024u;
const uint CHUNKS = 0u, TOTALS = 1u;
layout(constant_id = 2) const uint PHASE = CHUNKS;

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 source;
    uvec2 totals;
    uint extents[4];
    int source_strides[4];
    int result_strides[4];
    int offset;
    int source_step;
    int result_step;
    uint n;
    uint chunks;
    uint rows;
} push;

ivec4 row_coords(uint row)
{
    return coords(
        row, uvec4(push.extents[0], push.extents[1], push.extents[2], push.extents[3]));
}
int result_place(uint row)
{
    return along(
        row_coords(row),
        ivec4(push.result_strides[0], push.result_strides[1], push.result_strides[2],
              push.result_strides[3]));
}

void sum_chunk(uint row, uint chunk)
{
    int from = push.offset
        + along(row_coords(row),
                ivec4(push.source_strides[0], push.source_strides[1], push.source_strides[2],
                      push.source_strides[3]));
    int to = result_place(row);
    T running = ZERO;
    for (uint j = chunk * CHUNK; j < min(push.n, (chunk + 1u) * CHUNK); j++) {
        running = ADD(running, LOAD(push.source, from + int(j) * push.source_step));
        RESULT(push.result).v[to + int(j) * push.result_step] = running;
    }
    RESULT(push.totals).v[row * push.chunks + chunk] = running;
}

void sum_totals(uint row)
{
    T before = ZERO;
    for (uint i = row * push.chunks; i < (row + 1u) * push.chunks; i++) {
        T total = RESULT(push.totals).v[i];
        RESULT(push.totals).v[i] = before;
        before = ADD(before, total);
    }
}

void add_before(uint row, uint j)
{
    int at = result_place(row) + int(j) * push.result_step;
    T before = RESULT(push.totals).v[row * push.chunks + j / CHUNK];
    RESULT(push.result).v[at] = ADD(RESULT(push.result).v[at], before);
}

void main()
{
    uint per_row = PHASE == CHUNKS ? push.chunks : PHASE == TOTALS ? 1u : push.n;
    uint row = invocation() / per_row;
    if (row >= push.rows) return;
    uint part = invocation() - row * per_row;
    if (PHASE == CHUNKS) sum_chunk(row, part);
    else if (PHASE == TOTALS) sum_totals(row);
    else add_before(row, part);
}
