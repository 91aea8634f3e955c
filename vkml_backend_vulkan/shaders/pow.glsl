// pow: the special cases of C99 annex F.9.4.4 and the fixed-point algorithm of docs/pow.md,
// whose names these are. Qn has n fractional bits.
#ifndef POW_GLSL
#define POW_GLSL
#include "wide.glsl"
#include "exp2.glsl"
#include "pow_table.glsl"

const uint POW_TIE_WINDOW = 1024u;

// log2 x as a signed Q95, for the bits of a positive finite x (steps 1 to 3).
uvec4 pow_log2(uint x) {
    Scaled split = scaled_from_f32(x);
    uint m = split.m.y >> 8u;
    bool above = m > 0xb504f3u;
    int exponent = split.exponent + (above ? 1 : 0);
    if (!above) m <<= 1u;
    uint i = m >> 17u;
    uint c = i == 127u || i == 128u ? 256u : (65536u + i) / (2u * i + 1u);
    uint z = m * c;
    uint negative = uint(int(z) >> 31);
    uint size = (z ^ negative) - negative;
    uvec2 series = POW_LOG_SERIES[8];
    for (int k = 7; k >= 0; --k) {
        uvec2 term = u64_negate_if(~negative, u64_scale(series, size));
        series = u64_add(POW_LOG_SERIES[k], term);
    }
    uvec4 fraction = u128_negate_if(negative, u128_scale(uvec4(series, 0u, 0u), size));
    uvec3 t = pow_minus_log2_centre(i - POW_FIRST_ROW);
    uvec4 entry = uvec4(t, uint(int(t.z) >> 31));
    uvec4 whole = uvec4(0u, 0u, uint(exponent) << 31u, uint(exponent >> 1));
    return u128_add(whole, u128_add(entry, fraction));
}

// y log2 x = W + F/2^64 as (F, W, W's sign): steps 4 and 5, for the bits of a finite y but 0.
uvec4 pow_multiply(uvec4 log, uint y) {
    uint log_negative = uint(int(log.w) >> 31);
    uvec4 size = u128_negate_if(log_negative, log);
    uint zeros = u64_leading_zeros(size.zw);
    uvec2 leading = u128_shl(size, zeros).zw;
    uint field = (y >> 23u) & 0xffu;
    uint significand = (y & 0x7fffffu) | (field != 0u ? 0x800000u : 0u);
    uvec4 product = u128_scale(uvec4(leading, 0u, 0u), significand);
    int right = int(zeros) - 33 - (max(int(field), 1) - 150);
    product = right < 15 ? uvec4(0u, 0u, 256u, 0u) : u128_shr(product, uint(min(right, 127)));
    return u128_negate_if(log_negative ^ uint(int(y) >> 31), product);
}

// The bits of the float32 nearest to 2^n V/2^62, within 2^10 of a midpoint its tie (step 7).
uint pow_round(int n, uvec2 v) {
    if (n >= 128) return F32_INFINITY;
    if (n <= -151) return 0u;
    uint dropped = n >= -126 ? 39u : uint(-87 - n);
    uint kept = u64_shr(v, dropped).x;
    uvec2 half_unit = u64_shl(uvec2(1u, 0u), dropped - 1u);
    uvec2 beyond = u64_sub(u64_sub(v, u64_shl(uvec2(kept, 0u), dropped)), half_unit);
    bool below = int(beyond.y) < 0;
    uvec2 distance = u64_negate_if(below ? 0xffffffffu : 0u, beyond);
    bool tie = distance.y == 0u && distance.x <= POW_TIE_WINDOW;
    if (tie ? (kept & 1u) != 0u : !below) kept += 1u;
    return min((uint(max(n + 126, 0)) << 23u) + kept, F32_INFINITY);
}

// x^y for the bits of a finite positive x but 1 and of a finite y but 0. The algorithm rounds the
// powers 1, 2, -1 and 1/2 correctly, because none of them but ties come within 2^-50 of a
// midpoint (in units of V/2^62), so they need no path of their own.
uint pow_magnitude(uint x, uint y) {
    uvec4 exponent = pow_multiply(pow_log2(x), y);
    return pow_round(int(exponent.z), exp2_fraction(exponent.xy));
}

// (y is an integer, y is an odd integer) for the bits of a y that is neither 0 nor NaN.
bvec2 pow_integer(uint y) {
    int fraction_bits = 150 - int((y >> 23u) & 0xffu);
    if (fraction_bits > 23) return bvec2(false);
    if (fraction_bits < 0) return bvec2(true, false);
    uint significand = (y & 0x7fffffu) | 0x800000u;
    bool whole = (significand & ((1u << fraction_bits) - 1u)) == 0u;
    return bvec2(whole, whole && ((significand >> fraction_bits) & 1u) != 0u);
}

uint f_pow(uint x, uint y) {
    uint size = x & ~F32_SIGN;
    uint size_y = y & ~F32_SIGN;
    if (x == F32_ONE || size_y == 0u) return F32_ONE;
    if (size > F32_INFINITY || size_y > F32_INFINITY) return F32_NAN;
    bvec2 integer = pow_integer(y);
    bool negative = x != size;
    if (negative && size != 0u && size < F32_INFINITY && !integer.x) return F32_NAN;
    uint sign = negative && integer.y ? F32_SIGN : 0u;
    if (size == F32_ONE) return sign | F32_ONE;
    if (size == 0u || size == F32_INFINITY || size_y == F32_INFINITY) {
        return (size > F32_ONE) == (y == size_y) ? sign | F32_INFINITY : sign;
    }
    return sign | pow_magnitude(size, y);
}

#endif
