#version 450
// Sets the spans of index_mark.comp to none.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant) uniform Push {
    uvec2 spans;
    uint count;
};

void main()
{
    uint i = invocation();
    if (i < count) U32x2(spans).v[i] = uvec2(0u);
}
