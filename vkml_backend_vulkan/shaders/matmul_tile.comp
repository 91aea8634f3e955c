#version 450
// Matrix product of float32 by tiles. With more than one slice, each slice is a chunk of k whose
// sums go to a plane of their own, to be added up in order by matmul_slices.comp. With FOURS the
// columns are a multiple of four, and written so.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"

layout(push_constant) uniform Push {
    uvec2 a, b, out_;
#ifdef HOOK
    uvec2 extra[4];
#endif
    int a_offset, a_strides[4];
    int b_offset, b_strides[4];
    uint count;
    int outer, batch, rows, columns, depth, slices;
};
#include "hook_quad.glsl"
layout(constant_id = 2) const bool LEFT_ALONG_K = true;
layout(constant_id = 3) const bool RIGHT_ALONG_K = false;
layout(constant_id = 6) const bool WHOLE = false; // all tiles and steps of k are
// Four neighbours are one vector in memory, all inside of the matrix or all outside.
layout(constant_id = 7) const bool LEFT_IN_FOURS = false;
layout(constant_id = 8) const bool RIGHT_IN_FOURS = false;

int a_first, b_first;

// (What specialisation constants choose are numbers: lavapipe takes any vector that they choose for
// zeros.)

bool inside(int i, int k, int extent) { return WHOLE || (i < extent && k < depth); }

uvec4 left(int m, int k)
{
    int at = a_first + m * a_strides[2] + k * a_strides[3];
    if (LEFT_IN_FOURS) return inside(m, k, rows) ? U32x4(a).v[at >> 2] : uvec4(0u);
    int down = LEFT_ALONG_K ? 0 : 1, along = LEFT_ALONG_K ? 1 : 0;
    int step = LEFT_ALONG_K ? a_strides[3] : a_strides[2];
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++)
        found[i] = inside(m + i * down, k + i * along, rows) ? load_f32(a, at + i * step) : 0u;
    return found;
}

uvec4 right(int k, int n)
{
    int at = b_first + k * b_strides[2] + n * b_strides[3];
    if (RIGHT_IN_FOURS) return inside(n, k, columns) ? U32x4(b).v[at >> 2] : uvec4(0u);
    int down = RIGHT_ALONG_K ? 1 : 0, along = RIGHT_ALONG_K ? 0 : 1;
    int step = RIGHT_ALONG_K ? b_strides[2] : b_strides[3];
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++)
        found[i] = inside(n + i * along, k + i * down, columns) ? load_f32(b, at + i * step) : 0u;
    return found;
}

#define LEFT (LEFT_ALONG_K ? ALONG_K : ACROSS_K)
#define RIGHT (RIGHT_ALONG_K ? ALONG_K : ACROSS_K)
#include "tile.glsl"
#include "tile_grid.glsl"

void main()
{
#ifdef FOURS
    PREPARE();
#endif
    ivec4 at = tile_grid(outer * batch, rows, columns, slices);
    if (at.z >= outer * batch) return;
    a_first = a_offset + at.z / batch * a_strides[0] + at.z % batch * a_strides[1];
    b_first = b_offset + at.z / batch * b_strides[0] + at.z % batch * b_strides[1];
    multiply(at.xy, slice_first(at.w, slices), slice_last(at.w, slices, depth));
    [[unroll]] for (int i = 0; i < EACH_ROWS; i++) {
        ivec2 mine = at.xy + ivec2(row_of(i), first_column());
        uint to = uint(at.w) * count + uint((at.z * rows + mine.x) * columns + mine.y);
#ifdef FOURS
        if (WHOLE || (mine.x < rows && mine.y < columns)) PUT4(to, sums_bits(total[i]));
#else
        [[unroll]] for (int j = 0; j < 4; j++)
            if (WHOLE || (mine.x < rows && mine.y + j < columns))
                PUT(to + uint(j), sum_bits(total[i][j]));
#endif
    }
}
