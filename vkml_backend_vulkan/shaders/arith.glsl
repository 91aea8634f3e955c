// float32 arithmetic on bits, correctly rounded. A NaN that a function f_… gives is the canonical
// one. Those of raw_… and first_… have any bits, for where a store makes them canonical.
//
// Sums and products are the device's own, which its self-test has found exact. Quotients and roots
// have a first phase, which decides nearly all where the device's fma or its division is exact. The
// second phases start from any estimate within a few units of the last place and are settled by
// the sign and size of the integer remainder.
#ifndef ARITH_GLSL
#define ARITH_GLSL
#include "int64.glsl"
#include "pair.glsl"

uint f_canonical(uint a) {
    return (a & ~F32_SIGN) > F32_INFINITY ? F32_NAN : a;
}

// What a sum from +0 on gives, which is never -0: drivers take a sum with +0 for the other term.
uint from_zero(uint a) { return a == F32_SIGN ? 0u : a; }

uint raw_add(uint a, uint b) {
    precise float sum = uintBitsToFloat(a) + uintBitsToFloat(b);
    return floatBitsToUint(sum);
}

uint raw_sub(uint a, uint b) {
    precise float difference = uintBitsToFloat(a) - uintBitsToFloat(b);
    return floatBitsToUint(difference);
}

uint raw_mul(uint a, uint b) {
    precise float product = uintBitsToFloat(a) * uintBitsToFloat(b);
    return floatBitsToUint(product);
}

uint f_add(uint a, uint b) { return f_canonical(raw_add(a, b)); }
uint f_sub(uint a, uint b) { return f_canonical(raw_sub(a, b)); }
uint f_mul(uint a, uint b) { return f_canonical(raw_mul(a, b)); }

// The float32 nearest to 2^exponent q/2^23 for q in [2^23, 2^24) and the fraction that q lacks:
// whether it reaches a half, and whether it is neither 0 nor a half.
uint f_round_quotient(uint sign, int exponent, uint q, bool half_unit, bool rest) {
    uint m = (q << 8u) | (half_unit ? 0x80u : 0u) | (rest ? 1u : 0u);
    return f32_from_scaled(sign, Scaled(exponent, uvec2(0u, m)));
}

// a/b of positive finite numbers. The remainder of (ma 2^s)/mb is short, so 32 bits may wrap.
uint f_divide_sizes(uint sign, uint a, uint b) {
    Scaled sa = scaled_from_f32(a), sb = scaled_from_f32(b);
    uint ma = sa.m.y >> 8u, mb = sb.m.y >> 8u;
    bool less = ma < mb;
    precise float estimate = float(ma) * near_inverse(float(mb));
    precise float scaled = estimate * (less ? 16777216.0 : 8388608.0);
    uint q = uint(scaled);
    uint r = (ma << (less ? 24u : 23u)) - q * mb;
    for (; int(r) < 0; --q) r += mb;
    for (; r >= mb; ++q) r -= mb;
    int exponent = sa.exponent - sb.exponent - (less ? 1 : 0);
    return f_round_quotient(sign, exponent, q, 2u * r >= mb, r != 0u && 2u * r != mb);
}

// Divisors from 2^-40 to below 2^47 and dividends from 2^-78 to below 2^80, of either sign: nothing on
// the way to their quotients is subnormal. (Twice the bits have no sign.)
bool is_divisor(uint x) { return 2u * x - 0x57000000u < 0x57000000u; }
bool is_dividend(uint x) { return 2u * x - 0x31000000u < 0x9e000000u; }

const float ABOVE_ONE = 1.00000011920928955078125;  // the next float

// 1/d to within 0.50000006 units of the last place, for such a d > 0: Newton's iteration, the
// first step to the third order. The step before the last one ends a little above 1/d. (From below,
// the last one would not round up the inverse of a significand of ones.)
float inverse_of(float d) {
    float y = uintBitsToFloat(0x7ef311c3u - floatBitsToUint(d));
    float lacking = multiply_add(-d, y, 1.0);
    y = multiply_add(multiply_add(lacking, lacking, lacking), y, y);
    y = multiply_add(y, multiply_add(-d, y, ABOVE_ONE), y);
    return multiply_add(y, multiply_add(-d, y, 1.0), y);
}

// n/d by the inverse and two corrections. The first leaves at most 0.5000003 units, so that the
// second may be wrong only where n/d comes to a midpoint by 1/2d of a unit, d being the integer of
// its 24 bits: tests/vulkan/glsl_as_c.py tries all of these.
bool quotient_of(uint a, uint b, out uint bits) {
    uint sign = b & F32_SIGN, n = a ^ sign, d = b ^ sign;
    float dividend = uintBitsToFloat(n), divisor = uintBitsToFloat(d);
    float inverse = inverse_of(divisor), q = dividend * inverse;
    for (int i = 0; i < 2; i++) {
        float excess = multiply_add(divisor, q, -dividend);  // +0 where nothing is left
        q = multiply_add(-excess, inverse, q);
    }
    bits = floatBitsToUint(q);
    return both(is_divisor(d), any(bvec2(is_dividend(n), 2u * n == 0u)));
}

// (NVIDIA's driver flushes products of its own quotients, so the self-test refuses these.)
bool first_div(uint a, uint b, out uint bits) {
    bits = 0u;
    if ((HARDWARE & FUSES) != 0u) return quotient_of(a, b, bits);
    if ((HARDWARE & DIVIDES) == 0u) return false;
    precise float quotient = uintBitsToFloat(a) / uintBitsToFloat(b);
    bits = f_canonical(floatBitsToUint(quotient));
    return true;
}
bool first_reciprocal(uint a, out uint bits) { return first_div(F32_ONE, a, bits); }

uint second_div(uint a, uint b) {
    uint sign = (a ^ b) & F32_SIGN, x = a & ~F32_SIGN, y = b & ~F32_SIGN;
    if (x > F32_INFINITY || y > F32_INFINITY) return F32_NAN;
    if (x == y && (x == 0u || x == F32_INFINITY)) return F32_NAN;
    if (x == F32_INFINITY || y == 0u) return sign | F32_INFINITY;
    if (x == 0u || y == F32_INFINITY) return sign;
    return f_divide_sizes(sign, x, y);
}

uint second_reciprocal(uint a) { return second_div(F32_ONE, a); }

uint f_div(uint a, uint b) {
    uint bits;
    return first_div(a, b, bits) ? bits : second_div(a, b);
}

uint f_recip(uint a) { return f_div(F32_ONE, a); }

// 1/sqrt(v) for 1 <= v < 4, by Newton's iteration from a linear guess on the bits.
float f_rsqrt_estimate(float v) {
    precise float y = uintBitsToFloat(0x5f3759dfu - (floatBitsToUint(v) >> 1u));
    for (int i = 0; i < 3; ++i) {
        precise float next = y * (1.5 - 0.5 * v * y * y);
        y = next;
    }
    return y;
}

// x = 4^exponent m/2^23 with m in [2^23, 2^25), for positive finite x; v is m/2^23.
uint f_split_even(uint x, out int exponent, out float v) {
    Scaled s = scaled_from_f32(x);
    uint odd = uint(s.exponent & 1);
    exponent = s.exponent >> 1;
    v = uintBitsToFloat(((127u + odd) << 23u) | ((s.m.y >> 8u) & 0x7fffffu));
    return (s.m.y >> 8u) << odd;
}

// A positive normal number as 4^k v with 1 <= v < 4, with sqrt(v) and 1/(2 sqrt(v)) by Goldschmidt's iteration.
struct Root { uint v; float root, half_inverse; };
Root root_of(uint x) {
    uint v = ((x ^ 0x800000u) & 0xffffffu) + F32_ONE;
    float y = uintBitsToFloat(0x5f3759dfu - (v >> 1u));
    Root r = Root(v, uintBitsToFloat(v) * y, 0.5 * y);
    for (int i = 0; i < 3; i++) {
        float lacking = multiply_add(-r.root, r.half_inverse, 0.5);
        r.root = multiply_add(r.root, lacking, r.root);
        r.half_inverse = multiply_add(r.half_inverse, lacking, r.half_inverse);
    }
    return r;
}
bool is_positive_normal(uint x) { return x - 0x800000u < F32_INFINITY - 0x800000u; }

// The last step rounds once what is nearly the root: to the right float for every v.
bool first_sqrt(uint a, out uint bits) {
    bits = 0u;
    if ((HARDWARE & FUSES) == 0u) return false;
    Root r = root_of(a);
    float rest = fma(-r.root, r.root, uintBitsToFloat(r.v));
    bits = floatBitsToUint(fma(rest, r.half_inverse, r.root)) + uint(int(a - r.v) >> 1);
    return is_positive_normal(a);
}

const float RSQRT_ERROR = 5.684341886080802e-14;  // 2^-44, of a number below 1

// y + y/2 (1 - v y^2) (1 + 3/4 (1 - v y^2)) as a pair.
bool first_rsqrt(uint a, out uint bits) {
    bits = 0u;
    if ((HARDWARE & FUSES) == 0u) return false;
    Root r = root_of(a);
    float v = uintBitsToFloat(r.v), y = 2.0 * r.half_inverse, rounded;
    Pair square = two_product(y, y);
    float lacking = fma(-v, square.l, fma(-v, square.h, 1.0));
    Pair inverse = Pair(y, r.half_inverse * fma(0.75 * lacking, lacking, lacking));
    bool decided = is_decided(inverse, RSQRT_ERROR, rounded);
    bits = floatBitsToUint(rounded) - uint(int(a - r.v) >> 1);
    return both(decided, is_positive_normal(a));
}

// m 2^23 = q^2 + r with 0 <= r <= 2q, modulo 2^32.
uint second_sqrt(uint a) {
    if (a == 0u || a == F32_SIGN || a == F32_INFINITY) return a;
    if (a > F32_INFINITY) return F32_NAN;
    int exponent;
    float v;
    uint m = f_split_even(a, exponent, v);
    precise float estimate = v * f_rsqrt_estimate(v) * 8388608.0;
    uint q = uint(estimate);
    uint r = (m << 23u) - q * q;
    for (; int(r) < 0; r += 2u * q + 1u) --q;
    for (; r > 2u * q; ++q) r -= 2u * q + 1u;
    return f_round_quotient(0u, exponent, q, r > q, r != 0u);
}

// 2^71 = q^2 m + r with 0 <= r < (2q + 1) m, modulo 2^64; q = 2^24 for powers of four only.
uint second_rsqrt(uint a) {
    if (a == 0u || a == F32_SIGN) return a | F32_INFINITY;
    if (a == F32_INFINITY) return 0u;
    if (a > F32_INFINITY) return F32_NAN;
    int exponent;
    float v;
    uint m = f_split_even(a, exponent, v);
    precise float estimate = f_rsqrt_estimate(v) * 16777216.0;
    uint q = uint(estimate);
    uvec2 r = i64_neg(i64_mul(u64_product(q, q), uvec2(m, 0u)));
    for (; i64_negative(r); r = u64_add(r, u64_product(2u * q + 1u, m))) --q;
    for (; !i64_less(r, u64_product(2u * q + 1u, m)); ++q) {
        r = u64_sub(r, u64_product(2u * q + 1u, m));
    }
    if (q == 0x1000000u) return uint(127 - exponent) << 23u;
    bool half_unit = i64_less(u64_product(4u * q + 1u, m), u64_shl(r, 2u));
    return f_round_quotient(0u, -exponent - 1, q, half_unit, true);
}

uint f_sqrt(uint a) {
    uint bits;
    return first_sqrt(a, bits) ? bits : second_sqrt(a);
}

uint f_rsqrt(uint a) {
    uint bits;
    return first_rsqrt(a, bits) ? bits : second_rsqrt(a);
}

#endif
