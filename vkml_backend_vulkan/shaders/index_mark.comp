#version 450
// Checks indices, unless that is done elsewhere, and notes for each target which sources name it: the first (inverted, so that
// both are maxima and 0 means none) and one after the last. Maxima do not depend on an order.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "index.glsl"

layout(push_constant) uniform Push {
    uvec2 index_, spans;
#if !defined(CHECKED)
    uvec2 errors;
#endif
    int offset, strides[4];
    uint count, extents[4], size;
    int target_strides[4], axis_stride;
    int number_strides[4]; // of a source in its line
};

void main()
{
    uint i = invocation();
    if (i >= count) return;
    ivec4 at = coords(i, uvec4(extents[0], extents[1], extents[2], extents[3]));
    ivec4 by = ivec4(strides[0], strides[1], strides[2], strides[3]);
    int place = offset + along(at, by);
#if defined(CHECKED)
    int named = int(known_index(index_, place, size));
#else
    int named = int(checked_index(index_, place, size, errors));
#endif
    by = ivec4(target_strides[0], target_strides[1], target_strides[2], target_strides[3]);
    int target = along(at, by) + named * axis_stride;
    by = ivec4(number_strides[0], number_strides[1], number_strides[2], number_strides[3]);
    uint number = uint(along(at, by));
    atomicMax(U32(spans).v[2 * target], ~number);
    atomicMax(U32(spans).v[2 * target + 1], number + 1u);
}
