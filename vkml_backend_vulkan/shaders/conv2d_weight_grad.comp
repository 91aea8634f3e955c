#version 450
// Gradient of a convolution's weights from images a and gradients b, one weight at a time: one
// chain over (image, oy, ox).
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "conv_push.glsl"

V result(uint index)
{
    Window w = window;
    ivec2 size = places(w);
    ivec4 at = coords(index, uvec4(groups * outputs, inputs, w.kernel));
    int channel = at.x / outputs * inputs + at.y;
    Chain sum = chain();
    for (int n = 0; n < batch; n++)
        for (int oy = 0; oy < size.x; oy++)
            for (int ox = 0; ox < size.y; ox++) {
                ivec2 pixel = seen(w, ivec2(oy, ox), at.zw);
                V value = inside(pixel, w.image) ? load_a(ivec4(n, channel, pixel)) : ZERO;
                multiply_add(sum, load_b(ivec4(n, at.x, oy, ox)), value);
            }
    return chain_sum(sum);
}

#include "outputs.glsl"
