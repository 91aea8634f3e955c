// exp, exp2, expm1, sigmoid and tanh, correctly rounded, in fixed point; Qn has n fractional bits.
// It is the second phase where exp_fast.glsl has a first one, and complete by itself.
//
// No float32 input comes nearer to a rounding midpoint than a relative 2^-52.6 (exp), 2^-58.9
// (exp2; -150 is an exact midpoint and computed exactly), 2^-52.8 (expm1) or 2^-50.3 (tanh), found
// over all inputs. The errors stay below that: exp2_fraction has less than 2^-60, its argument
// less than 2^-64, a quotient adds less than 2^-60, and the differences e^x - 1 and 1 - e^(-2x)
// lose at most five bits because smaller arguments have series of their own.
#ifndef EXP_GLSL
#define EXP_GLSL
#include "wide.glsl"
#include "exp2.glsl"
#include "exp_table.glsl"

const uint EXP_TINY = 0x32800000u;  // 2^-26; below, e^x and 2^x round to 1, e^x - 1 to x
const uint EXP_HUGE = 0x43800000u;  // 256; the results are 0 or infinite
const uint EXPM1_NEAR = 0x3d000000u;  // 2^-5
const uint EXPM1_HUGE = 0x43000000u;  // 128; the result is infinite
const uint EXPM1_LOW = 0x41a00000u;  // 20; from -17.4 down the result is -1
const uint SIGMOID_TINY = 0x33000000u;  // 2^-25; below, the result is 1/2
const uint SIGMOID_NEAR = 0x39800000u;  // 2^-12
const uint SIGMOID_HUGE = 0x43000000u;  // 128; the results are 0 or 1
const uint TANH_TINY = 0x39800000u;  // 2^-12; below, the result is x
const uint TANH_NEAR = 0x3d800000u;  // 2^-4
const uint TANH_HUGE = 0x41800000u;  // 16; from 9.02 on the result is 1
const uint F32_HALF = 0x3f000000u;
const uvec2 Q63_ONE = uvec2(0u, 0x80000000u);
const uvec4 Q79_ONE = uvec4(0u, 0u, 0x8000u, 0u);

// 2^(x factor) for the bits of x with 2^-26 <= |x| < 256 and a Q79 factor below 2; normalized.
Scaled exp2_of_product(uint x, uvec4 factor) {
    Scaled size = scaled_from_f32(x & ~F32_SIGN);
    uvec4 product = u128_scale(factor, size.m.y >> 8u);
    product = u128_shr(product, uint(38 - size.exponent));  // Q64
    product = u128_negate_if(uint(int(x) >> 31), product);
    return Scaled(int(product.z), u64_shl(exp2_fraction(product.xy), 1u));
}

uint f_exponential(uint x, uvec4 factor) {
    uint size = x & ~F32_SIGN;
    if (size > F32_INFINITY) return F32_NAN;
    if (size < EXP_TINY) return F32_ONE;
    if (size >= EXP_HUGE) return x == size ? F32_INFINITY : 0u;
    return f32_from_scaled(0u, exp2_of_product(x, factor));
}

uint f_exp(uint x) { return f_exponential(x, EXP_LOG2_E); }
uint f_exp2(uint x) { return f_exponential(x, Q79_ONE); }

// |e^x - 1| = |x| (1 + x/2 + x^2/6 + ...) for 2^-26 <= |x| < 2^-5.
Scaled expm1_near(uint x) {
    uint negative = uint(int(x) >> 31);
    Scaled size = scaled_from_f32(x & ~F32_SIGN);
    uvec2 z = u64_shr(size.m, uint(-1 - size.exponent));  // |x| as a Q64, exact
    uvec2 series = EXPM1_SERIES[EXPM1_TERMS - 1];
    for (int k = EXPM1_TERMS - 2; k >= 0; --k) {
        series = u64_add(EXPM1_SERIES[k], u64_negate_if(negative, u64_mul_high(z, series)));
    }
    return normalize_scaled(Scaled(size.exponent + 1, u64_scale(series, size.m.y)));
}

// |e^x - 1| for -20 < x < 128 with |x| >= 2^-5.
Scaled expm1_far(uint x) {
    Scaled power = exp2_of_product(x, EXP_LOG2_E);
    if (power.exponent < 0) {
        uvec2 less = u64_sub(Q63_ONE, u64_shr(power.m, uint(-power.exponent)));
        return normalize_scaled(Scaled(0, less));
    }
    uvec2 one = u64_shr(Q63_ONE, uint(min(power.exponent, 63)));
    return normalize_scaled(Scaled(power.exponent, u64_sub(power.m, one)));
}

uint f_expm1(uint x) {
    uint size = x & ~F32_SIGN, sign = x & F32_SIGN;
    if (size > F32_INFINITY) return F32_NAN;
    if (size < EXP_TINY) return x;
    if (sign != 0u && size >= EXPM1_LOW) return F32_SIGN | F32_ONE;
    if (size >= EXPM1_HUGE) return F32_INFINITY;
    if (size < EXPM1_NEAR) return f32_from_scaled(sign, expm1_near(x));
    return f32_from_scaled(sign, expm1_far(x));
}

// 2^127/d for 2^63 <= d < 2^64, at most 2^-61 of itself too small. Newton's iteration stays below
// the limit where it starts below it, and the first guess does, by 2^-20 of itself; the float
// division may be wrong by three units of the last place.
uvec2 u64_reciprocal(uvec2 d) {
    precise float guess = 9223363240761753600.0 / float(d.y);
    uvec2 y = uvec2(0u, uint(guess));
    for (int i = 0; i < 2; ++i) {
        uvec2 error = u64_sub(uvec2(~0u, ~F32_SIGN), u64_mul_high(d, y));  // Q63, not negative
        y = u64_add(y, u64_mul_high(y, u64_shl(error, 1u)));
    }
    return y;
}

// 1/2 + x/4 - x^3/48 + ... for 2^-25 <= |x| < 2^-12. As a Q64 x/4 is a multiple of 2^(e + 39) and
// the third term below 2^(3e + 62), e the exponent of x: one unit towards 1/2 stands for it.
Scaled sigmoid_near(uint x) {
    Scaled size = scaled_from_f32(x & ~F32_SIGN);
    uvec2 quarter = u64_shr(size.m, uint(1 - size.exponent));
    uvec2 nudged = u64_negate_if(uint(int(x) >> 31), u64_sub(quarter, uvec2(1u, 0u)));
    return normalize_scaled(Scaled(-1, u64_add(Q63_ONE, nudged)));
}

// With p = e^-|x|: 1/(1 + p), and p/(1 + p) for negative x, 2^-12 <= |x| < 128.
Scaled sigmoid_far(uint x) {
    Scaled power = exp2_of_product(x | F32_SIGN, EXP_LOG2_E);
    uvec2 p = u64_shr(power.m, uint(min(-power.exponent, 63)));
    uvec2 inverse = u64_reciprocal(u64_add(Q63_ONE, p));
    if (int(x) >= 0) return normalize_scaled(Scaled(-1, inverse));
    return normalize_scaled(Scaled(power.exponent, u64_mul_high(power.m, inverse)));
}

uint f_sigmoid(uint x) {
    uint size = x & ~F32_SIGN;
    if (size > F32_INFINITY) return F32_NAN;
    if (size < SIGMOID_TINY) return F32_HALF;
    if (size >= SIGMOID_HUGE) return x == size ? F32_ONE : 0u;
    if (size < SIGMOID_NEAR) return f32_from_scaled(0u, sigmoid_near(x));
    return f32_from_scaled(0u, sigmoid_far(x));
}

// tanh a = a (1 - z/3 + 2 z^2/15 - ...) with z = a^2, for 2^-12 <= a < 2^-4.
Scaled tanh_near(uint a) {
    Scaled size = scaled_from_f32(a);
    uvec2 square = u64_product(size.m.y, size.m.y);  // 2^(2 exponent + 2) as a Q64
    uvec2 z = u64_shr(square, uint(-2 - 2 * size.exponent));
    uvec2 series = TANH_SERIES[TANH_TERMS - 1];
    for (int k = TANH_TERMS - 2; k >= 0; --k) {
        series = u64_sub(TANH_SERIES[k], u64_mul_high(z, series));
    }
    return normalize_scaled(Scaled(size.exponent + 1, u64_scale(series, size.m.y)));
}

// (1 - p)/(1 + p) with p = e^(-2a), for 2^-4 <= a < 16.
Scaled tanh_far(uint a) {
    uint twice = a + 0x800000u;
    Scaled power = exp2_of_product(twice | F32_SIGN, EXP_LOG2_E);
    uvec2 p = u64_shr(power.m, uint(-power.exponent));
    uvec2 inverse = u64_reciprocal(u64_add(Q63_ONE, p));
    return normalize_scaled(Scaled(0, u64_mul_high(u64_sub(Q63_ONE, p), inverse)));
}

uint f_tanh(uint x) {
    uint size = x & ~F32_SIGN, sign = x & F32_SIGN;
    if (size > F32_INFINITY) return F32_NAN;
    if (size < TANH_TINY) return x;
    if (size >= TANH_HUGE) return sign | F32_ONE;
    if (size < TANH_NEAR) return f32_from_scaled(sign, tanh_near(size));
    return f32_from_scaled(sign, tanh_far(size));
}

#endif
