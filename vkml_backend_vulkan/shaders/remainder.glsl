// Remainder and floored quotient: exact for floats before the one written rounding (rule 14).

// a mod b of two positive finite numbers, b not 0: the significand of a is reduced modulo that of
// b, shifted up by eight bits at a time until both exponents are equal.
uint mod_of_magnitudes(uint a, uint b)
{
    if (a < b) return a;
    uint exponent_a = max(a >> 23, 1u), exponent_b = max(b >> 23, 1u);
    uint rest = (a & 0x7fffffu) | (a >= 0x00800000u ? 0x00800000u : 0u);
    uint modulus = (b & 0x7fffffu) | (b >= 0x00800000u ? 0x00800000u : 0u);
    rest %= modulus;
    for (uint left = exponent_a - exponent_b; left > 0u && rest != 0u;) {
        uint shift = min(left, 8u);
        rest = (rest << shift) % modulus;
        left -= shift;
    }
    if (rest == 0u) return 0u;
    uint shift = min(23u - uint(findMSB(rest)), exponent_b - 1u);
    rest <<= shift;
    return rest < 0x00800000u ? rest : rest + ((exponent_b - shift - 1u) << 23);
}

// C's fmod: the remainder of truncated division, with the sign of a.
uint f32_fmod(uint a, uint b)
{
    uint x = a & 0x7fffffffu, y = b & 0x7fffffffu;
    if (is_nan(b) || x >= 0x7f800000u || y == 0u) return 0x7fc00000u;
    return y == 0x7f800000u ? a : (a & 0x80000000u) | mod_of_magnitudes(x, y);
}

bool sign_is_wrong(uint r, uint b) { return !is_zero(r) && is_negative(r) != is_negative(b); }

uint f32_remainder(uint a, uint b)
{
    uint r = f32_fmod(a, b);
    return sign_is_wrong(r, b) ? f_add(r, b) : r;
}

uint f32_floor_divide(uint a, uint b)
{
    uint ratio = f_div(a, b);
    if (is_zero(b)) return ratio;
    uint r = f32_fmod(a, b);
    uint q = f_div(f_sub(a, r), b);
    if (sign_is_wrong(r, b)) q = f_sub(q, 0x3f800000u);
    if (is_zero(q)) return ratio & 0x80000000u;
    uint down = f32_floor(q);
    return f32_less(0x3f000000u, f_sub(q, down)) ? f_add(down, 0x3f800000u) : down;
}

uint i32_floor_divide(uint a, uint b)
{
    uint x = i32_abs(a), y = i32_abs(b);
    uint q = x / y;
    return is_negative(a ^ b) ? 0u - (q + (q * y == x ? 0u : 1u)) : q;
}
uint i32_remainder(uint a, uint b) { return a - i32_floor_divide(a, b) * b; }
