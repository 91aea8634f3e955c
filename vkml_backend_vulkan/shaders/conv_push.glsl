// What the three convolutions are given: two operands of rank 4 and the geometry.
#include "window.glsl"

layout(push_constant) uniform Push {
    uvec2 a, b, out_;
#ifdef HOOK
    uvec2 extra[4];
#else
    Window window;
#endif
    int a_offset, a_strides[4];
    int b_offset, b_strides[4];
    uint count;
    int batch, groups, inputs, outputs; // channels of one group
    int slices; // of the chain of conv2d_weight_grad_tile.comp
};
#ifdef HOOK // the window's numbers are constants: there is no room for more addresses otherwise
layout(constant_id = 6) const int IMAGE_Y = 1;
layout(constant_id = 7) const int IMAGE_X = 1;
layout(constant_id = 8) const int WINDOW_Y = 1;
layout(constant_id = 9) const int WINDOW_X = 1;
layout(constant_id = 10) const int STRIDE_Y = 1;
layout(constant_id = 11) const int STRIDE_X = 1;
layout(constant_id = 12) const int PADDING_Y = 0;
layout(constant_id = 13) const int PADDING_X = 0;
layout(constant_id = 14) const int DILATION_Y = 1;
layout(constant_id = 15) const int DILATION_X = 1;
#define window \
    Window(ivec2(IMAGE_Y, IMAGE_X), ivec2(WINDOW_Y, WINDOW_X), ivec2(STRIDE_Y, STRIDE_X), \
           ivec2(PADDING_Y, PADDING_X), ivec2(DILATION_Y, DILATION_X))
#endif
#include "hook.glsl"
V load_a(ivec4 at)
{
    ivec4 by = ivec4(a_strides[0], a_strides[1], a_strides[2], a_strides[3]);
    return load(a, a_offset + along(at, by));
}
V load_b(ivec4 at)
{
    ivec4 by = ivec4(b_strides[0], b_strides[1], b_strides[2], b_strides[3]);
    return load(b, b_offset + along(at, by));
}
