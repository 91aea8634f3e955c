// Pointers, typed loads and stores, and index arithmetic: what every kernel includes first.
// A float32 is the uint of its bits, an int64 the uvec2 of its words (low, high); float16 and
// bool are packed two and four to a word, and only whole words are read or written.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#include "int64.glsl"
#include "arith.glsl"
#include "half.glsl"

layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer U32x2 { uvec2 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer U32x4 { uvec4 v[]; };

const uint INDEX_OUT_OF_RANGE = 1u;
const uint DIVISION_BY_ZERO = 2u;

// The number of this invocation, counted through workgroups in x, then y.
uint workgroup() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint invocation() { return workgroup() * gl_WorkGroupSize.x + gl_LocalInvocationIndex; }

uint load_word(uvec2 p, int i) { return U32(p).v[i]; }
uint load_f32(uvec2 p, int i) { return U32(p).v[i]; }
uint load_i32(uvec2 p, int i) { return U32(p).v[i]; }
uvec2 load_i64(uvec2 p, int i) { return U32x2(p).v[i]; }
bool load_b8(uvec2 p, int i) { return ((U32(p).v[i >> 2] >> ((i & 3) * 8)) & 0xffu) != 0u; }
uint load_f16(uvec2 p, int i)
{
    return f32_from_f16((U32(p).v[i >> 1] >> ((i & 1) * 16)) & 0xffffu);
}


// Four consecutive elements, the first one at a multiple of four. A slot ends at a multiple of 16
// bytes, which is two int64: `more` says whether there are more than that.
void load4_f32(uvec2 p, uint i, bool more, out uint v[4])
{
    uvec4 four = U32x4(p).v[i >> 2];
    v = uint[4](four.x, four.y, four.z, four.w);
}
void load4_i32(uvec2 p, uint i, bool more, out uint v[4]) { load4_f32(p, i, more, v); }
void load4_f16(uvec2 p, uint i, bool more, out uint v[4])
{
    uvec2 two = U32x2(p).v[i >> 2];
    v = uint[4](
        f32_from_f16(two.x & 0xffffu), f32_from_f16(two.x >> 16), f32_from_f16(two.y & 0xffffu),
        f32_from_f16(two.y >> 16));
}
void load4_b8(uvec2 p, uint i, bool more, out bool v[4])
{
    uint four = U32(p).v[i >> 2];
    for (uint k = 0u; k < 4u; k++) v[k] = ((four >> (8u * k)) & 0xffu) != 0u;
}
void load4_i64(uvec2 p, uint i, bool more, out uvec2 v[4])
{
    uvec4 low = U32x4(p).v[i >> 1];
    uvec4 high = more ? U32x4(p).v[(i >> 1) + 1u] : low;
    v = uvec2[4](low.xy, low.zw, high.xy, high.zw);
}

void store4_f32(uvec2 p, uint i, bool more, uint v[4])
{
    U32x4(p).v[i >> 2] = uvec4(f_canonical(v[0]), f_canonical(v[1]), f_canonical(v[2]), f_canonical(v[3]));
}
void store4_i32(uvec2 p, uint i, bool more, uint v[4])
{
    U32x4(p).v[i >> 2] = uvec4(v[0], v[1], v[2], v[3]);
}
void store4_f16(uvec2 p, uint i, bool more, uint v[4])
{
    U32x2(p).v[i >> 2] = uvec2(
        f16_from_f32(v[0]) | f16_from_f32(v[1]) << 16, f16_from_f32(v[2]) | f16_from_f32(v[3]) << 16);
}
void store4_b8(uvec2 p, uint i, bool more, bool v[4])
{
    U32(p).v[i >> 2] = uint(v[0]) | uint(v[1]) << 8 | uint(v[2]) << 16 | uint(v[3]) << 24;
}
void store4_i64(uvec2 p, uint i, bool more, uvec2 v[4])
{
    U32x4(p).v[i >> 1] = uvec4(v[0], v[1]);
    if (more) U32x4(p).v[(i >> 1) + 1u] = uvec4(v[2], v[3]);
}

// Row-major coordinates of element `linear` of a tensor of these extents.
ivec4 coords(uint linear, uvec4 extents)
{
    uint w = linear / extents.w;
    uint z = w / extents.z;
    uint y = z / extents.y;
    return ivec4(y, z - y * extents.y, w - z * extents.z, linear - w * extents.w);
}
int along(ivec4 at, ivec4 strides)
{
    return at.x * strides.x + at.y * strides.y + at.z * strides.z + at.w * strides.w;
}

// Records the first error that any invocation finds.
void report(uvec2 errors, uint code, uvec2 value)
{
    if (atomicCompSwap(U32(errors).v[0], 0u, code) == 0u) {
        U32(errors).v[1] = value.x;
        U32(errors).v[2] = value.y;
    }
}
