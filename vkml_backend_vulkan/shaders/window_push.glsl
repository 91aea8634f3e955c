// What a kernel over the windows of one operand is given.
#include "window.glsl"

layout(push_constant) uniform Push {
    uvec2 x, out_;
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
V load_x(ivec4 at)
{
    ivec4 by = ivec4(strides[0], strides[1], strides[2], strides[3]);
    return load(x, offset + along(at, by));
}
