// Integer powers by repeated squaring, wrapping; 1/aⁿ truncated for an exponent −n (rule 10).
// The caller has excluded 0 to a negative power.
uint i32_power(uint a, uint b)
{
    if (is_negative(b)) return a == 1u || a == 0xffffffffu ? ((b & 1u) == 0u ? 1u : a) : 0u;
    uint power = 1u;
    for (uint rest = b; rest != 0u; rest >>= 1) {
        if ((rest & 1u) != 0u) power *= a;
        a *= a;
    }
    return power;
}
uvec2 i64_power(uvec2 a, uvec2 b)
{
    const uvec2 one = uvec2(1u, 0u);
    if (is_negative(b.y)) {
        bool unit = a == one || a == uvec2(0xffffffffu);
        return unit ? ((b.x & 1u) == 0u ? one : a) : uvec2(0u);
    }
    uvec2 power = one;
    for (uvec2 rest = b; rest != uvec2(0u); rest = u64_shr(rest, 1u)) {
        if ((rest.x & 1u) != 0u) power = i64_mul(power, a);
        a = i64_mul(a, a);
    }
    return power;
}
