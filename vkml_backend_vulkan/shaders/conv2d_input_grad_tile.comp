#version 450
// Gradient of a convolution's images, float32, by tiles: for each tap the product of its weights
// (inputs × outputs) and the gradients that it saw (outputs × pixels), the taps added in order.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define DTYPE_F32
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"
#include "conv_tile.glsl"

// The second operand is the weights in another order: (tap, output, input), so that inputs lie side
// by side.
int weight; // the element of it where this group and tap begin

// The place that sees pixel n with a tap.
ivec3 seen_by(int n, ivec2 tap)
{
    ivec3 s = spot_of(n, window.image);
    return ivec3(s.x, place_of(window, s.yz, tap));
}

uvec4 left(int m, int k)
{
    int at = weight + k * inputs + m;
    if (SECOND_IN_FOURS) return m < inputs && k < outputs ? U32x4(b).v[at >> 2] : uvec4(0u);
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++)
        found[i] = m + i < inputs && k < outputs ? load(b, at + i) : 0u;
    return found;
}

// An invocation reads for one pixel only: n is the same in all calls between two taps.
int image; // the element of the first operand where the channels of what the pixel gave begin
bool real; // whether there is such a place

uvec4 right(int k, int n)
{
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++)
        found[i] = real && k + i < outputs ? load(a, image + (k + i) * a_strides[1]) : 0u;
    return found;
}

void turn_to(int i, int n)
{
    ivec2 tap = ivec2(i / KERNEL_X, i % KERNEL_X);
    int first = group * outputs;
    weight = (i * groups * outputs + first) * inputs;
    ivec3 s = seen_by(n, tap);
    real = s.x < batch && inside(s.yz, places(window));
    image = a_offset + s.x * a_strides[0] + first * a_strides[1] + s.y * a_strides[2] + s.z * a_strides[3];
}

#define LEFT ACROSS_K
#define RIGHT DOWN_K
#include "tile.glsl"
#include "tile_grid.glsl"

vec4 gradient[EACH_ROWS];

// Adds the sums of a tap to the pixels that it saw, and begins the next one's.
void end_tap(int corner, int i)
{
    ivec2 tap = ivec2(i / KERNEL_X, i % KERNEL_X);
    bvec4 saw;
    [[unroll]] for (int j = 0; j < 4; j++)
        saw[j] = inside(seen_by(corner + first_column() + j, tap).yz, places(window));
    [[unroll]] for (int r = 0; r < EACH_ROWS; r++) {
        precise vec4 sum = gradient[r] + total[r];
        gradient[r] = mix(gradient[r], sum, saw);
    }
    begin();
}

void main()
{
#ifdef FOURS
    PREPARE();
#endif
    ivec2 size = window.image;
    ivec4 at = tile_grid(groups, inputs, batch * size.x * size.y, 1);
    if (at.z >= groups) return;
    group = at.z;
    int pixel = at.y + spot(0, COLUMNS, RIGHT).x;
    int steps = (outputs + DEPTH - 1) / DEPTH, step = 0, tap = 0, end = steps * TAPS;
    begin();
    [[unroll]] for (int r = 0; r < EACH_ROWS; r++) gradient[r] = vec4(0.0);
    turn_to(tap, pixel);
    read_next(at.xy, 0);
    write_next(0);
    barrier();
    for (int s = 0; s < end; s++) {
        bool last = step + 1 == steps; // of this tap
        if (s + 1 < end) {
            if (last) turn_to(tap + 1, pixel);
            read_next(at.xy, last ? 0 : (step + 1) * DEPTH);
        }
        add_products(s & 1);
        if (last || (step + 1) % CHUNK_STEPS == 0) end_chunk();
        if (s + 1 < end) write_next((s + 1) & 1);
        step++;
        if (last) {
            end_tap(at.y, tap);
            tap++;
            step = 0;
        }
        barrier();
    }
    PUT_IMAGES(gradient, at, size, inputs)
}
