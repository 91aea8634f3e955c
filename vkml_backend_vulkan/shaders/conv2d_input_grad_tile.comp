#version 450
// Gradient of a convolution's images, float32, by tiles: for each tap the product of its weights
// (inputs × outputs) and the gradients that it saw (outputs × pixels), the taps added in order.
#extension GL_GOOGLE_include_directive : require
#define DTYPE_F32
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"
#include "conv_tile.glsl"

ivec2 tap;

ivec3 seen_by(int n)
{
    ivec3 s = spot_of(n, window.image);
    return ivec3(s.x, place_of(window, s.yz, tap));
}

uint left(int m, int k)
{
    return m < inputs && k < outputs ? load_b(ivec4(group * outputs + k, m, tap)) : 0u;
}

uint right(int k, int n)
{
    ivec3 s = seen_by(n);
    bool real = k < outputs && s.x < batch && inside(s.yz, places(window));
    return real ? load_a(ivec4(s.x, group * outputs + k, s.yz)) : 0u;
}

#define LEFT_ALONG_K false
#define RIGHT_ALONG_K false
#include "tile.glsl"
#include "tile_grid.glsl"

void main()
{
    ivec2 size = window.image;
    ivec4 at = tile_grid(groups, inputs, batch * size.x * size.y, 1);
    if (at.z >= groups) return;
    group = at.z;
    ivec2 mine = at.xy + place() * 4;
    vec4 gradient[4] = vec4[4](vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
    for (int i = 0; i < TAPS; i++) {
        tap = ivec2(i / KERNEL_X, i % KERNEL_X);
        multiply(at.xy, 0, outputs);
        bvec4 saw;
        [[unroll]] for (int j = 0; j < 4; j++) saw[j] = inside(seen_by(mine.y + j).yz, places(window));
        [[unroll]] for (int j = 0; j < 4; j++) {
            precise vec4 sum = gradient[j] + total[j];
            gradient[j] = mix(gradient[j], sum, saw);
        }
    }
    for (int j = 0; j < 4; j++) {
        ivec3 s = spot_of(mine.y + j, size);
        for (int i = 0; i < 4; i++)
            if (mine.x + i < inputs && s.x < batch) {
                int channel = s.x * groups * inputs + group * inputs + mine.x + i;
                int to = (channel * size.x + s.y) * size.y + s.z;
                PUT(to, f_canonical(floatBitsToUint(gradient[i][j])));
            }
    }
}
