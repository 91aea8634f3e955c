#version 450
// Stable sort along an axis by counting: an element's rank is the number of elements before it.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"

layout(push_constant) uniform Push {
    uvec2 x, out_;
    int offset, strides[4], axis_stride;
    uint count, extents[4];
    uint step, length; // of the axis, in the result
    uint descending;
};

void main()
{
    uint i = invocation();
    if (i >= count) return;
    ivec4 at = coords(i, uvec4(extents[0], extents[1], extents[2], extents[3]));
    int line = offset + along(at, ivec4(strides[0], strides[1], strides[2], strides[3]));
    uint mine = i / step % length, rank = 0u;
    uvec2 key = order_key(load(x, line + int(mine) * axis_stride));
    for (uint k = 0u; k < length; k++) {
        uvec2 other = order_key(load(x, line + int(k) * axis_stride));
        bool before = descending != 0u ? key_less(key, other) : key_less(other, key);
        rank += uint(before || (other == key && k < mine));
    }
    U32x2(out_).v[i - mine * step + rank * step] = uvec2(mine, 0u);
}
