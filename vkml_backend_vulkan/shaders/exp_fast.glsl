// The first phase of exp, exp2, sigmoid and tanh: 2^(n/32) e^r from a table of 32 powers and a
// short series, as pairs of floats, with a bound of the error. All inputs were compared with the
// second phase (exp.glsl), which takes the few whose rounding the bound leaves open.
#ifndef EXP_FAST_GLSL
#define EXP_FAST_GLSL
#include "pair.glsl"
#include "exp.glsl"
#include "exp_fast_table.glsl"

const uint EXP_END = 0x42ae0000u;  // 87; results are normal below
const uint EXP2_END = 0x42fc0000u;  // 126
const uint SIGMOID_END = 0x42400000u;  // 48: what an fma may flush is far below e^-48

const float ROUND_MAGIC = 12582912.0;  // 1.5 * 2^23: adding it rounds to an integer
const float POWER_ERROR = 1.1819828015813795e-11;  // 2^-36.3 of the result; without fma 2^-36.48 is met
const float FINER_ERROR = 2.2737367544323206e-13;  // 2^-42
const float QUOTIENT_ERROR = 9.094947017729282e-13;  // 2^-40 of itself
const float NEAR_ERROR = 6.686260203133883e-11;  // 2^-33.8 of e^r - 1
const float TANH_CENTRE = 0.02;
const uint ROWS = 32u;

// 2^(j/32) as a float, and the logarithm of what that lacks. (Invocations side by side take
// different rows: shared memory gives them at once, selections or constant memory would not.)
shared float powers[ROWS];
shared float logarithms[ROWS];

void fill_powers() {
    for (uint j = gl_LocalInvocationIndex; j < ROWS; j += gl_WorkGroupSize.x) {
        vec2 row = power_row(j);
        powers[j] = row.x;
        logarithms[j] = row.y;
    }
    barrier();
}

// 2^exponent power e^(r.h + r.l) with |r.h| < 0.011 and a power of the table.
struct Reduced { uint exponent; float power; Pair r; };

// A float's exponent field, which may be added to: the integer part of n/32 for n + ROUND_MAGIC.
uint exponent_field(float shifted) { return (floatBitsToUint(shifted) & ~(ROWS - 1u)) << 18u; }
uint row_of(float shifted) { return floatBitsToUint(shifted) & (ROWS - 1u); }

// For |x| < 128. What x and n STEP_0 differ by is a float: both are multiples of 2^-30.
Reduced reduced(float x) {
    float shifted = multiply_add(x, STEPS, ROUND_MAGIC);
    float n = shifted - ROUND_MAGIC;
    uint row = row_of(shifted);
    float high = exact_rest(x, n, STEP_0);
    float low = multiply_add(-n, STEP_1, logarithms[row]);
    return Reduced(exponent_field(shifted), powers[row], Pair(high, low));
}

// 2^x as e^(...): x - n/32 is exact.
Reduced reduced_power(float x) {
    float shifted = multiply_add(x, 32.0, ROUND_MAGIC);
    float n = shifted - ROUND_MAGIC;
    uint row = row_of(shifted);
    float rest = multiply_add(-n, 0.03125, x);
    Pair r = two_product(rest, LN2_0);
    float low = multiply_add(rest, LN2_1, r.l) + logarithms[row];
    return Reduced(exponent_field(shifted), powers[row], Pair(r.h, low));
}

// The power times e^r, without 2^exponent: with h and l for those of r,
// e^r = 1 + h + h^2/2 (1 + h/3 + h^2/12 + l) + l (1 + h), nearly.
Pair power_of(Reduced x) {
    float half_square = (0.5 * x.r.h) * x.r.h;
    float series = multiply_add(multiply_add(x.r.h, SERIES_2, SERIES_1), x.r.h, x.r.l);
    float square = multiply_add(half_square, series, half_square);
    Pair sum = product_sum(x.power, x.r.h, x.power);
    return Pair(sum.h, multiply_add(x.power, square, multiply_add(x.r.l, sum.h, sum.l)));
}

// The same with more of the terms as pairs: e^r = 1 + h + h^2/2 + h^3/6 (1 + h/4 + h^2/20) and
// l e^h, nearly.
Pair finer_power_of(Reduced x) {
    float h = x.r.h;
    Pair square = two_product(h, h);
    float series = multiply_add(multiply_add(h, 1.0 / 120.0, 1.0 / 24.0), h, 1.0 / 6.0);
    float cubic = multiply_add(square.h * h, series, 0.5 * square.l);
    Pair first = product_sum(x.power, h, x.power);
    Pair second = two_product(x.power, 0.5 * square.h);
    Pair sum = ordered_sum(first.h, second.h);
    float low = multiply_add(x.power, cubic, second.l) + first.l;
    return Pair(sum.h, sum.l + multiply_add(x.r.l, sum.h, low));
}

// e^r - 1 for a float |r| < 0.05, nearly exact.
Pair expm1_of(float r) {
    Pair z = two_product(r, r);
    float tail = multiply_add(multiply_add(r, 1.0 / 720.0, 1.0 / 120.0), r, 1.0 / 24.0);
    float cubic = (z.h * r) * multiply_add(tail, r, 1.0 / 6.0);
    Pair s = ordered_sum(r, 0.5 * z.h);
    return ordered_sum(s.h, s.l + multiply_add(0.5, z.l, cubic));
}

// a 2^n where that is normal.
float scaled(float a, uint field) { return uintBitsToFloat(floatBitsToUint(a) + field); }

bool is_exponential_decided(Reduced x, out uint bits) {
    float rounded;
    Pair power = power_of(x);
    bool decided = is_decided(power, power.h * POWER_ERROR, rounded);
    bits = floatBitsToUint(scaled(rounded, x.exponent));
    return decided;
}

Pair scaled_power(Reduced x) {
    Pair power = power_of(x);
    power = ordered_sum(power.h, power.l);
    return Pair(scaled(power.h, x.exponent), power.l * scaled(1.0, x.exponent));
}

// e^-a and 1 + e^-a give both branches of the sigmoid, for |x| < 48.
bool is_sigmoid_decided(float x, out uint bits) {
    Pair p = scaled_power(reduced(x < 0.0 ? x : -x));
    Pair d = ordered_sum(1.0, p.h);
    Pair n = x < 0.0 ? p : Pair(1.0, 0.0);
    Pair q = quotient(n, Pair(d.h, d.l + p.l));
    float rounded;
    bool decided = is_decided(q, q.h * (1.25 * POWER_ERROR), rounded);
    bits = floatBitsToUint(rounded);
    return decided;
}

// (e^2a - 1)/((e^2a - 1) + 2) for 2^-12 <= a < 16.
bool is_tanh_decided(float a, out uint bits) {
    bool central = a < TANH_CENTRE;
    Pair s = expm1_of(2.0 * a);
    Pair d = ordered_sum(2.0, s.h);
    d.l += s.l;
    if (!central) {
        Pair power = scaled_power(reduced(2.0 * a));
        s = ordered_sum(power.h, -1.0);
        s = ordered_sum(s.h, s.l + power.l);
        d = ordered_sum(power.h, 1.0);
        d.l += power.l;
    }
    Pair q = quotient(s, d);
    // The derivative of q = s/(s + 2) is (1 - q)^2/2, with s = 2q/(1 - q), s + 1 = (1 + q)/(1 - q).
    float bound = central ? q.h * NEAR_ERROR
                          : (0.5625 * POWER_ERROR) * (1.0 - q.h * q.h) + QUOTIENT_ERROR;
    float rounded;
    bool decided = is_decided(q, bound, rounded);
    bits = floatBitsToUint(rounded);
    return decided;
}

bool is_below(uint x, uint end) { return (x & ~F32_SIGN) < end; }

// The first phases: whether they decide, and then the result.
bool first_exp(uint x, out uint bits) {
    bool decided = is_exponential_decided(reduced(uintBitsToFloat(x)), bits);
    return both(decided, is_below(x, EXP_END));
}

// What the first phase leaves open, once in thousands: seldom for the integers.
uint second_exp(uint x) {
    float rounded;
    Reduced r = reduced(uintBitsToFloat(x));
    Pair power = finer_power_of(r);
    bool decided = is_decided(power, power.h * FINER_ERROR, rounded);
    if (both(decided, is_below(x, EXP_END))) return floatBitsToUint(scaled(rounded, r.exponent));
    return f_exp(x);
}

bool first_exp2(uint x, out uint bits) {
    bool decided = is_exponential_decided(reduced_power(uintBitsToFloat(x)), bits);
    return both(decided, is_below(x, EXP2_END));
}

bool first_sigmoid(uint x, out uint bits) {
    bool decided = is_sigmoid_decided(uintBitsToFloat(x), bits);
    return both(decided, is_below(x, SIGMOID_END));
}

bool first_tanh(uint x, out uint bits) {
    bool decided = is_tanh_decided(uintBitsToFloat(x & ~F32_SIGN), bits);
    bits |= x & F32_SIGN;
    return both(decided, (x & ~F32_SIGN) - TANH_TINY < TANH_HUGE - TANH_TINY);
}

#endif
