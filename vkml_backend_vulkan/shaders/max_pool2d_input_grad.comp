#version 450
// The gradient of max_pool2d's input, a pixel an invocation: the values of the windows whose first
// largest element it is, in the order of windows. `winners` has the places of those elements.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "window.glsl"

layout(push_constant) uniform Push {
    uvec2 g, winners, out_;
#ifdef HOOK
    uvec2 extra[4];
#else
    Window pushed;
#endif
    int g_offset, g_strides[4];
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
            if (load_word(winners, source) == pixel) total = add(total, gradient(ivec4(at.xy, y, z)));
        }
    return from_zero(total);
}

#include "outputs.glsl"
