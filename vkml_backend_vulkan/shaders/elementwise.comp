#version 450
// Element by element: up to three strided operands, four consecutive results per invocation.
// Defined per module: ARITY, LOAD_A…, LOAD4_A…, A_T… (how each operand is read), STORE, R_T (how
// results are written), EXPRESSION of a, b, c; FAILS where it can report an error; FIRST_PHASE, true
// where it decides and sets results[i], so that the four of an invocation run side by side and
// EXPRESSION takes what is left; STORE_FIRST, how results are written that it decides.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "exact.glsl"
#include "remainder.glsl"
#include "integer_power.glsl"
#ifdef EXP
#include "exp_fast.glsl"
#endif
#ifdef LOG
#include "log_fast.glsl"
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
// The axis whose neighbours an operand holds side by side, where that is not the results' last:
// invocations then go PATCH_SIDE steps along it before they go along the last.
layout(constant_id = 3) const uint PATCH = 3u;
const uint PATCH_SIDE = 16u;
// Instead of an axis: so few results that one after the other is fast enough, and short code wins.
const uint FEW = 4u;

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

uvec4 shape()
{
    return uvec4(push.extents[0], push.extents[1], push.extents[2], push.extents[3]);
}
// The coordinates of this invocation's first result; outside where there is none.
uvec4 patch_corner(uvec4 extents)
{
    uint quads = gl_WorkGroupSize.x / PATCH_SIDE, w = workgroup();
    uint across = (extents[PATCH] + PATCH_SIDE - 1u) / PATCH_SIDE;
    uint along_ = (extents.w / 4u + quads - 1u) / quads;
    uint rest = w / across / along_, last = PATCH == 2u ? 1u : 2u;
    uvec4 at = uvec4(0u);
    at.w = (w / across % along_ * quads + gl_LocalInvocationIndex / PATCH_SIDE) * 4u;
    at[PATCH] = w % across * PATCH_SIDE + gl_LocalInvocationIndex % PATCH_SIDE;
    at[last] = rest % extents[last];
    at[3u - PATCH - last] = rest / extents[last];
    return at;
}
uint first_result(uvec4 extents)
{
    if (PATCH == 3u || PATCH == FEW) return invocation() * 4u;
    uvec4 at = patch_corner(extents);
    if (any(greaterThanEqual(at, extents))) return push.count;
    return ((at.x * extents.y + at.y) * extents.z + at.z) * extents.w + at.w;
}
ivec4 next(ivec4 at, ivec4 extents)
{
    at.w++;
    if (at.w == extents.w) { at.w = 0; at.z++; }
    if (at.z == extents.z) { at.z = 0; at.y++; }
    if (at.y == extents.y) { at.y = 0; at.x++; }
    return at;
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
    if (PATCH != FEW && access(K) == CONTIGUOUS)                                     \
        LOAD4(push.operand[K], first + uint(push.offset[K]), more, V);               \
    else if (PATCH != FEW)                                                           \
        for (uint i = 0u; i < 4u; i++) V[i] = LOAD(push.operand[K], place(K, at[i]));
#define PART(K, V, LOAD) (PATCH == FEW ? LOAD(push.operand[K], place(K, at_i)) : V[0])
// The next one comes to the front: an array that is indexed at run time would lie in memory.
#define TURN(V, T) { T t = V[0]; V[0] = V[1]; V[1] = V[2]; V[2] = V[3]; V[3] = t; }

void main()
{
#ifdef EXP
    fill_powers();
#endif
#ifdef LOG
    fill_logarithms();
#endif
    uvec4 extents = shape();
    uint first = first_result(extents);
    if (first >= push.count) return;
    bool more = first + 2u < push.count;
    ivec4 at[4];
    if (PATCH != FEW) {
        at[0] = coords(first, extents);
        for (uint i = 1u; i < 4u; i++)
            at[i] = first + i < push.count ? next(at[i - 1u], ivec4(extents)) : at[i - 1u];
    }
    READ(0, va, A_T, LOAD_A, LOAD4_A)
#if ARITY > 1
    READ(1, vb, B_T, LOAD_B, LOAD4_B)
#endif
#if ARITY > 2
    READ(2, vc, C_T, LOAD_C, LOAD4_C)
#endif
    R_T results[4];
#ifdef FIRST_PHASE
    bool decided[4];
    if (PATCH != FEW) {
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            A_T a = va[i];
#if ARITY > 1
            B_T b = vb[i];
#endif
            decided[i] = FIRST_PHASE;
        }
        if (all(bvec4(decided[0], decided[1], decided[2], decided[3]))) {
            STORE_FIRST(push.result, first, more, results);
            return;
        }
    }
#endif
    [[dont_unroll]] for (uint i = 0u; i < 4u; i++) {
        bool is_left = first + i < push.count;
#ifdef FIRST_PHASE
        is_left = is_left && !(PATCH != FEW && decided[0]);
        TURN(decided, bool)
#endif
        if (is_left) {
            ivec4 at_i = PATCH == FEW ? coords(first + i, extents) : ivec4(0);
            A_T a = PART(0, va, LOAD_A);
#if ARITY > 1
            B_T b = PART(1, vb, LOAD_B);
#endif
#if ARITY > 2
            C_T c = PART(2, vc, LOAD_C);
#endif
            results[0] = EXPRESSION;
        }
        TURN(results, R_T)
        TURN(va, A_T)
#if ARITY > 1
        TURN(vb, B_T)
#endif
#if ARITY > 2
        TURN(vc, C_T)
#endif
    }
    STORE(push.result, first, more, results);
}
