#version 450
// Elements picked along an axis, whose stride in x the index multiplies. CHECKED: elsewhere.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "index.glsl"

layout(push_constant) uniform Push {
    uvec2 x, index_, out_;
#if !defined(CHECKED)
    uvec2 errors;
#endif
    int x_offset, x_strides[4], axis_stride;
    int index_offset, index_strides[4];
    uint count, extents[4], size;
};

V result(uint i)
{
    ivec4 at = coords(i, uvec4(extents[0], extents[1], extents[2], extents[3]));
    ivec4 by = ivec4(index_strides[0], index_strides[1], index_strides[2], index_strides[3]);
    int place = index_offset + along(at, by);
#if defined(CHECKED)
    int picked = int(known_index(index_, place, size));
#else
    int picked = int(checked_index(index_, place, size, errors));
#endif
    if (size == 0u) return ZERO;
    by = ivec4(x_strides[0], x_strides[1], x_strides[2], x_strides[3]);
    return load(x, x_offset + along(at, by) + picked * axis_stride);
}

#include "outputs.glsl"
