// Numbers as unevaluated sums of two float32, about 48 bits, and the test whether the rounding of
// such a number to float32 is decided although its error is only bounded: the first phase of the
// correctly rounded functions. Sums and products are taken as written; no fused operation is
// used. The sums are Knuth's and Dekker's: error-free where nothing overflows or underflows.
#ifndef PAIR_GLSL
#define PAIR_GLSL

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

Pair two_product(float a, float b) {
    Pair x = halves(a), y = halves(b);
    float p = a * b;
    float rest = ((x.h * y.h - p) + x.h * y.l + x.l * y.h) + x.l * y.l;
    return Pair(p, rest);
}

// a^2 as the square of its leading bits and the rest, 2^-35 of itself from exact.
Pair square(float a) {
    Pair x = halves(a);
    return Pair(x.h * x.h, (a + x.h) * x.l);
}

// 1/a for 2^-60 < a < 2^60, to within a few units: Newton's iteration from a guess on the bits.
// (A division would be made exact, which takes longer.)
float near_inverse(float a) {
    float y = uintBitsToFloat(0x7ef311c3u - floatBitsToUint(a));
    for (int i = 0; i < 3; i++) y = y * (2.0 - a * y);
    return y;
}

// n/d for 2^-60 < d < 2^60, nearly exact: a float quotient and what its product lacks.
Pair quotient(Pair n, Pair d) {
    float inverse = near_inverse(d.h);
    float q = n.h * inverse;
    Pair product = two_product(q, d.h);
    float rest = (((n.h - product.h) - product.l) + n.l - q * d.l) * inverse;
    return ordered_sum(q, rest);
}

// Whether every number within `error` of the pair rounds to the same float, which is `rounded`.
bool is_decided(Pair x, float error, out float rounded) {
    float up = x.h + (x.l + error);
    float down = x.h + (x.l - error);
    rounded = up;
    return up == down;
}

#endif
