#version 450
// Reports an index outside [0, size) through the error words; writes nothing else.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "index.glsl"

layout(push_constant) uniform Push {
    uvec2 index_, errors;
    int offset, strides[4];
    uint count, extents[4], size;
};

void main()
{
    uint i = invocation();
    if (i >= count) return;
    ivec4 at = coords(i, uvec4(extents[0], extents[1], extents[2], extents[3]));
    ivec4 by = ivec4(strides[0], strides[1], strides[2], strides[3]);
    checked_index(index_, offset + along(at, by), size, errors);
}
