#version 450
// Sources added at indices, one target at a time: it looks in order at the sources along its line
// (those of an image in two loops), or with SPANS at the part of them that may name it, and adds
// those that do.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "value.glsl"
#include "index.glsl"

layout(push_constant) uniform Push {
    uvec2 x, index_, out_;
#if defined(SPANS)
    uvec2 spans;
#endif
    int x_offset, x_strides[4], x_loops[2];
    int index_offset, index_strides[4], index_loops[2];
    uint loops[2];
    uint count, extents[4], axis;
};

// The first source that may name target i, and one after the last.
uvec2 span(uint i)
{
#if defined(SPANS)
    uvec2 marked = U32x2(spans).v[i];
    return uvec2(~marked.x, marked.y);
#else
    return uvec2(0u, loops[0] * loops[1]);
#endif
}

V result(uint i)
{
    ivec4 at = coords(i, uvec4(extents[0], extents[1], extents[2], extents[3]));
    ivec4 by = ivec4(x_strides[0], x_strides[1], x_strides[2], x_strides[3]);
    int source = x_offset + along(at, by);
    by = ivec4(index_strides[0], index_strides[1], index_strides[2], index_strides[3]);
    int name = index_offset + along(at, by);
    uvec2 target = uvec2(at[axis], 0u), range = span(i);
    V total = ZERO;
    for (uint s = range.x; s < range.y; s++) {
        ivec2 loop = ivec2(s / loops[1], s % loops[1]);
        if (load_index(index_, name + loop.x * index_loops[0] + loop.y * index_loops[1]) == target)
            total = add(total, load(x, source + loop.x * x_loops[0] + loop.y * x_loops[1]));
    }
    return total;
}

#include "outputs.glsl"
