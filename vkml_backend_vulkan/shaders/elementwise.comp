#version 450
// Element by element: up to three strided operands, four consecutive results per invocation.
// Defined per module: ARITY, LOAD_A…, LOAD4_A…, A_T… (how each operand is read), STORE, R_T (how
// results are written), EXPRESSION of a, b, c; FAILS where it can report an error.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "exact.glsl"
#include "remainder.glsl"
#include "integer_power.glsl"
#ifdef EXP
#include "exp.glsl"
#endif
#ifdef LOG
#include "log.glsl"
#endif
#ifdef TRIG
#include "trig.glsl"
#endif
#ifdef ERF
#include "erf.glsl"
#endif
#ifdef POW
#include "pow.glsl"
#endif

// Two bits for each operand: 0 strided, 1 contiguous from a multiple of four, 2 one element.
layout(constant_id = 2) const uint ACCESS = 0u;
const uint STRIDED = 0u, CONTIGUOUS = 1u;

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 operand[ARITY];
#ifdef FAILS
    uvec2 errors;
#endif
    uint count;
    uint extents[4];
    int offset[ARITY];
    int strides[ARITY * 4];
} push;

uint access(uint k) { return (ACCESS >> (2u * k)) & 3u; }
int place(uint k, ivec4 at)
{
    ivec4 strides = ivec4(
        push.strides[4u * k], push.strides[4u * k + 1u], push.strides[4u * k + 2u],
        push.strides[4u * k + 3u]);
    return push.offset[k] + (access(k) == STRIDED ? along(at, strides) : 0);
}

#ifdef FAILS
uint nonzero(uint x)
{
    if (x == 0u) report(push.errors, DIVISION_BY_ZERO, uvec2(0u));
    return x == 0u ? 1u : x;
}
uvec2 nonzero(uvec2 x)
{
    if (x == uvec2(0u)) report(push.errors, DIVISION_BY_ZERO, uvec2(0u));
    return x == uvec2(0u) ? uvec2(1u, 0u) : x;
}
#endif

#define READ(K, V, T, LOAD, LOAD4)                                                   \
    T V[4];                                                                          \
    if (access(K) == CONTIGUOUS)                                                     \
        LOAD4(push.operand[K], first + uint(push.offset[K]), more, V);               \
    else                                                                             \
        for (uint i = 0u; i < 4u; i++) V[i] = LOAD(push.operand[K], place(K, at[i]));

void main()
{
    uint first = invocation() * 4u;
    if (first >= push.count) return;
    bool more = first + 2u < push.count;
    ivec4 at[4];
    uvec4 extents =
        uvec4(push.extents[0], push.extents[1], push.extents[2], push.extents[3]);
    for (uint i = 0u; i < 4u; i++) at[i] = coords(min(first + i, push.count - 1u), extents);
    READ(0, va, A_T, LOAD_A, LOAD4_A)
#if ARITY > 1
    READ(1, vb, B_T, LOAD_B, LOAD4_B)
#endif
#if ARITY > 2
    READ(2, vc, C_T, LOAD_C, LOAD4_C)
#endif
    R_T results[4];
    for (uint i = 0u; i < 4u && first + i < push.count; i++) {
        A_T a = va[i];
#if ARITY > 1
        B_T b = vb[i];
#endif
#if ARITY > 2
        C_T c = vc[i];
#endif
        results[i] = EXPRESSION;
    }
    STORE(push.result, first, more, results);
}
