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

// An invocation reads for one place only: n is the same in all calls.
ivec2 corner; // the pixel that the first tap sees there
int image; // the element of the operand where its images of this group begin
bool real; // whether there is such a place

uint right(int k, int n)
{
    ivec3 t = tap_of(k);
    ivec2 pixel = corner + t.yz * window.dilation;
    if (!(real && t.x < inputs && inside(pixel, window.image))) return 0u;
    return load(a, image + t.x * a_strides[1] + pixel.x * a_strides[2] + pixel.y * a_strides[3]);
}

void turn_to(int n)
{
    ivec3 s = spot_of(n, places(window));
    real = s.x < batch;
    corner = seen(window, s.yz, ivec2(0));
    image = a_offset + s.x * a_strides[0] + group * inputs * a_strides[1];
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
    turn_to(at.y + spot(0, COLUMNS, RIGHT_ALONG_K).x);
    multiply(at.xy, 0, inputs * TAPS);
    ivec2 mine = at.xy + place() * ivec2(EACH, 4);
    for (int j = 0; j < 4; j++) {
        ivec3 s = spot_of(mine.y + j, size);
        for (int i = 0; i < EACH; i++)
            if (mine.x + i < outputs && s.x < batch) {
                int channel = s.x * groups * outputs + group * outputs + mine.x + i;
                int to = (channel * size.x + s.y) * size.y + s.z;
                PUT(to, f_canonical(floatBitsToUint(total[i][j])));
            }
    }
}
