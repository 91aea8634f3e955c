// What the kernels of a stable sort along an axis share. Keys are read through the view `x`; lines
// of indices lie in arrays of the result's shape.
layout(push_constant) uniform Push {
    uvec2 x, from, out_;
    int offset, strides[4], axis_stride;
    uint count, extents[4];
    uint step, length; // of the axis, in the result
    uint descending;
    uint run; // elements of a sorted run
};

uvec2 key_of(int line, uint i) { return order_key(load(x, line + int(i) * axis_stride)); }
int line_of(uint i)
{
    ivec4 at = coords(i, uvec4(extents[0], extents[1], extents[2], extents[3]));
    return offset + along(at, ivec4(strides[0], strides[1], strides[2], strides[3]));
}
bool is_before(uvec2 a, uvec2 b) { return descending != 0u ? key_less(b, a) : key_less(a, b); }
