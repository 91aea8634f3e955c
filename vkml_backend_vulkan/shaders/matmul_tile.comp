#version 450
// Matrix product of float32 by tiles. With more than one slice, each slice is a chunk of k whose
// sums go to a plane of their own, to be added up in order by matmul_slices.comp.
#extension GL_GOOGLE_include_directive : require
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
#include "hook.glsl"
layout(constant_id = 2) const bool LEFT_ALONG_K = true;
layout(constant_id = 3) const bool RIGHT_ALONG_K = false;
layout(constant_id = 6) const bool WHOLE = false; // all tiles and steps of k are

int a_first, b_first;

uint left(int m, int k)
{
    return WHOLE || (m < rows && k < depth) ? load_f32(a, a_first + m * a_strides[2] + k * a_strides[3]) : 0u;
}

uint right(int k, int n)
{
    return WHOLE || (n < columns && k < depth) ? load_f32(b, b_first + k * b_strides[2] + n * b_strides[3]) : 0u;
}

#include "tile.glsl"
#include "tile_grid.glsl"

void main()
{
    ivec4 at = tile_grid(outer * batch, rows, columns, slices);
    if (at.z >= outer * batch) return;
    a_first = a_offset + at.z / batch * a_strides[0] + at.z % batch * a_strides[1];
    b_first = b_offset + at.z / batch * b_strides[0] + at.z % batch * b_strides[1];
    multiply(at.xy, slice_first(at.w, slices), slice_last(at.w, slices, depth));
    ivec2 mine = at.xy + place() * ivec2(EACH, 4);
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < 4; j++)
            if (WHOLE || (mine.x + i < rows && mine.y + j < columns)) {
                int to = (at.z * rows + mine.x + i) * columns + mine.y + j;
                PUT(uint(at.w) * count + to, f_canonical(floatBitsToUint(total[i][j])));
            }
}
