#version 450
// The first largest element of each window, or its place y·W + x; NaN is the largest and padding
// is never chosen (the host refuses windows that see nothing else).
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "window_push.glsl"

#if defined(PLACE)
#define CHOSEN uint
#else
#define CHOSEN V
#endif
CHOSEN result(uint index)
{
    Window w = window;
    ivec4 at = coords(index, uvec4(batch, channels, places(w)));
    bool found = false;
    uvec2 best = uvec2(0u);
    CHOSEN chosen = CHOSEN(0u);
    for (int ky = 0; ky < w.kernel.x; ky++)
        for (int kx = 0; kx < w.kernel.y; kx++) {
            ivec2 pixel = seen(w, at.zw, ivec2(ky, kx));
            if (!inside(pixel, w.image)) continue;
            V value = load_x(ivec4(at.xy, pixel));
            uvec2 key = order_key(value);
            if (found && !key_less(best, key)) continue;
            found = true;
            best = key;
#if defined(PLACE)
            chosen = uint(pixel.x * w.image.y + pixel.y);
#else
            chosen = value;
#endif
        }
    return chosen;
}

#include "outputs.glsl"
