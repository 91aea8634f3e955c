#version 450
// Gradient of a convolution's weights, float32, as a product by tiles: gradients (outputs × places)
// by windows of the images (places × taps). Slices as in matmul_tile.comp.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define DTYPE_F32
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"
#include "conv_tile.glsl"

uvec4 left(int m, int k)
{
    ivec2 size = places(window);
    int row = b_offset + (group * outputs + m) * b_strides[1];
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++) {
        ivec3 s = spot_of(k + i, size);
        int at = row + s.x * b_strides[0] + s.y * b_strides[2] + s.z * b_strides[3];
        bool is_real = m < outputs && s.x < batch;
        if (SECOND_IN_FOURS) return is_real ? U32x4(b).v[at >> 2] : uvec4(0u);
        found[i] = is_real ? load(b, at) : 0u;
    }
    return found;
}

uvec4 right(int k, int n)
{
    ivec2 size = places(window);
    ivec3 t = tap_of(n);
    int channel = a_offset + (group * inputs + t.x) * a_strides[1];
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++) {
        ivec3 s = spot_of(k + i, size);
        ivec2 pixel = seen(window, s.yz, t.yz);
        int plane = channel + s.x * a_strides[0];
        bool is_real = t.x < inputs && s.x < batch;
        if (are_in_row(size)) return load_row(plane, pixel, window.image, is_real);
        found[i] = load_pixel(plane, pixel, window.image, is_real);
    }
    return found;
}

#define LEFT ALONG_K
#define RIGHT ALONG_K
#include "tile.glsl"
#include "tile_grid.glsl"

void main()
{
    ivec2 size = places(window);
    int columns = inputs * TAPS, depth = batch * size.x * size.y;
    ivec4 at = tile_grid(groups, outputs, columns, slices);
    if (at.z >= groups) return;
    group = at.z;
    multiply(at.xy, slice_first(at.w, slices), slice_last(at.w, slices, depth));
    [[unroll]] for (int i = 0; i < EACH_ROWS; i++) {
        ivec2 mine = at.xy + ivec2(row_of(i), first_column());
        for (int j = 0; j < 4; j++)
            if (mine.x < outputs && mine.y + j < columns) {
                int to = (group * outputs + mine.x) * columns + mine.y + j;
                PUT(uint(at.w) * count + to, f_canonical(floatBitsToUint(total[i][j])));
            }
    }
}
