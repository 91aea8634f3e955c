#version 450
// Gradient of a convolution's images from gradients a and weights b, one pixel at a time: for
// each tap the sum over the group's outputs, then the taps in (ky, kx) order.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"

V result(uint index)
{
    Window w = window;
    ivec2 size = places(w);
    ivec4 at = coords(index, uvec4(batch, groups * inputs, w.image));
    int first = at.y / inputs * outputs, channel = at.y % inputs;
    V total = ZERO;
    for (int ky = 0; ky < w.kernel.x; ky++)
        for (int kx = 0; kx < w.kernel.y; kx++) {
            ivec2 place = place_of(w, at.zw, ivec2(ky, kx));
            if (!inside(place, size)) continue;
            Chain sum = chain();
            for (int o = first; o < first + outputs; o++)
                multiply_add(sum, load_a(ivec4(at.x, o, place)), load_b(ivec4(o, channel, ky, kx)));
            total = add(total, chain_sum(sum));
        }
    return total;
}

#include "outputs.glsl"
