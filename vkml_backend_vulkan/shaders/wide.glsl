// Unsigned 64- and 128-bit integers of 32-bit words, lowest word first, and their rounding to
// float32. u64 is a uvec2, u128 a uvec4; sums and products are modulo 2^64 and 2^128.
#ifndef WIDE_GLSL
#define WIDE_GLSL

const uint F32_SIGN = 0x80000000u;
const uint F32_INFINITY = 0x7f800000u;
const uint F32_NAN = 0x7fc00000u;  // the only NaN that leaves a function
const uint F32_ONE = 0x3f800000u;

uvec2 u64_product(uint a, uint b) {
    uvec2 product;
    umulExtended(a, b, product.y, product.x);
    return product;
}

uvec2 u64_add(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 u64_sub(uvec2 a, uvec2 b) {
    uint borrow;
    uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

bool u64_less(uvec2 a, uvec2 b) {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

// -a where mask is all ones, a where it is 0.
uvec2 u64_negate_if(uint mask, uvec2 a) {
    return u64_sub(a ^ mask, uvec2(mask));
}

// Shifts by 0 <= n <= 63. (GLSL leaves a shift by 32 undefined, hence two steps.)
uvec2 u64_shl(uvec2 a, uint n) {
    if (n >= 32u) a = uvec2(0u, a.x);
    n &= 31u;
    return (a << n) | (uvec2(0u, a.x) >> 1u >> (31u - n));
}

uvec2 u64_shr(uvec2 a, uint n) {
    if (n >= 32u) a = uvec2(a.y, 0u);
    n &= 31u;
    return (a >> n) | (uvec2(a.y, 0u) << 1u << (31u - n));
}

// Leading zeros; 64 for 0.
uint u64_leading_zeros(uvec2 a) {
    return uint(a.y != 0u ? 31 - findMSB(a.y) : 63 - findMSB(a.x));
}

// a b / 2^32, rounded down, modulo 2^64.
uvec2 u64_scale(uvec2 a, uint b) {
    return u64_add(uvec2(u64_product(a.x, b).y, 0u), u64_product(a.y, b));
}

// a b / 2^64, rounded down.
uvec2 u64_mul_high(uvec2 a, uvec2 b) {
    uvec2 middle = u64_add(u64_product(a.y, b.x), uvec2(u64_product(a.x, b.x).y, 0u));
    uvec2 cross = u64_add(u64_product(a.x, b.y), uvec2(middle.x, 0u));
    uvec2 high = u64_add(u64_product(a.y, b.y), uvec2(middle.y, 0u));
    return u64_add(high, uvec2(cross.y, 0u));
}

uvec4 u128_add(uvec4 a, uvec4 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    uvec4 sum = uvec4(low, uaddCarry(a.y, carry, carry), 0u, 0u);
    uint carry_b;
    sum.y = uaddCarry(sum.y, b.y, carry_b);
    uvec2 high = u64_add(u64_add(a.zw, b.zw), uvec2(carry + carry_b, 0u));
    return uvec4(sum.xy, high);
}

// -a where mask is all ones, a where it is 0.
uvec4 u128_negate_if(uint mask, uvec4 a) {
    return u128_add(a ^ mask, uvec4(mask & 1u, 0u, 0u, 0u));
}

uvec4 u128_scale(uvec4 a, uint b) {
    uvec2 p0 = u64_product(a.x, b);
    uvec2 p1 = u64_add(u64_product(a.y, b), uvec2(p0.y, 0u));
    uvec2 p2 = u64_add(u64_product(a.z, b), uvec2(p1.y, 0u));
    return uvec4(p0.x, p1.x, p2.x, a.w * b + p2.y);
}

// Shifts by 0 <= n <= 127.
uvec4 u128_shl(uvec4 a, uint n) {
    if (n >= 64u) a = uvec4(0u, 0u, a.xy);
    if ((n & 32u) != 0u) a = uvec4(0u, a.xyz);
    n &= 31u;
    return (a << n) | (uvec4(0u, a.xyz) >> 1u >> (31u - n));
}

uvec4 u128_shr(uvec4 a, uint n) {
    if (n >= 64u) a = uvec4(a.zw, 0u, 0u);
    if ((n & 32u) != 0u) a = uvec4(a.yzw, 0u);
    n &= 31u;
    return (a >> n) | (uvec4(a.yzw, 0u) << 1u << (31u - n));
}

// The number 2^exponent m/2^63; normalized if m >= 2^63.
struct Scaled {
    int exponent;
    uvec2 m;
};

// For any m but 0.
Scaled normalize_scaled(Scaled a) {
    uint zeros = u64_leading_zeros(a.m);
    return Scaled(a.exponent - int(zeros), u64_shl(a.m, zeros));
}

// The bits of a float32 without its sign, finite and not 0, as a normalized number.
Scaled scaled_from_f32(uint bits) {
    uint field = bits >> 23u;
    uint significand = (bits & 0x7fffffu) | (field != 0u ? 0x800000u : 0u);
    return normalize_scaled(Scaled(max(int(field), 1) - 119, uvec2(0u, significand)));
}

// The float32 nearest to a normalized number, ties to even; sign is 0 or F32_SIGN.
uint f32_from_scaled(uint sign, Scaled a) {
    if (a.exponent > 127) return sign | F32_INFINITY;
    uint missing = uint(clamp(-126 - a.exponent, 0, 63));  // bits that a subnormal lacks
    uvec2 kept = u64_shr(a.m, missing);
    bool sticky = u64_shl(kept, missing) != a.m || kept.x != 0u;
    uint significand = kept.y >> 8u;
    uint rest = kept.y & 0xffu;
    bool odd = (significand & 1u) != 0u;
    if (rest > 0x80u || (rest == 0x80u && (sticky || odd))) significand += 1u;
    // The leading bit of the significand, or a carry out of it, adds to the exponent field.
    return sign | ((uint(max(a.exponent, -126) + 126) << 23u) + significand);
}

#endif
