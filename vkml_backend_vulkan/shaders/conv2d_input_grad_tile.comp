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
int weight, gradient_of; // elements of the operands: of this tap, of the place that it saw
bool real; // whether there is such a place

ivec3 seen_by(int n)
{
    ivec3 s = spot_of(n, window.image);
    return ivec3(s.x, place_of(window, s.yz, tap));
}

uint left(int m, int k)
{
    return m < inputs && k < outputs ? load(b, weight + m * b_strides[1] + k * b_strides[0]) : 0u;
}

// An invocation reads for one pixel only: n is the same in all calls between two taps.
uint right(int k, int n)
{
    return real && k < outputs ? load(a, gradient_of + k * a_strides[1]) : 0u;
}

void turn_to(int i, int n)
{
    tap = ivec2(i / KERNEL_X, i % KERNEL_X);
    ivec3 s = seen_by(n);
    real = s.x < batch && inside(s.yz, places(window));
    int first = group * outputs;
    weight = b_offset + first * b_strides[0] + tap.x * b_strides[2] + tap.y * b_strides[3];
    gradient_of = a_offset + s.x * a_strides[0] + first * a_strides[1] + s.y * a_strides[2]
        + s.z * a_strides[3];
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
    ivec2 mine = at.xy + place() * ivec2(EACH, 4);
    int pixel = at.y + spot(0, COLUMNS, RIGHT_ALONG_K).x;
    vec4 gradient[4] = vec4[4](vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
    int steps = (outputs + DEPTH - 1) / DEPTH, step = 0, at_tap = 0, end = steps * TAPS;
    begin();
    turn_to(0, pixel);
    read_next(at.xy, 0);
    write_next(0);
    barrier();
    for (int s = 0; s < end; s++) {
        bool last = step + 1 == steps; // of this tap
        if (s + 1 < end) {
            if (last) turn_to(at_tap + 1, pixel);
            read_next(at.xy, last ? 0 : (step + 1) * DEPTH);
        }
        add_products(s & 1, place());
        if (last || (step + 1) % CHUNK_STEPS == 0) end_chunk();
        if (s + 1 < end) write_next((s + 1) & 1);
        step++;
        if (last) {
            ivec2 done = ivec2(at_tap / KERNEL_X, at_tap % KERNEL_X);
            bvec4 saw;
            [[unroll]] for (int j = 0; j < 4; j++) {
                ivec3 here = spot_of(mine.y + j, size);
                saw[j] = inside(place_of(window, here.yz, done), places(window));
            }
            [[unroll]] for (int j = 0; j < EACH; j++) {
                precise vec4 sum = gradient[j] + total[j];
                gradient[j] = mix(gradient[j], sum, saw);
            }
            begin();
            at_tap++;
            step = 0;
        }
        barrier();
    }
    for (int j = 0; j < 4; j++) {
        ivec3 s = spot_of(mine.y + j, size);
        for (int i = 0; i < EACH; i++)
            if (mine.x + i < inputs && s.x < batch) {
                int channel = s.x * groups * inputs + group * inputs + mine.x + i;
                int to = (channel * size.x + s.y) * size.y + s.z;
                PUT(to, f_canonical(floatBitsToUint(gradient[i][j])));
            }
    }
}
