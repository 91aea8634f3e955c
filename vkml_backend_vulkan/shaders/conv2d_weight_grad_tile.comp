#version 450
// Gradient of a convolution's weights, float32, as a product by tiles: gradients (outputs × places)
// by windows of the images (places × taps). Slices as in matmul_tile.comp.
#extension GL_GOOGLE_include_directive : require
#define DTYPE_F32
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"
#include "conv_tile.glsl"

uint left(int m, int k)
{
    ivec3 s = spot_of(k, places(window));
    return m < outputs && s.x < batch ? load_b(ivec4(s.x, group * outputs + m, s.yz)) : 0u;
}

uint right(int k, int n)
{
    ivec3 t = tap_of(n), s = spot_of(k, places(window));
    ivec2 pixel = seen(window, s.yz, t.yz);
    bool real = t.x < inputs && s.x < batch && inside(pixel, window.image);
    return real ? load_a(ivec4(s.x, group * inputs + t.x, pixel)) : 0u;
}

#define LEFT_ALONG_K true
#define RIGHT_ALONG_K true
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
    ivec2 mine = at.xy + place() * ivec2(EACH, 4);
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < 4; j++)
            if (mine.x + i < outputs && mine.y + j < columns) {
                int to = (group * outputs + mine.x + i) * columns + mine.y + j;
                PUT(uint(at.w) * count + to, f_canonical(floatBitsToUint(total[i][j])));
            }
}
