#version 450
// Convolution of images a with weights b, one output at a time: products in (channel, ky, kx) order.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"

V result(uint index)
{
    Window w = window;
    ivec2 size = places(w);
    ivec4 at = coords(index, uvec4(batch, groups * outputs, size));
    int first = at.y / outputs * inputs;
    Chain sum = chain();
    for (int c = 0; c < inputs; c++)
        for (int ky = 0; ky < w.kernel.x; ky++)
            for (int kx = 0; kx < w.kernel.y; kx++) {
                ivec2 pixel = seen(w, at.zw, ivec2(ky, kx));
                V value = inside(pixel, w.image) ? load_a(ivec4(at.x, first + c, pixel)) : ZERO;
                multiply_add(sum, value, load_b(ivec4(at.y, c, ky, kx)));
            }
    return chain_sum(sum);
}

#include "outputs.glsl"
