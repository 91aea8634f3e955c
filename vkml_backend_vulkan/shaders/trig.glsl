// sin, cos and tan, correctly rounded. No float32 input comes nearer to a rounding midpoint than
// a relative 2^-56 (found over all inputs); the values here have a relative error below 2^-60.
#ifndef TRIG_GLSL
#define TRIG_GLSL
#include "wide.glsl"
#include "trig_table.glsl"

const uint TRIG_UNREDUCED = 0x3f490fdau;  // the largest float32 below pi/4
const uint TRIG_TINY = 0x39800000u;  // 2^-12; below, sin x and tan x round to x, cos x to 1

// |x| = quadrant pi/2 + r modulo 2 pi, |r| <= pi/4, r negative where the mask is all ones.
struct Reduced {
    uint quadrant;
    uint negative;
    Scaled size;
};

// Payne and Hanek (1983): of 2/pi only 128 bits matter, which give |x| 2/pi modulo 4 with 126
// fractional bits and an error below 2^-102. No float32 comes nearer to a multiple of pi/2 than
// 2^-29.9 of it, so 72 bits of the remainder are right.
Reduced trig_reduce(uint x) {
    if (x <= TRIG_UNREDUCED) return Reduced(0u, 0u, scaled_from_f32(x));
    uint first = (x >> 23u) - 120u;  // of the bits of TWO_OVER_PI, which begin with 32 zeros
    uint i = first >> 5u, n = first & 31u;
    uvec4 words = uvec4(
        TWO_OVER_PI[i + 3u], TWO_OVER_PI[i + 2u], TWO_OVER_PI[i + 1u], TWO_OVER_PI[i]);
    uvec4 window = (words << n) | (uvec4(TWO_OVER_PI[i + 4u], words.xyz) >> 1u >> (31u - n));
    uvec4 turns = u128_scale(window, (x & 0x7fffffu) | 0x800000u);
    uint quadrant = (turns.w + 0x20000000u) >> 30u;
    turns.w -= quadrant << 30u;
    uint negative = uint(int(turns.w) >> 31);
    turns = u128_negate_if(negative, turns);
    uint zeros = u64_leading_zeros(turns.zw);
    uvec2 radians = u64_mul_high(u128_shl(turns, zeros).zw, HALF_PI);
    return Reduced(quadrant, negative, normalize_scaled(Scaled(2 - int(zeros), radians)));
}

// r^2 as a Q64.
uvec2 trig_square(Scaled r) {
    uvec2 fixed_point = u64_shr(r.m, uint(-1 - r.exponent));
    return u64_mul_high(fixed_point, fixed_point);
}

// sin r = r - r u with u = z/3! - z^2/5! + ..., z = r^2.
Scaled trig_sin(Scaled r) {
    uvec2 z = trig_square(r);
    uvec2 u = SIN_SERIES[SIN_TERMS - 1];
    for (int k = SIN_TERMS - 2; k >= 0; --k) u = u64_sub(SIN_SERIES[k], u64_mul_high(z, u));
    u = u64_mul_high(z, u);
    return normalize_scaled(Scaled(r.exponent, u64_sub(r.m, u64_mul_high(r.m, u))));
}

// cos r = 1 - v with v = z/2! - z^2/4! + ..., z = r^2; v is not 0, as z is at least 2^-60.
Scaled trig_cos(Scaled r) {
    uvec2 z = trig_square(r);
    uvec2 v = COS_SERIES[COS_TERMS - 1];
    for (int k = COS_TERMS - 2; k >= 0; --k) v = u64_sub(COS_SERIES[k], u64_mul_high(z, v));
    return Scaled(-1, u64_sub(uvec2(0u), u64_mul_high(z, v)));
}

// The bits of the sine of quadrant pi/2 + r, negated by sign.
uint trig_sine(uint sign, Reduced r) {
    sign ^= (r.quadrant & 2u) << 30u;
    if ((r.quadrant & 1u) != 0u) return f32_from_scaled(sign, trig_cos(r.size));
    return f32_from_scaled(sign ^ (r.negative & F32_SIGN), trig_sin(r.size));
}

// a/b to 26 bits or more and a sticky bit, by long division.
Scaled trig_divide(Scaled a, Scaled b) {
    uvec2 rest = u64_shr(a.m, 1u), divisor = u64_shr(b.m, 1u);
    uint quotient = 0u;
    for (int i = 0; i < 27; ++i) {
        bool fits = !u64_less(rest, divisor);
        if (fits) rest = u64_sub(rest, divisor);
        rest = u64_shl(rest, 1u);
        quotient = (quotient << 1u) | uint(fits);
    }
    uint sticky = uint(rest != uvec2(0u));
    return normalize_scaled(Scaled(a.exponent - b.exponent + 5, uvec2(sticky, quotient)));
}

uint f_sin(uint x) {
    uint size = x & ~F32_SIGN;
    if (size >= F32_INFINITY) return F32_NAN;
    if (size < TRIG_TINY) return x;
    return trig_sine(x & F32_SIGN, trig_reduce(size));
}

uint f_cos(uint x) {
    uint size = x & ~F32_SIGN;
    if (size >= F32_INFINITY) return F32_NAN;
    if (size < TRIG_TINY) return F32_ONE;
    Reduced r = trig_reduce(size);
    r.quadrant += 1u;
    return trig_sine(0u, r);
}

uint f_tan(uint x) {
    uint size = x & ~F32_SIGN;
    if (size >= F32_INFINITY) return F32_NAN;
    if (size < TRIG_TINY) return x;
    Reduced r = trig_reduce(size);
    uint sign = (x ^ r.negative ^ (r.quadrant << 31u)) & F32_SIGN;
    Scaled s = trig_sin(r.size), c = trig_cos(r.size);
    bool odd = (r.quadrant & 1u) != 0u;
    if (odd) return f32_from_scaled(sign, trig_divide(c, s));
    return f32_from_scaled(sign, trig_divide(s, c));
}

#endif
