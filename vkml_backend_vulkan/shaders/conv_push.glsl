// What the three convolutions are given: two operands of rank 4 and the geometry.
#include "window.glsl"

layout(push_constant) uniform Push {
    uvec2 a, b, out_;
#ifdef HOOK
    uvec2 extra[4];
#else
    Window pushed;
#endif
    int a_offset, a_strides[4];
    int b_offset, b_strides[4];
    uint count;
    int batch, groups, inputs, outputs; // channels of one group
    int slices; // of the chain of conv2d_weight_grad_tile.comp
};
#ifdef HOOK // there is no room for more addresses otherwise
#define WINDOW_ONLY_KNOWN
#endif
#include "window_known.glsl"
#include "hook_quad.glsl"
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
