#version 450
// Windows of images as columns (N, C·kh·kw, places).
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "window_push.glsl"

V result(uint index)
{
    Window w = window;
    ivec2 size = places(w);
    int taps = w.kernel.x * w.kernel.y, count_places = size.x * size.y;
    ivec4 at = coords(index, uvec4(batch, channels, taps, count_places));
    ivec2 tap = ivec2(at.z / w.kernel.y, at.z % w.kernel.y);
    ivec2 pixel = seen(w, ivec2(at.w / size.y, at.w % size.y), tap);
    return inside(pixel, w.image) ? load_x(ivec4(at.xy, pixel)) : ZERO;
}

#include "outputs.glsl"
