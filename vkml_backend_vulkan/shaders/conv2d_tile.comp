#version 450
// Convolution of float32 as a product by tiles: weights (outputs × taps) by windows of the images
// (taps × places), which are never stored.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define DTYPE_F32
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"
#include "conv_tile.glsl"

uvec4 left(int m, int k)
{
    int row = b_offset + (group * outputs + m) * b_strides[0];
    if (SECOND_IN_FOURS)
        return m < outputs && k < inputs * TAPS ? U32x4(b).v[(row + k) >> 2] : uvec4(0u);
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++) {
        ivec3 t = tap_of(k + i);
        int at = row + t.x * b_strides[1] + t.y * b_strides[2] + t.z * b_strides[3];
        found[i] = m < outputs && t.x < inputs ? load(b, at) : 0u;
    }
    return found;
}

// An invocation reads for four places only, n is the same in all calls: where each one's image
// begins in the first operand, the pixel that the first tap sees, and whether there is such a place.
int images[4];
ivec2 corners[4];
bool real[4];

uvec4 right(int k, int n)
{
    ivec3 t = tap_of(k);
    ivec2 by = t.yz * window.dilation;
    int plane = t.x * a_strides[1];
    bool is_tap = t.x < inputs;
    if (are_in_row(places(window)))
        return load_row(images[0] + plane, corners[0] + by, window.image, is_tap && real[0]);
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++)
        found[i] = load_pixel(images[i] + plane, corners[i] + by, window.image, is_tap && real[i]);
    return found;
}

void turn_to(int n)
{
    [[unroll]] for (int i = 0; i < 4; i++) {
        ivec3 s = spot_of(n + i, places(window));
        images[i] = a_offset + s.x * a_strides[0] + group * inputs * a_strides[1];
        corners[i] = seen(window, s.yz, ivec2(0));
        real[i] = s.x < batch;
    }
}

#define LEFT ALONG_K
#define RIGHT ACROSS_K
#include "tile.glsl"
#include "tile_grid.glsl"

void main()
{
#ifdef FOURS
    PREPARE();
#endif
    ivec2 size = places(window);
    ivec4 at = tile_grid(groups, outputs, batch * size.x * size.y, 1);
    if (at.z >= groups) return;
    group = at.z;
    turn_to(at.y + spot(0, COLUMNS, RIGHT).x);
    multiply(at.xy, 0, inputs * TAPS);
    PUT_IMAGES(total, at, size, outputs)
}
