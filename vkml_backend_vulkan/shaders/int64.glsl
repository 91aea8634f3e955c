// Signed 64-bit integers as uvec2 (low, high) in two's complement; all operations wrap.
#ifndef INT64_GLSL
#define INT64_GLSL
#include "wide.glsl"

bool i64_negative(uvec2 a) { return int(a.y) < 0; }
bool i64_eq(uvec2 a, uvec2 b) { return a == b; }
bool i64_less(uvec2 a, uvec2 b) {
    return int(a.y) < int(b.y) || (a.y == b.y && a.x < b.x);
}

uvec2 i64_add(uvec2 a, uvec2 b) { return u64_add(a, b); }
uvec2 i64_sub(uvec2 a, uvec2 b) { return u64_sub(a, b); }
uvec2 i64_neg(uvec2 a) { return u64_sub(uvec2(0u), a); }
uvec2 i64_negate_if(bool condition, uvec2 a) {
    return condition ? i64_neg(a) : a;
}

uvec2 i64_mul(uvec2 a, uvec2 b) {
    uvec2 low = u64_product(a.x, b.x);
    return uvec2(low.x, low.y + a.x * b.y + a.y * b.x);
}

// Shifts by 0 <= n <= 63, the right one with copies of the sign.
uvec2 i64_shl(uvec2 a, uint n) { return u64_shl(a, n); }
uvec2 i64_shr(uvec2 a, uint n) {
    uint mask = uint(int(a.y) >> 31);
    return u64_shr(a ^ mask, n) ^ mask;
}

// (quotient, remainder) of unsigned numbers, b not 0: schoolbook, a bit at a time.
uvec4 u64_divide(uvec2 a, uvec2 b) {
    if (a.y == 0u && b.y == 0u) return uvec4(a.x / b.x, 0u, a.x % b.x, 0u);
    uvec2 rest = uvec2(0u);
    for (int i = 0; i < 64; ++i) {
        bool carry = i64_negative(rest);
        rest = u64_shl(rest, 1u) | uvec2(a.y >> 31u, 0u);
        a = u64_shl(a, 1u);
        if (carry || !u64_less(rest, b)) {
            rest = u64_sub(rest, b);
            a.x |= 1u;
        }
    }
    return uvec4(a, rest);
}

// (quotient rounded towards minus infinity, remainder with the sign of b), b not 0.
uvec4 i64_floor_divide(uvec2 a, uvec2 b) {
    bool negative_a = i64_negative(a), negative_b = i64_negative(b);
    uvec4 sizes = u64_divide(i64_negate_if(negative_a, a), i64_negate_if(negative_b, b));
    uvec2 quotient = i64_negate_if(negative_a != negative_b, sizes.xy);
    uvec2 rest = i64_negate_if(negative_a, sizes.zw);
    if (negative_a != negative_b && rest != uvec2(0u)) {
        quotient = i64_sub(quotient, uvec2(1u, 0u));
        rest = i64_add(rest, b);
    }
    return uvec4(quotient, rest);
}

uvec2 i64_floordiv(uvec2 a, uvec2 b) { return i64_floor_divide(a, b).xy; }
uvec2 i64_mod(uvec2 a, uvec2 b) { return i64_floor_divide(a, b).zw; }

// Between int32, int64 and the bits of float32. To float: nearest even.
uvec2 i64_from_i32(uint a) { return uvec2(a, uint(int(a) >> 31)); }

uint f32_from_i64(uvec2 a) {
    if (a == uvec2(0u)) return 0u;
    uvec2 size = i64_negate_if(i64_negative(a), a);
    return f32_from_scaled(a.y & F32_SIGN, normalize_scaled(Scaled(63, size)));
}

uint f32_from_i32(uint a) { return f32_from_i64(i64_from_i32(a)); }

// From float: towards zero, saturating, 0 for NaN.
uvec2 i64_from_f32(uint a) {
    uint size = a & ~F32_SIGN;
    bool negative = size != a;
    if (size > F32_INFINITY || size < F32_ONE) return uvec2(0u);
    uint exponent = (size >> 23u) - 127u;
    if (exponent > 62u) return negative ? uvec2(0u, F32_SIGN) : uvec2(~0u, ~F32_SIGN);
    uvec2 significand = uvec2(0u, (size << 8u) | F32_SIGN);
    return i64_negate_if(negative, u64_shr(significand, 63u - exponent));
}

uint i32_from_f32(uint a) {
    uvec2 wide = i64_from_f32(a);
    bool fits = i64_from_i32(wide.x) == wide;
    return fits ? wide.x : (i64_negative(wide) ? F32_SIGN : ~F32_SIGN);
}

#endif
