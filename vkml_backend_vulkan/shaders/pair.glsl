// Numbers as unevaluated sums of two float32, about 48 bits, and the test whether the rounding of
// such a number to float32 is decided although its error is only bounded: the first phase of the
// correctly rounded functions. Sums and products are taken as written; where the device's fma is
// found to round once, it gives what a product lacks in one instruction. The other sums are
// Knuth's and Dekker's: error-free where nothing overflows or underflows.
#ifndef PAIR_GLSL
#define PAIR_GLSL
#include "hardware.glsl"

struct Pair { float h, l; };

Pair two_sum(float a, float b) {
    float s = a + b;
    float part = s - a;
    float rest = (a - (s - part)) + (b - part);
    return Pair(s, rest);
}

// For |a| >= |b|.
Pair ordered_sum(float a, float b) {
    float s = a + b;
    float rest = b - (s - a);
    return Pair(s, rest);
}

// The 12 leading bits of a, and the rest, which has 12 too: their products are exact.
Pair halves(float a) {
    float h = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    return Pair(h, a - h);
}

Pair split_product(float a, float b) {
    Pair x = halves(a), y = halves(b);
    float p = a * b;
    float rest = ((x.h * y.h - p) + x.h * y.l + x.l * y.h) + x.l * y.l;
    return Pair(p, rest);
}

Pair two_product(float a, float b) {
    if ((HARDWARE & FUSES) == 0u) return split_product(a, b);
    float p = a * b;
    return Pair(p, fma(a, b, -p));
}

// a b + c where it does not matter whether that rounds once or twice.
float multiply_add(float a, float b, float c) {
    if ((HARDWARE & FUSES) == 0u) return a * b + c;
    return fma(a, b, c);
}

// a - b c where that is a float, and a is near the product.
float exact_rest(float a, float b, float c) {
    if ((HARDWARE & FUSES) != 0u) return fma(-b, c, a);
    Pair product = split_product(b, c);
    return (a - product.h) - product.l;
}

// a b + c for |a b| <= |c|/2.
Pair product_sum(float a, float b, float c) {
    if ((HARDWARE & FUSES) != 0u) {
        float s = fma(a, b, c);
        return Pair(s, fma(a, b, c - s));
    }
    Pair product = split_product(a, b);
    Pair s = ordered_sum(c, product.h);
    return Pair(s.h, s.l + product.l);
}

// 1/a for 2^-60 < a < 2^60, to within a few units: Newton's iteration from a guess on the bits.
// (A division would be made exact, which takes longer.)
float near_inverse(float a) {
    float y = uintBitsToFloat(0x7ef311c3u - floatBitsToUint(a));
    for (int i = 0; i < 3; i++) y = multiply_add(y, multiply_add(-a, y, 1.0), y);
    return y;
}

// n/d for 2^-60 < d < 2^60, nearly exact: a float quotient and what its product lacks.
Pair quotient(Pair n, Pair d) {
    float inverse = near_inverse(d.h);
    float q = n.h * inverse;
    float rest = exact_rest(n.h, q, d.h) + n.l;
    return Pair(q, multiply_add(-q, d.l, rest) * inverse);
}

// Whether every number within `error` of the pair rounds to the same float, which is `rounded`.
bool is_decided(Pair x, float error, out float rounded) {
    float up = x.h + (x.l + error);
    float down = x.h + (x.l - error);
    rounded = up;
    return up == down;
}

// Both, without a branch.
bool both(bool a, bool b) { return all(bvec2(a, b)); }

#endif
