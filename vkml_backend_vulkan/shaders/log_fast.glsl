// The first phase of log, log2, log10 and log1p: ln x = e ln 2 - ln c + ln(c m) for x = 2^e m, with
// c near 1/m from a table of 32 and a short series, as pairs of floats, with a bound of the error.
// All inputs were compared with the second phase (log.glsl), which takes the few whose rounding the
// bound leaves open, and what is no positive normal number.
//
// Next to 1 nothing cancels: that row has c = 1, so the result is the series alone. No term is so
// small that an fma might flush it, as NVIDIA's does with subnormals: 1 - c m is 0 or at least
// 2^-30, the x of log1p at least 2^-26. So what a product lacks is 0 or at least 2^-99, and parts of
// the bound that count are above 2^-82.
#ifndef LOG_FAST_GLSL
#define LOG_FAST_GLSL
#include "pair.glsl"
#include "log.glsl"
#include "log_fast_table.glsl"

const uint LOG_NORMAL = 0x800000u;  // 2^-126
const uint LOG_ROWS = 32u;
const uint LOG_INTEGER = 0x4b400000u;  // 1.5 * 2^23: added to an integer's bits it gives a float
const float LOG1P_CENTRE = 0.0078125;  // 2^-7

// Parts of the error: of d^2 (what d^3 leaves), of the low part of e ln 2 - ln c, of the high part,
// and of the result. (Next to 1 that is all: logarithms there come near to ties, as that of
// 1 + 6 units does, and are what a sum of exponentials often has.)
const float LOG_SERIES_ERROR = 2.4e-9;
const float LOG_LOW_ERROR = 1.75e-7;
const float LOG_HIGH_ERROR = 3.0e-13;
const float LOG_ERROR = 2.842170943040401e-14;  // 2^-45
// What the error grows by where a constant multiplies the logarithm, and where 1 + x has two parts.
const float LOG_FACTOR_GROWTH = 1.6;
const float LOG1P_GROWTH = 1.3;

// 1/m roughly, and the two parts of its -ln. (Invocations side by side take different rows.)
shared float inverses[LOG_ROWS];
shared float high_logarithms[LOG_ROWS];
shared float low_logarithms[LOG_ROWS];

void fill_logarithms() {
    for (uint j = gl_LocalInvocationIndex; j < LOG_ROWS; j += gl_WorkGroupSize.x) {
        vec3 row = logarithm_row(j);
        inverses[j] = row.x;
        high_logarithms[j] = row.y;
        low_logarithms[j] = row.z;
    }
    barrier();
}

// ln x = h + l + ln(1 - d). An h other than 0 is larger than d.
struct LogTerms { float d, h, l; };
struct Bounded { Pair value; float error; };

// The row and e of a positive normal float, from the distance of its bits to the first row's.
uint log_row(uint distance) { return (distance >> 18u) & (LOG_ROWS - 1u); }
float log_exponent(uint distance) {
    return uintBitsToFloat(LOG_INTEGER + uint(int(distance) >> 23)) - 12582912.0;
}

// 1 - c m is a float. So is e times the high part of ln 2, plus that of a row: these are multiples
// of 2^-17, and the sum is below 2^7.
LogTerms log_terms(uint x) {
    uint distance = x - LOG_FIRST, row = log_row(distance);
    float e = log_exponent(distance);
    float m = uintBitsToFloat(x - (distance & 0xff800000u));
    float d = exact_rest(1.0, m, inverses[row]);
    float h = multiply_add(e, LOG_STEP_0, high_logarithms[row]);
    return LogTerms(d, h, multiply_add(e, LOG_STEP_1, low_logarithms[row]));
}

float magnitude(float x) { return uintBitsToFloat(floatBitsToUint(x) & ~F32_SIGN); }

// h + l - d - d^2/2 - d^3/3 - ...
Bounded log_sum(LogTerms x) {
    Pair first = ordered_sum(x.h, -x.d);
    Pair second = product_sum(-0.5 * x.d, x.d, first.h);
    float square = x.d * x.d;
    float series = multiply_add(LOG_SERIES_3, x.d, LOG_SERIES_2);
    series = multiply_add(multiply_add(series, x.d, LOG_SERIES_1), x.d, LOG_SERIES_0);
    float low = multiply_add(-square * x.d, series, second.l + (first.l + x.l));
    float error = multiply_add(magnitude(x.l), LOG_LOW_ERROR, square * LOG_SERIES_ERROR);
    error = multiply_add(magnitude(x.h), LOG_HIGH_ERROR, error);
    error = multiply_add(magnitude(second.h), LOG_ERROR, error);
    return Bounded(Pair(second.h, low), error);
}

// A logarithm times a constant of two parts.
Bounded log_scaled(Bounded x, Pair factor) {
    Pair p = two_product(x.value.h, factor.h);
    p.l = multiply_add(x.value.h, factor.l, multiply_add(x.value.l, factor.h, p.l));
    return Bounded(p, x.error * (LOG_FACTOR_GROWTH * factor.h));
}

// 1 + x is exact in two parts, h and l: ln h + l/h, where l/h is c l 2^-e/(1 - d). A small x is
// the -d of ln(1 - d) itself.
LogTerms log1p_terms(float x) {
    Pair sum = two_sum(1.0, x);
    uint bits = floatBitsToUint(sum.h), distance = bits - LOG_FIRST;
    LogTerms terms = log_terms(bits);
    float power = uintBitsToFloat(F32_ONE - (distance & 0xff800000u));
    float rest = (sum.l * power) * inverses[log_row(distance)];
    float growth = multiply_add(multiply_add(terms.d, terms.d, terms.d), terms.d, terms.d);
    terms.l += multiply_add(rest, growth, rest);
    return magnitude(x) < LOG1P_CENTRE ? LogTerms(-x, 0.0, 0.0) : terms;
}

bool is_log_decided(Bounded x, out uint bits) {
    float rounded;
    bool decided = is_decided(x.value, x.error, rounded);
    bits = floatBitsToUint(rounded);
    return decided;
}

bool is_log_normal(uint x) { return x - LOG_NORMAL < F32_INFINITY - LOG_NORMAL; }

// The first phases: whether they decide, and then the result.
bool first_log(uint x, out uint bits) {
    return both(is_log_decided(log_sum(log_terms(x)), bits), is_log_normal(x));
}

bool first_log2(uint x, out uint bits) {
    Bounded log = log_scaled(log_sum(log_terms(x)), Pair(BINARY_0, BINARY_1));
    return both(is_log_decided(log, bits), is_log_normal(x));
}

bool first_log10(uint x, out uint bits) {
    Bounded log = log_scaled(log_sum(log_terms(x)), Pair(DECIMAL_0, DECIMAL_1));
    return both(is_log_decided(log, bits), is_log_normal(x));
}

// For x > -1 below 2^63. A tiny x is the result.
bool first_log1p(uint x, out uint bits) {
    uint size = x & ~F32_SIGN;
    Bounded log = log_sum(log1p_terms(uintBitsToFloat(x)));
    log.error *= LOG1P_GROWTH;
    bool decided = is_log_decided(log, bits), tiny = size < LOG1P_TINY;
    bits = tiny ? x : bits;
    decided = any(bvec2(decided, tiny));
    return both(decided, size < (x == size ? LOG1P_FAR : F32_ONE));
}

#endif
