#version 450
// Columns (1, N, C·kh·kw, places) added back into images, in (ky, kx) order.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "window_push.glsl"

V result(uint index)
{
    Window w = window;
    ivec2 size = places(w);
    ivec4 at = coords(index, uvec4(batch, channels, w.image));
    V total = ZERO;
    for (int ky = 0; ky < w.kernel.x; ky++)
        for (int kx = 0; kx < w.kernel.y; kx++) {
            ivec2 place = place_of(w, at.zw, ivec2(ky, kx));
            if (!inside(place, size)) continue;
            int row = (at.y * w.kernel.x + ky) * w.kernel.y + kx;
            total = add(total, load_x(ivec4(0, at.x, row, place.x * size.y + place.y)));
        }
    return total;
}

#include "outputs.glsl"
