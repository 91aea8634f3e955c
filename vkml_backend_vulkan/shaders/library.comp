#version 450
// The functions that fused kernels are linked from; none of its own runs. A value of four elements
// side by side is a Quad_T: uvec4 (bits of float32, float16 being widened, or int32), bvec4, or
// for int64 the four low words and the four high ones. The table appends, for each operation and
// dtype, call_… of one element and quad_… of four.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "exact.glsl"
#include "remainder.glsl"
#include "integer_power.glsl"
#include "exp_fast.glsl"
#include "log_fast.glsl"
#define Reduced TrigReduced
#include "trig.glsl"
#undef Reduced
#include "erf.glsl"
#include "pow.glsl"

struct Quad_i64 { uvec4 low; uvec4 high; };
#define Quad_f32 uvec4
#define Quad_f16 uvec4
#define Quad_i32 uvec4
#define Quad_b8 bvec4
#define One_f32 uint
#define One_f16 uint
#define One_i32 uint
#define One_i64 uvec2
#define One_b8 bool

// What a single call stores and the next one loads.
// (A NaN may have any bits until it is stored.)
uint stored_f32(const uint x) { return x; }
uvec4 stored_f32(const uvec4 x) { return x; }
uint stored_f16(const uint x) { return f32_from_f16(f16_from_f32(x)); }
uvec4 stored_f16(const uvec4 x)
{
    return uvec4(stored_f16(x.x), stored_f16(x.y), stored_f16(x.z), stored_f16(x.w));
}
uint stored_i32(const uint x) { return x; }
uvec2 stored_i64(const uvec2 x) { return x; }
bool stored_b8(const bool x) { return x; }

uint part(const uvec4 q, const uint i) { return q[i]; }
bool part(const bvec4 q, const uint i) { return q[i]; }
uvec2 part(const Quad_i64 q, const uint i) { return uvec2(q.low[i], q.high[i]); }
uvec4 quad(const uint a, const uint b, const uint c, const uint d) { return uvec4(a, b, c, d); }
bvec4 quad(const bool a, const bool b, const bool c, const bool d) { return bvec4(a, b, c, d); }
Quad_i64 quad(const uvec2 a, const uvec2 b, const uvec2 c, const uvec2 d)
{
    return Quad_i64(uvec4(a.x, b.x, c.x, d.x), uvec4(a.y, b.y, c.y, d.y));
}

// Two quads, for long functions: a loop over the eight elements holds their code once.
struct Two { uvec4 a; uvec4 b; };
uvec4 one_of(const Two t) { return t.a; }
uvec4 other_of(const Two t) { return t.b; }
void turn(inout uvec4 a, inout uvec4 b) { uint x = a.x; a = uvec4(a.yzw, b.x); b = uvec4(b.yzw, x); }
void turn(inout bvec4 a, inout bvec4 b) { bool x = a.x; a = bvec4(a.yzw, b.x); b = bvec4(b.yzw, x); }

// Numbers of the body that Python writes.
ivec4 strides4(const uint a, const uint b, const uint c, const uint d)
{
    return ivec4(int(a), int(b), int(c), int(d));
}
uvec4 extents4(const uint a, const uint b, const uint c, const uint d) { return uvec4(a, b, c, d); }

// Places of the four elements from `first` on, of which `left` are there, in strided memory; what
// is not there is read where the last one is.
ivec4 corner(const uint first, const uvec4 extents) { return coords(first, extents); }
ivec4 places(const ivec4 at, const uvec4 extents, const ivec4 strides, const uint offset, const uint left)
{
    ivec4 next = at, found;
    for (uint i = 0u; i < 4u; i++) {
        found[i] = int(offset) + along(next, strides);
        if (i + 1u >= left) continue;
        next.w++;
        if (next.w == int(extents.w)) { next.w = 0; next.z++; }
        if (next.z == int(extents.z)) { next.z = 0; next.y++; }
        if (next.y == int(extents.y)) { next.y = 0; next.x++; }
    }
    return found;
}
uint place(const ivec4 at, const ivec4 strides, const uint offset)
{
    return uint(int(offset) + along(at, strides));
}
ivec4 run(const uint first, const uint offset, const uint left)
{
    return ivec4(int(offset + first)) + min(ivec4(0, 1, 2, 3), ivec4(int(left) - 1));
}

#define LOADS(T) \
    Quad_##T load_one_##T(const uvec2 p, const uint at) \
    { One_##T x = load_##T(p, int(at)); return quad(x, x, x, x); } \
    Quad_##T load_at_##T(const uvec2 p, const ivec4 at) \
    { return quad(load_##T(p, at.x), load_##T(p, at.y), load_##T(p, at.z), load_##T(p, at.w)); } \
    Quad_##T load_quad_##T(const uvec2 p, const uint first, const uint left) \
    { One_##T v[4]; load4_##T(p, first, left > 2u, v); return quad(v[0], v[1], v[2], v[3]); } \
    void store_quad_##T(const uvec2 p, const uint first, const uint left, const Quad_##T q) \
    { store4_##T(p, first, left > 2u, One_##T[4](part(q, 0u), part(q, 1u), part(q, 2u), part(q, 3u))); }
LOADS(f32)
LOADS(f16)
LOADS(i32)
LOADS(i64)
LOADS(b8)

// What is canonical already.
void store_settled_f32(const uvec2 p, const uint first, const uint left, const uvec4 q)
{
    U32x4(p).v[first >> 2] = q;
}

// One element at a time, for what follows a head. Only whole words are stored.
#define LOAD_ONE(T) One_##T load1_##T(const uvec2 p, const uint at) { return load_##T(p, int(at)); }
LOAD_ONE(f32)
LOAD_ONE(f16)
LOAD_ONE(i32)
LOAD_ONE(i64)
LOAD_ONE(b8)
void store1_f32(const uvec2 p, const uint at, const uint x) { U32(p).v[at] = f_canonical(x); }
void store1_i32(const uvec2 p, const uint at, const uint x) { U32(p).v[at] = x; }
void store1_i64(const uvec2 p, const uint at, const uvec2 x) { U32x2(p).v[at] = x; }
// The place of an operand that does not change along the axes but one.
uint along_axis(const uint index, const uint inner, const uint extent, const uint stride)
{
    return index / inner % extent * stride;
}
uint sum(const uint a, const uint b) { return a + b; }
// The same for four results from `first` on.
ivec4 run_along(
    const uint first, const uint inner, const uint extent, const uint stride, const uint offset)
{
    ivec4 found;
    for (uint i = 0u; i < 4u; i++) found[i] = int(offset + along_axis(first + i, inner, extent, stride));
    return found;
}
#include "rows.glsl"

void prepare_powers() { fill_powers(); }
void prepare_logarithms() { fill_logarithms(); }
void main() {}
