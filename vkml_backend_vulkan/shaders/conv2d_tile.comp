#version 450
// Convolution of float32 as a product by tiles: weights (outputs × taps) by windows of the images
// (taps × places), which are never stored.
#extension GL_GOOGLE_include_directive : require
#define DTYPE_F32
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"
#include "conv_tile.glsl"

uint left(int m, int k)
{
    ivec3 t = tap_of(k);
    return m < outputs && t.x < inputs ? load_b(ivec4(group * outputs + m, t)) : 0u;
}

uint right(int k, int n)
{
    ivec3 t = tap_of(k), s = spot_of(n, places(window));
    ivec2 pixel = seen(window, s.yz, t.yz);
    bool real = t.x < inputs && s.x < batch && inside(pixel, window.image);
    return real ? load_a(ivec4(s.x, group * inputs + t.x, pixel)) : 0u;
}

#define LEFT_ALONG_K true
#define RIGHT_ALONG_K false
#include "tile.glsl"
#include "tile_grid.glsl"

void main()
{
    ivec2 size = places(window);
    ivec4 at = tile_grid(groups, outputs, batch * size.x * size.y, 1);
    if (at.z >= groups) return;
    group = at.z;
    multiply(at.xy, 0, inputs * TAPS);
    ivec2 mine = at.xy + place() * 4;
    for (int j = 0; j < 4; j++) {
        ivec3 s = spot_of(mine.y + j, size);
        for (int i = 0; i < 4; i++)
            if (mine.x + i < outputs && s.x < batch) {
                int channel = s.x * groups * outputs + group * outputs + mine.x + i;
                int to = (channel * size.x + s.y) * size.y + s.z;
                PUT(to, f_canonical(floatBitsToUint(total[i][j])));
            }
    }
}
