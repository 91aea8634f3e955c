// erf and erfc, correctly rounded. No float32 input comes nearer to a rounding midpoint than a
// relative 2^-56.4 (erf) or 2^-55.7 (erfc), found over all inputs; the values here have a relative
// error below 2^-58.
#ifndef ERF_GLSL
#define ERF_GLSL
#include "wide.glsl"
#include "exp2.glsl"
#include "erf_table.glsl"

const uint ERF_NEAR_END = 0x3f400000u;  // 3/4
const uint ERF_FOUR = 0x40800000u;  // from here on erf rounds to 1
const uint ERF_TWO = 0x40000000u;
const uint ERFC_TINY = 0x32800000u;  // 2^-26; below, erfc rounds to 1
const uint ERFC_ZERO = 0x41300000u;  // 11; from 10.06 on erfc rounds to 0

// erf a for 0 < a < 3/4 by its Taylor series a (2/sqrt(pi)) (1 - z/3 + z^2/10 - ...), z = a^2.
Scaled erf_near(uint a) {
    Scaled size = scaled_from_f32(a);
    uvec2 square = u64_product(size.m.y, size.m.y);  // of units 2^(2 exponent - 62)
    uvec2 z = u64_shr(square, uint(min(-2 - 2 * size.exponent, 63)));
    uvec2 series = ERF_SERIES[ERF_TERMS - 1];  // Q63
    for (int k = ERF_TERMS - 2; k >= 0; --k) {
        series = u64_sub(ERF_SERIES[k], u64_mul_high(z, series));
    }
    return normalize_scaled(Scaled(size.exponent + 1, u64_scale(series, size.m.y)));
}

// erfc a = 2^-y G/2^e for 3/4 <= a < 12, with y = a^2 log2(e), 2^e <= a < 2^(e+1) and
// G = 2^e e^(a^2) erfc(a), by a polynomial in each half of the octaves.
Scaled erfc_far(uint a) {
    uvec2 g = erfc_polynomial((a - ERF_NEAR_END) >> 22u, a << 10u);
    int exponent = int(a >> 23u) - 127;
    uint significand = (a & 0x7fffffu) | 0x800000u;
    uvec4 y = u128_scale(u128_scale(LOG2_E, significand), significand);
    y = u128_shr(y, uint(6 - 2 * exponent));  // Q119
    uvec2 fraction = u128_shl(y, 9u).zw;
    // 2^-y = 2^-(floor(y) + 1) 2^(1 - fraction), and 1 - fraction is its complement but for 2^-64.
    uvec2 power = u64_shl(exp2_fraction(~fraction), 1u);
    int scale = -int(y.w >> 23u) - 1 - exponent;
    return normalize_scaled(Scaled(scale, u64_mul_high(power, g)));
}

uint f_erf(uint x) {
    uint size = x & ~F32_SIGN, sign = x & F32_SIGN;
    if (size > F32_INFINITY) return F32_NAN;
    if (size == 0u) return x;
    if (size < ERF_NEAR_END) return f32_from_scaled(sign, erf_near(size));
    if (size >= ERF_FOUR) return sign | F32_ONE;
    Scaled rest = erfc_far(size);
    uvec2 fixed_point = u64_shr(rest.m, uint(-1 - rest.exponent));  // Q64
    return f32_from_scaled(sign, Scaled(-1, u64_sub(uvec2(0u), fixed_point)));
}

// 1 - erf or, for negative arguments, 1 + erf.
uint erfc_near(bool negative, Scaled value) {
    uvec2 fixed_point = u64_shr(value.m, uint(-1 - value.exponent));  // Q64
    if (!negative) {
        Scaled rest = Scaled(-1, u64_sub(uvec2(0u), fixed_point));
        return f32_from_scaled(0u, normalize_scaled(rest));
    }
    uvec2 sum = u64_shr(fixed_point, 1u) | uvec2(0u, F32_SIGN);
    return f32_from_scaled(0u, Scaled(0, sum));
}

uint f_erfc(uint x) {
    uint size = x & ~F32_SIGN;
    bool negative = x != size;
    if (size > F32_INFINITY) return F32_NAN;
    if (size < ERFC_TINY) return F32_ONE;
    if (size < ERF_NEAR_END) return erfc_near(negative, erf_near(size));
    if (size >= ERFC_ZERO) return negative ? ERF_TWO : 0u;
    Scaled value = erfc_far(size);
    if (!negative) return f32_from_scaled(0u, value);
    // At least 2^-63 is subtracted from 2, so that the difference stays below 2.
    uvec2 fixed_point = u64_shr(value.m, uint(min(-value.exponent, 63)));  // Q63
    return f32_from_scaled(0u, Scaled(0, u64_sub(uvec2(0u), fixed_point)));
}

#endif
