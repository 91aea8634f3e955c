// log, log2, log10 and log1p, correctly rounded, in fixed point; Qn has n fractional bits.
//
// No float32 input comes nearer to a rounding midpoint than a relative 2^-57.8 (log), 2^-51.3
// (log2), 2^-55.8 (log10) or 2^-66.4 (log1p, near 2^-21), found over all inputs. The logarithm of
// docs/pow.md has a relative error below 2^-60, next to 1 too; the other parts say theirs.
#ifndef LOG_GLSL
#define LOG_GLSL
#include "wide.glsl"
#include "exp.glsl"
#include "pow.glsl"
#include "log_table.glsl"

const uint LOG1P_TINY = 0x32800000u;  // 2^-26; below, the result is x
const uint LOG1P_NEAR = 0x3c800000u;  // 2^-6
const uint LOG1P_FAR = 0x5f000000u;  // 2^63; from here on 1 + x is x for the logarithm
const uint LOG1P_POLE = 0xbf800000u;  // -1

// 2^exponent a/2^127 for any a but 0, normalized; the lowest bit stands for what is lost.
Scaled scaled_from_u128(int exponent, uvec4 a) {
    if (a.zw == uvec2(0u)) {
        a = uvec4(0u, 0u, a.xy);
        exponent -= 64;
    }
    uint zeros = u64_leading_zeros(a.zw);
    a = u128_shl(a, zeros);
    return Scaled(exponent - int(zeros), a.zw | uvec2(a.xy == uvec2(0u) ? 0u : 1u, 0u));
}

// The float32 nearest to a signed Q95, times a Q64 factor if scaling is asked for.
uint log_round(uvec4 log, bool scales, uvec2 factor) {
    uint negative = uint(int(log.w) >> 31);
    uvec4 size = u128_negate_if(negative, log);
    if (size == uvec4(0u)) return 0u;
    Scaled result = scaled_from_u128(32, size);
    if (scales) {
        result = normalize_scaled(Scaled(result.exponent, u64_mul_high(result.m, factor)));
    }
    return f32_from_scaled(negative & F32_SIGN, result);
}

uint f_logarithm(uint x, bool scales, uvec2 factor) {
    uint size = x & ~F32_SIGN;
    if (size == 0u) return F32_SIGN | F32_INFINITY;
    if (x == F32_INFINITY) return x;
    if (x > F32_INFINITY) return F32_NAN;
    return log_round(pow_log2(x), scales, factor);
}

uint f_log2(uint x) { return f_logarithm(x, false, uvec2(0u)); }
uint f_log(uint x) { return f_logarithm(x, true, LOG_LN2); }
uint f_log10(uint x) { return f_logarithm(x, true, LOG_LOG10_2); }

// |log1p(x)| = |x| -+ x^2 U with U = 1/2 - x/3 + x^2/4 - ..., for 2^-26 <= |x| < 2^-6. Everything
// but U is exact, or rounded down at 2^-126, so the relative error is below 2^-60 |x|.
Scaled log1p_near(uint x) {
    uint negative = uint(int(x) >> 31);
    Scaled size = scaled_from_f32(x & ~F32_SIGN);
    uvec2 z = u64_shr(size.m, uint(-1 - size.exponent));  // |x| as a Q64, exact
    uvec2 series = LOG1P_SERIES[LOG1P_TERMS - 1];  // U as a Q64
    for (int k = LOG1P_TERMS - 2; k >= 0; --k) {
        series = u64_add(LOG1P_SERIES[k], u64_negate_if(~negative, u64_mul_high(z, series)));
    }
    // In units of 2^exponent, as Q126: x, and 2^exponent times the product of x^2 and U.
    uvec2 square = u64_product(size.m.y, size.m.y);
    uvec4 low = u128_scale(uvec4(series, 0u, 0u), square.x);
    uvec4 high = u128_scale(uvec4(series, 0u, 0u), square.y);
    uvec4 product = u128_add(low, uvec4(0u, high.xyz));
    uvec4 change = u128_negate_if(~negative, u128_shr(product, uint(-size.exponent)));
    uvec4 linear = u128_shr(uvec4(0u, 0u, size.m), 1u);
    return scaled_from_u128(size.exponent + 1, u128_add(linear, change));
}

// 1 + x, exactly, for finite x > -1 with 2^-6 <= |x| < 2^63.
Scaled one_plus(uint x) {
    Scaled size = scaled_from_f32(x & ~F32_SIGN);
    int exponent = max(size.exponent, 0) + 1;
    uvec2 one = u64_shr(Q63_ONE, uint(exponent));
    uvec2 part = u64_shr(size.m, uint(exponent - size.exponent));
    uvec2 sum = u64_add(one, u64_negate_if(uint(int(x) >> 31), part));
    return normalize_scaled(Scaled(exponent, sum));
}

// log1p(x) for the other x below 2^63: with 1 + x = h (1 + d), h of 24 bits and d < 2^-23, the
// sum of log2(h) and log2(1 + d) = log2(e) (d - d^2/2), in which d^3/3 < 2^-70 is left out.
uint log1p_far(uint x) {
    Scaled w = one_plus(x);
    uvec2 h = uvec2(0u, w.m.y & ~0xffu);
    uvec2 rest = u64_shl(u64_sub(w.m, h), 24u);
    uvec2 d = u64_mul_high(rest, u64_reciprocal(h));  // Q87
    uvec2 square = u64_mul_high(d, d);  // Q110
    uvec2 natural = u64_sub(d, u64_shr(square, 24u));
    uvec2 binary = u64_mul_high(natural, LOG_LOG2_E);  // Q86
    uint bits = (uint(w.exponent + 127) << 23u) | ((h.y >> 8u) & 0x7fffffu);
    uvec4 log = u128_add(pow_log2(bits), u128_shl(uvec4(binary, 0u, 0u), 9u));
    return log_round(log, true, LOG_LN2);
}

uint f_log1p(uint x) {
    uint size = x & ~F32_SIGN, sign = x & F32_SIGN;
    if (size > F32_INFINITY || x > LOG1P_POLE) return F32_NAN;
    if (x == LOG1P_POLE) return F32_SIGN | F32_INFINITY;
    if (size < LOG1P_TINY) return x;
    if (size < LOG1P_NEAR) return f32_from_scaled(sign, log1p_near(x));
    return size < LOG1P_FAR ? log1p_far(x) : f_log(x);
}

#endif
