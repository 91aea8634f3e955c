// float32 arithmetic on bits, correctly rounded; every NaN result is the canonical one.
//
// Sums and products are the device's own, which its self-test has found exact. Quotients and roots
// start from any estimate within a few units of the last place and are settled by the sign and
// size of the integer remainder.
#ifndef ARITH_GLSL
#define ARITH_GLSL
#include "int64.glsl"

// 1 where the self-test has found the device's division exact.
layout(constant_id = 1) const uint HARDWARE_DIVIDE = 0u;

uint f_canonical(uint a) {
    return (a & ~F32_SIGN) > F32_INFINITY ? F32_NAN : a;
}

// What a sum from +0 on gives, which is never -0: drivers take a sum with +0 for the other term.
uint from_zero(uint a) { return a == F32_SIGN ? 0u : a; }

uint f_add(uint a, uint b) {
    precise float sum = uintBitsToFloat(a) + uintBitsToFloat(b);
    return f_canonical(floatBitsToUint(sum));
}

uint f_sub(uint a, uint b) {
    precise float difference = uintBitsToFloat(a) - uintBitsToFloat(b);
    return f_canonical(floatBitsToUint(difference));
}

uint f_mul(uint a, uint b) {
    precise float product = uintBitsToFloat(a) * uintBitsToFloat(b);
    return f_canonical(floatBitsToUint(product));
}

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
    precise float estimate = float(ma) / float(mb);
    precise float scaled = estimate * (less ? 16777216.0 : 8388608.0);
    uint q = uint(scaled);
    uint r = (ma << (less ? 24u : 23u)) - q * mb;
    for (; int(r) < 0; --q) r += mb;
    for (; r >= mb; ++q) r -= mb;
    int exponent = sa.exponent - sb.exponent - (less ? 1 : 0);
    return f_round_quotient(sign, exponent, q, 2u * r >= mb, r != 0u && 2u * r != mb);
}

uint f_div(uint a, uint b) {
    if (HARDWARE_DIVIDE == 1u) {
        precise float quotient = uintBitsToFloat(a) / uintBitsToFloat(b);
        return f_canonical(floatBitsToUint(quotient));
    }
    uint sign = (a ^ b) & F32_SIGN, x = a & ~F32_SIGN, y = b & ~F32_SIGN;
    if (x > F32_INFINITY || y > F32_INFINITY) return F32_NAN;
    if (x == y && (x == 0u || x == F32_INFINITY)) return F32_NAN;
    if (x == F32_INFINITY || y == 0u) return sign | F32_INFINITY;
    if (x == 0u || y == F32_INFINITY) return sign;
    return f_divide_sizes(sign, x, y);
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

// m 2^23 = q^2 + r with 0 <= r <= 2q, modulo 2^32.
uint f_sqrt(uint a) {
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
uint f_rsqrt(uint a) {
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

#endif
