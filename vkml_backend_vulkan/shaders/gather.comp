#version 450
// Elements picked along an axis, whose stride in x the index multiplies.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "index.glsl"

layout(push_constant) uniform Push {
    uvec2 x, index_, out_, errors;
    int x_offset, x_strides[4], axis_stride;
    int index_offset, index_strides[4];
    uint count, extents[4], size;
};

V result(uint i)
{
    ivec4 at = coords(i, uvec4(extents[0], extents[1], extents[2], extents[3]));
    ivec4 by = ivec4(index_strides[0], index_strides[1], index_strides[2], index_strides[3]);
    int picked = int(checked_index(index_, index_offset + along(at, by), size, errors));
    if (size == 0u) return ZERO;
    by = ivec4(x_strides[0], x_strides[1], x_strides[2], x_strides[3]);
    return load(x, x_offset + along(at, by) + picked * axis_stride);
}

#include "outputs.glsl"
