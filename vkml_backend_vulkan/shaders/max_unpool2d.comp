#version 450
// Adds each window's value where the window's largest element was. The indices are those of
// max_pool2d_indices with the same windows, so that a pixel looks only at the windows that see it:
// sources in the order of windows, as scatter_add takes them.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "window.glsl"

layout(push_constant) uniform Push {
    uvec2 x, indices, out_;
#ifdef HOOK
    uvec2 extra[4];
#endif
    Window pushed;
    int offset, strides[4];
    uint count;
    int batch, channels;
};
#include "window_known.glsl"
#include "hook.glsl"

V result(uint index)
{
    Window w = window;
    ivec2 size = places(w);
    ivec4 at = coords(index, uvec4(batch, channels, w.image));
    ivec4 by = ivec4(strides[0], strides[1], strides[2], strides[3]);
    uint pixel = uint(at.z * w.image.y + at.w);
    V total = ZERO;
    for (int ky = w.kernel.x - 1; ky >= 0; ky--)
        for (int kx = w.kernel.y - 1; kx >= 0; kx--) {
            ivec2 place = place_of(w, at.zw, ivec2(ky, kx));
            if (!inside(place, size)) continue;
            int source = ((at.x * channels + at.y) * size.x + place.x) * size.y + place.y;
            if (load_i64(indices, source).x == pixel)
                total = add(total, load(x, offset + along(ivec4(at.xy, place), by)));
        }
    return total;
}

#include "outputs.glsl"
