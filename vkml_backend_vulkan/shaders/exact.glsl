// Element-wise functions that never round, on the bits of float32 and on int32, int64 and bool.
// NaN results need not be canonical: stores make them so.
bool is_nan(uint x) { return (x & 0x7fffffffu) > 0x7f800000u; }
bool is_negative(uint x) { return (x & 0x80000000u) != 0u; }
bool is_zero(uint x) { return (x & 0x7fffffffu) == 0u; }

// Order-preserving integers of the numbers: -0 < +0 here, and equal in `number`.
int ordered(uint x) { return int(is_negative(x) ? x ^ 0x7fffffffu : x); }
int number(uint x) { return is_zero(x) ? 0 : ordered(x); }

bool f32_equal(uint a, uint b) { return !is_nan(a) && !is_nan(b) && number(a) == number(b); }
bool f32_less(uint a, uint b) { return !is_nan(a) && !is_nan(b) && number(a) < number(b); }
bool f32_less_equal(uint a, uint b) { return !is_nan(a) && !is_nan(b) && number(a) <= number(b); }

uint f32_maximum(uint a, uint b)
{
    if (is_nan(a) || is_nan(b)) return 0x7fc00000u;
    return ordered(a) >= ordered(b) ? a : b;
}
uint f32_minimum(uint a, uint b)
{
    if (is_nan(a) || is_nan(b)) return 0x7fc00000u;
    return ordered(a) <= ordered(b) ? a : b;
}
uint f32_sign(uint x)
{
    return is_nan(x) || is_zero(x) ? 0u : (x & 0x80000000u) | 0x3f800000u;
}
uint f32_relu(uint x) { return is_nan(x) || !is_negative(x) ? x : 0u; }

// The bits of the significand below the integer part; the exponent must be 0 to 22.
uint fraction_mask(uint x) { return 0x7fffffu >> (((x >> 23) & 0xffu) - 127u); }
bool is_below_one(uint x) { return (x & 0x7fffffffu) < 0x3f800000u; }
bool is_whole(uint x) { return (x & 0x7fffffffu) >= 0x4b000000u; }

uint f32_trunc(uint x)
{
    if (is_whole(x)) return x;
    return x & (is_below_one(x) ? 0x80000000u : ~fraction_mask(x));
}
// Away from zero: the carry out of the significand moves into the exponent.
uint away_from_zero(uint x)
{
    if (is_whole(x) || is_zero(x)) return x;
    if (is_below_one(x)) return (x & 0x80000000u) | 0x3f800000u;
    return (x + fraction_mask(x)) & ~fraction_mask(x);
}
uint f32_floor(uint x) { return is_negative(x) ? away_from_zero(x) : f32_trunc(x); }
uint f32_ceil(uint x) { return is_negative(x) ? f32_trunc(x) : away_from_zero(x); }
uint f32_round(uint x)
{
    if (is_whole(x)) return x;
    uint magnitude = x & 0x7fffffffu;
    if (is_below_one(x)) return (x & 0x80000000u) | (magnitude > 0x3f000000u ? 0x3f800000u : 0u);
    // For 1 ≤ |x| < 2 the bit above the fraction is the exponent's lowest, which is 1 too.
    uint mask = fraction_mask(x), unit = mask + 1u;
    return (x + (mask >> 1) + ((x & unit) != 0u ? 1u : 0u)) & ~mask;
}

uint i32_sign(uint x) { return uint(sign(int(x))); }
uint i32_abs(uint x) { return is_negative(x) ? 0u - x : x; }
uint i32_relu(uint x) { return is_negative(x) ? 0u : x; }
uint i32_maximum(uint a, uint b) { return int(a) >= int(b) ? a : b; }
uint i32_minimum(uint a, uint b) { return int(a) <= int(b) ? a : b; }

uvec2 i64_sign(uvec2 x)
{
    if (is_negative(x.y)) return uvec2(0xffffffffu);
    return uvec2(x == uvec2(0u) ? 0u : 1u, 0u);
}
uvec2 i64_abs(uvec2 x) { return is_negative(x.y) ? i64_neg(x) : x; }
uvec2 i64_relu(uvec2 x) { return is_negative(x.y) ? uvec2(0u) : x; }
uvec2 i64_maximum(uvec2 a, uvec2 b) { return i64_less(a, b) ? b : a; }
uvec2 i64_minimum(uvec2 a, uvec2 b) { return i64_less(b, a) ? b : a; }
