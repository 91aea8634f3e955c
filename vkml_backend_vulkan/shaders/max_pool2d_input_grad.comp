#version 450
// The gradient of max_pool2d's input, a pixel an invocation: the values of the windows whose first
// largest element it is, in the order of windows. With WINNERS, x has the places of those elements
// and windows may overlap; without, they do not, and a pixel looks at all of its window.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "window.glsl"

layout(push_constant) uniform Push {
    uvec2 g, x, out_;
#ifdef HOOK
    uvec2 extra[4];
#else
    Window pushed;
#endif
    int g_offset, g_strides[4], x_offset, x_strides[4];
    uint count;
    int channels;
};
#ifdef HOOK
#define WINDOW_ONLY_KNOWN
#endif
#include "window_known.glsl"
#include "hook.glsl"

V gradient(ivec4 place)
{
    ivec4 by = ivec4(g_strides[0], g_strides[1], g_strides[2], g_strides[3]);
    return load(g, g_offset + along(place, by));
}

#ifdef WINNERS
V result(uint index)
{
    Window w = window;
    ivec2 size = places(w);
    ivec4 at = coords(index, uvec4(1, channels, w.image));
    uint pixel = uint(at.z * w.image.y + at.w);
    // The windows from the first to the last that may see it; in holes of dilation none has it.
    ivec2 moved = at.zw + w.padding, span = w.dilation * (w.kernel - 1);
    ivec2 first = (max(moved - span, ivec2(0)) + w.stride - 1) / w.stride;
    ivec2 last = min(moved / w.stride, size - 1);
    V total = ZERO;
    for (int y = first.x; y <= last.x; y++)
        for (int z = first.y; z <= last.y; z++) {
            int source = ((at.x * channels + at.y) * size.x + y) * size.y + z;
            if (load_word(x, source) == pixel) total = add(total, gradient(ivec4(at.xy, y, z)));
        }
    return from_zero(total);
}
#else
ivec2 winner(Window w, ivec4 at)
{
    ivec4 by = ivec4(x_strides[0], x_strides[1], x_strides[2], x_strides[3]);
    ivec2 found = ivec2(-1);
    uvec2 best = uvec2(0u);
    for (int ky = 0; ky < w.kernel.x; ky++)
        for (int kx = 0; kx < w.kernel.y; kx++) {
            ivec2 pixel = seen(w, at.zw, ivec2(ky, kx));
            if (!inside(pixel, w.image)) continue;
            uvec2 key = order_key(load(x, x_offset + along(ivec4(at.xy, pixel), by)));
            if (!key_less(best, key)) continue;  // a number's key is above 0
            best = key;
            found = pixel;
        }
    return found;
}
V result(uint index)
{
    Window w = window;
    ivec4 at = coords(index, uvec4(1, channels, w.image));
    ivec4 place = ivec4(at.xy, (at.zw + w.padding) / w.stride);
    if (!inside(place.zw, places(w)) || winner(w, place) != at.zw) return ZERO;
    return from_zero(gradient(place));
}
#endif

#include "outputs.glsl"
