// The first phase of exp, exp2, sigmoid and tanh: 2^(n/8) e^r from a table of eight powers and a
// short series, as pairs of floats, with a bound of the error. All inputs were compared with the
// second phase (exp.glsl), which takes the few whose rounding the bound leaves open.
#ifndef EXP_FAST_GLSL
#define EXP_FAST_GLSL
#include "pair.glsl"
#include "exp.glsl"
#include "exp_fast_table.glsl"

const uint EXP_END = 0x42ae0000u;  // 87; results are normal below
const uint EXP2_END = 0x42fc0000u;  // 126
const uint SIGMOID_END = 0x42800000u;  // 64

const float ROUND_MAGIC = 12582912.0;  // 1.5 * 2^23: adding it rounds to an integer
const float POWER_ERROR = 5.820766091346741e-12;  // 2^-37.3 of the result
const float QUOTIENT_ERROR = 9.094947017729282e-13;  // 2^-40 of itself
const float NEAR_ERROR = 1.1641532182693481e-10;  // 2^-33 of e^r - 1

// 2^(j/8) as the sum of three floats, the first of 12 bits. (Invocations side by side take
// different rows: shared memory gives them at once, selections or constant memory would not.)
shared vec4 powers[8];

void fill_powers() {
    for (uint j = gl_LocalInvocationIndex; j < 8u; j += gl_WorkGroupSize.x) {
        powers[j] = vec4(
            power_row(bvec3((j & 1u) != 0u), bvec3((j & 2u) != 0u), bvec3((j & 4u) != 0u)), 0.0);
    }
    barrier();
}

// e^(steps ln 2/8 + r.h + r.l) with |r.h| < 0.0434.
struct Reduced { int steps; Pair r; };

int steps_of(float shifted) {
    return int(floatBitsToUint(shifted) - floatBitsToUint(ROUND_MAGIC));
}

// For |x| < 128. The first two products are exact, and so is the first difference.
Reduced reduced(float x) {
    float shifted = x * STEPS + ROUND_MAGIC;
    float n = shifted - ROUND_MAGIC;
    float first = x - n * STEP_0;
    float second = n * STEP_1;
    Pair r = two_sum(first, -second);
    float low = r.l - n * STEP_2;
    return Reduced(steps_of(shifted), Pair(r.h, low));
}

// 2^x as e^(...): x - n/8 is exact.
Reduced reduced_power(float x) {
    float shifted = x * 8.0 + ROUND_MAGIC;
    float n = shifted - ROUND_MAGIC;
    float rest = x - n * 0.125;
    Pair r = two_product(rest, LN2_0);
    float low = r.l + rest * LN2_1;
    return Reduced(steps_of(shifted), Pair(r.h, low));
}

// e^r - 1 = r + r^2/2 + r^3/6 + ...
Pair expm1_of(Pair r) {
    Pair z = square(r.h);
    float tail = (1.0 / 24.0) + r.h * ((1.0 / 120.0) + r.h * (1.0 / 720.0));
    float cubic = ((z.h + z.l) * r.h) * ((1.0 / 6.0) + r.h * tail);
    float half_square = 0.5 * z.h;
    Pair s = ordered_sum(r.h, half_square);
    float low = s.l + (0.5 * z.l + (r.l + (s.h * r.l + cubic)));
    return ordered_sum(s.h, low);
}

// 2^(j/8) (1 + s) for j = steps mod 8; products of the first float of a row with halves are exact.
Pair power_of(int steps, Pair s) {
    vec4 row = powers[steps & 7];
    Pair x = halves(s.h);
    Pair sum = ordered_sum(row.x, row.x * x.h);
    Pair low = two_sum(row.y, row.x * x.l + (row.y * s.h + (row.x * s.l + sum.l)));
    Pair power = ordered_sum(sum.h, low.h);
    return Pair(power.h, power.l + (low.l + row.z));
}

// a 2^exponent where that is normal.
float scaled(float a, int exponent) {
    return uintBitsToFloat(floatBitsToUint(a) + (uint(exponent) << 23u));
}

bool is_exponential_decided(Reduced x, out uint bits) {
    Pair power = power_of(x.steps, expm1_of(x.r));
    float rounded;
    float error = power.h * POWER_ERROR;
    bool decided = is_decided(power, error, rounded);
    bits = floatBitsToUint(scaled(rounded, x.steps >> 3));
    return decided;
}

// e^-a and 1 + e^-a give both branches of the sigmoid, for 2^-12 <= |x| < 64.
bool is_sigmoid_decided(float x, out uint bits) {
    Reduced t = reduced(x < 0.0 ? x : -x);
    Pair power = power_of(t.steps, expm1_of(t.r));
    Pair p = Pair(scaled(power.h, t.steps >> 3), power.l * scaled(1.0, t.steps >> 3));
    Pair d = ordered_sum(1.0, p.h);
    float low = d.l + p.l;
    Pair n = x < 0.0 ? p : Pair(1.0, 0.0);
    Pair q = quotient(n, Pair(d.h, low));
    float rounded;
    float error = q.h * (1.25 * POWER_ERROR);
    bool decided = is_decided(q, error, rounded);
    bits = floatBitsToUint(rounded);
    return decided;
}

// (e^2a - 1)/((e^2a - 1) + 2) for 2^-12 <= a < 16.
bool is_tanh_decided(float a, out uint bits) {
    Reduced t = reduced(2.0 * a);
    Pair s = expm1_of(t.r);
    Pair d = ordered_sum(2.0, s.h);
    d.l += s.l;
    if (t.steps != 0) {
        Pair power = power_of(t.steps, s);
        float high = scaled(power.h, t.steps >> 3);
        float low = power.l * scaled(1.0, t.steps >> 3);
        s = ordered_sum(high, -1.0);
        s = ordered_sum(s.h, s.l + low);
        d = ordered_sum(high, 1.0);
        d.l += low;
    }
    Pair q = quotient(s, d);
    // The derivative of q = s/(s + 2) is (1 - q)^2/2, with s = 2q/(1 - q), s + 1 = (1 + q)/(1 - q).
    float bound = t.steps == 0 ? q.h * NEAR_ERROR
                               : (0.5625 * POWER_ERROR) * (1.0 - q.h * q.h) + QUOTIENT_ERROR;
    float rounded;
    bool decided = is_decided(q, bound, rounded);
    bits = floatBitsToUint(rounded);
    return decided;
}

bool is_size_in(uint x, uint first, uint end) {
    uint size = x & ~F32_SIGN;
    return size >= first && size < end;
}

// The first phases: whether they decide, and then the result.
bool first_exp(uint x, out uint bits) {
    bool decided = is_exponential_decided(reduced(uintBitsToFloat(x)), bits);
    return decided && is_size_in(x, EXP_TINY, EXP_END);
}

bool first_exp2(uint x, out uint bits) {
    bool decided = is_exponential_decided(reduced_power(uintBitsToFloat(x)), bits);
    return decided && is_size_in(x, EXP_TINY, EXP2_END);
}

bool first_sigmoid(uint x, out uint bits) {
    bool decided = is_sigmoid_decided(uintBitsToFloat(x), bits);
    return decided && is_size_in(x, SIGMOID_NEAR, SIGMOID_END);
}

bool first_tanh(uint x, out uint bits) {
    bool decided = is_tanh_decided(uintBitsToFloat(x & ~F32_SIGN), bits);
    bits |= x & F32_SIGN;
    return decided && is_size_in(x, TANH_TINY, TANH_HUGE);
}

#endif
