// float16, a storage format, to and from the bits of float32.
#ifndef HALF_GLSL
#define HALF_GLSL
// Widening is exact: normals move the exponent, a subnormal is shifted up to its leading bit.
uint f32_from_f16(uint half_bits)
{
    uint sign = (half_bits & 0x8000u) << 16;
    uint magnitude = half_bits & 0x7fffu;
    if (magnitude > 0x7c00u) return 0x7fc00000u;
    if (magnitude == 0x7c00u) return sign | 0x7f800000u;
    if (magnitude >= 0x0400u) return sign | ((magnitude << 13) + (112u << 23));
    if (magnitude == 0u) return sign;
    uint top = uint(findMSB(magnitude));
    return sign | ((top + 103u) << 23) | ((magnitude << (23u - top)) & 0x7fffffu);
}

// Narrowing rounds to nearest even; the carry of the significand moves into the exponent.
uint f16_from_f32(uint x)
{
    uint sign = (x >> 16) & 0x8000u;
    uint magnitude = x & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7e00u;
    if (magnitude >= 0x477ff000u /* 65520 */) return sign | 0x7c00u;
    uint exponent = magnitude >> 23;
    if (exponent < 102u) return sign;
    bool normal = exponent >= 113u;
    uint dropped = normal ? 13u : 126u - exponent;
    uint kept = normal ? magnitude - (112u << 23) : (magnitude & 0x7fffffu) | 0x800000u;
    uint tie = (1u << (dropped - 1u)) - 1u + ((kept >> dropped) & 1u);
    return sign | ((kept + tie) >> dropped);
}
#endif
