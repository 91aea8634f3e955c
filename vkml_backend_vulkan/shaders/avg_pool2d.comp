#version 450
// Mean of each window, padding counted as zeros: added in (ky, kx) order, then divided.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "window_push.glsl"

V result(uint index)
{
    Window w = window;
    ivec4 at = coords(index, uvec4(batch, channels, places(w)));
    V total = ZERO;
    for (int ky = 0; ky < w.kernel.x; ky++)
        for (int kx = 0; kx < w.kernel.y; kx++) {
            ivec2 pixel = seen(w, at.zw, ivec2(ky, kx));
            if (inside(pixel, w.image)) total = add(total, load_x(ivec4(at.xy, pixel)));
        }
    return f_div(from_zero(total), floatBitsToUint(float(w.kernel.x * w.kernel.y)));
}

#include "outputs.glsl"
