// 2^F for a fraction F, in fixed point: step 6 of docs/pow.md.
#ifndef EXP2_GLSL
#define EXP2_GLSL
#include "wide.glsl"
#include "exp2_table.glsl"

// 2^(f/2^64) as a Q62 in [2^62, 2^63), rounded down; relative error below 2^-60.
uvec2 exp2_fraction(uvec2 f) {
    uvec2 root = exp2_root(f.y >> 25u);
    f.y &= 0x1ffffffu;
    uvec2 series = EXP2_SERIES[6];
    for (int k = 5; k >= 0; --k) series = u64_add(EXP2_SERIES[k], u64_mul_high(f, series));
    uvec2 growth = u64_mul_high(root, u64_mul_high(f, series));
    return u64_shr(u64_add(root, growth), 1u);
}

#endif
