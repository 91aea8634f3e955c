#version 450
// Probes of the self-test: each form maps four words to four words by what the kernels rely on.
// Defined per module: FORMS, the cases of a switch that set r from a, b, c, d and STORE it;
// CONSTANTS and EVALUATE where the words are specialisation constants, for the driver to fold.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "exact.glsl"
#include "pair.glsl"
#define DTYPE_F32
#include "value.glsl"
#ifdef CONSTANTS
CONSTANTS
#endif

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 source;
    uint count;
    uint form;
} push;

#define STORE if (i < push.count) U32x4(push.result).v[i] = r

shared vec4 passed[gl_WorkGroupSize.x];

float f(uint x) { return uintBitsToFloat(x); }
uint u(float x) { return f_canonical(floatBitsToUint(x)); }
uvec4 u(vec4 v) { return uvec4(u(v.x), u(v.y), u(v.z), u(v.w)); }

// As sums of products are written in the kernels that compute one output at a time.
uint sum_of_products(uint a, uint b, uint c, uint n)
{
    uint sum = c;
    for (uint i = 0u; i < n; i++) sum = add(sum, mul(a ^ i, b));
    return f_canonical(sum);
}

// As in tile.glsl.
uvec4 vector_products(uvec4 x)
{
    vec4 v = uintBitsToFloat(x), sum = v.yzwx;
    for (int i = 0; i < 2; i++) {
        precise vec4 product = vec4(v[i]) * v.wzyx;
        precise vec4 next = sum + product;
        sum = next;
    }
    return u(sum);
}

uvec4 u(Pair p) { return uvec4(u(p.h), u(p.l), 0u, 0u); }

// A sum starts from +0 and goes on in a loop whose length is not known: a first -0 becomes +0.
uint sum_from_zero(uvec4 x, uint n)
{
    uint sum = 0u;
    for (uint i = 0u; i < n; i++) sum = add(sum, x[i]);
    return f_canonical(sum);
}

uvec4 regrouped(uint a, uint b, uint c)
{
    precise float cancelled = (f(a) + f(b)) - f(a);
    precise float first = (f(a) + f(b)) + f(c);
    precise float factored = f(a) * f(b) + f(a) * f(c);
    precise float doubled = f(a) * f(b) - f(c);
    return u(vec4(cancelled, first, factored, doubled));
}

// Where it rounds once, the last is what the product lacks.
uvec4 four_fused(float a, float b, float c)
{
    if ((HARDWARE & FUSES) == 0u) return uvec4(0u);
    precise float product = a * b;
    return u(vec4(fma(a, b, c), fma(-a, b, c), fma(a, b, -c), fma(a, b, -product)));
}

// Every second invocation's neighbour has the same words.
uvec4 through_memory(uvec4 x)
{
    passed[gl_LocalInvocationIndex] = uintBitsToFloat(x);
    barrier();
    return u(passed[gl_LocalInvocationIndex ^ 1u]);
}

// Each form stores what it gives. (Selecting among folded results before a single store would
// test that too: Mesa 22.3 makes -0 of the 0 in `condition ? 0u : 0xbf800000u`.)
void evaluate(uint i, uvec4 x)
{
    uint a = x.x, b = x.y, c = x.z, d = x.w;
    uvec4 r = uvec4(0u);
    switch (push.form) { FORMS }
}

void main()
{
#ifdef CONSTANTS
    if (invocation() != 0u) return;
    EVALUATE
#else
    uint i = invocation();
    evaluate(i, U32x4(push.source).v[min(i, push.count - 1u)]);
#endif
}
