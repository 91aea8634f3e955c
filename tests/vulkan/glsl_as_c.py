"""Float functions of the shaders compiled as C++: all inputs in minutes, with an fma that is one.

`python tests/vulkan/glsl_as_c.py [STEP]` takes every STEP-th input, by default every one, and
prints for each function how near the largest error comes to the bound that it is decided with.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SHADERS: Final = Path(__file__).parents[2] / "vkml_backend_vulkan" / "shaders"
FUSES: Final = 2
_PRELUDE: Final = """
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
typedef uint32_t uint;
static inline uint floatBitsToUint(float f) { uint u; memcpy(&u, &f, 4); return u; }
static inline float uintBitsToFloat(uint u) { float f; memcpy(&f, &u, 4); return f; }
static inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
struct vec2 { float x, y; };
struct vec3 { float x, y, z; };
struct bvec2 { bool b, c; explicit bvec2(bool v, bool w = false) : b(v), c(w) {} };
struct bvec3 { bool b; explicit bvec3(bool v) : b(v) {} };
static inline bool all(bvec2 v) { return v.b && v.c; }
static inline bool any(bvec2 v) { return v.b || v.c; }
static inline vec2 mix(vec2 a, vec2 b, bvec2 c) { return c.b ? b : a; }
static inline vec3 mix(vec3 a, vec3 b, bvec3 c) { return c.b ? b : a; }
static struct { uint x; } gl_WorkGroupSize = {1};
static uint gl_LocalInvocationIndex = 0;
static void barrier() {}
const uint F32_SIGN = 0x80000000u, F32_INFINITY = 0x7f800000u, F32_ONE = 0x3f800000u;
const uint TANH_TINY = 0x39800000u, TANH_HUGE = 0x41800000u;
// Instead of the integers.
const uint OPEN = 0xffffffffu;
static uint f_exp(uint) { return OPEN; }
const uint LOG1P_TINY = 0x32800000u, LOG1P_FAR = 0x5f000000u;
"""
_MAIN: Final = """
// The bits that a function decides, over every STEP-th input from `first` on, and a reference that
// is right to 2^-50. Errors are compared with the bound that is_decided was told last; the square
// root asks for no such decision.
static float told_h, told_l, told_error;
template <class Decide, class Reference>
void scan(const char *name, uint first, uint end, bool both, Decide decide, Reference exact) {
    double worst = 0;
    unsigned long open = 0, all = 0, wrong = 0;
    for (int s = 0; s < (both ? 2 : 1); s++) {
        for (uint64_t u = first; u < end; u += STEP) {
            uint x = uint(u) | (s ? F32_SIGN : 0u), bits = 0;
            bool decided = decide(x, bits);
            double want = exact(uintBitsToFloat(x));
            // What is decided may lack a power of two.
            double power = told_error ? ldexp(1.0, ilogb(1.25 * want / told_h)) : 1;
            double error = fabs((told_h - want / power) + told_l) / told_error;
            if (!told_error) error = 0;
            if (!(error <= worst)) worst = error;
            all++;
            open += !decided;
            wrong += decided && bits != floatBitsToUint(float(want));
        }
    }
    printf("%s %.9g %lu %lu %lu\\n", name, worst, all, open, wrong);
}
static double sigmoid(float x) {
    double p = exp(-fabs(double(x)));
    return x < 0 ? p / (1 + p) : 1 / (1 + p);
}
// Quotients as near to a midpoint of two floats as they can be, by one unit of the last place of
// the dividend times a power of two, for every STEP-th odd divisor from the largest one down.
// `worst` is the inverse's error in units of its last place.
static void scan_quotients() {
    double worst = 0;
    unsigned long all = 0, open = 0, wrong = 0;
    for (int i = (1 << 22) - 1; i >= 0; i -= STEP) {
        uint d = (1u << 23) + 2 * i + 1, of_power = 1;
        double inverse = inverse_of(float(d)), unit = ldexp(1.0, -47);
        worst = fmax(worst, fabs(inverse - 1.0 / d) / unit);
        for (int k = 1; k <= 25; k++) {  // 1/2^k modulo d
            of_power = (of_power & 1u ? of_power + d : of_power) / 2;
            uint tried[] = {of_power, of_power + d, d - of_power, 2 * d - of_power};
            for (uint n : tried) {
                if (k < 24 || n < 1u << 23 || n >= 1u << 24) continue;
                for (int corner = 0; corner < 4; corner++) {  // of what the ranges are
                    float a = ldexp(float(n), corner & 1 ? 56 : -101);
                    float b = ldexp(float(d), corner & 2 ? 23 : -63);
                    uint bits = 0;
                    bool decided = quotient_of(floatBitsToUint(a), floatBitsToUint(b), bits);
                    all++;
                    open += !decided;
                    wrong += decided && bits != floatBitsToUint(a / b);
                }
            }
        }
    }
    printf("div %.9g %lu %lu %lu\\n", worst, all, open, wrong);
}
int main() {
    fill_powers();
    scan("exp", 0, EXP_END, true, first_exp, [](float x) { return exp(double(x)); });
    auto finer = [](uint x, uint &bits) { bits = second_exp(x); return bits != OPEN; };
    scan("exp_finer", 0, EXP_END, true, finer, [](float x) { return exp(double(x)); });
    scan("exp2", 0, EXP2_END, true, first_exp2, [](float x) { return exp2(double(x)); });
    scan("sigmoid", 0, SIGMOID_END, true, first_sigmoid, sigmoid);
    scan("tanh", TANH_TINY, TANH_HUGE, false, first_tanh, [](float x) { return tanh(double(x)); });
    fill_logarithms();
    unsigned long open = 0, after = 4096;
    for (uint x = 1, bits; x <= after; x++) open += !first_log(F32_ONE + x, bits);
    printf("log_after_1 0 %lu %lu 0\\n", after, open);
    auto positive = [](const char *name, auto decide, double (*exact)(double)) {
        scan(name, LOG_NORMAL, F32_INFINITY, false, decide, exact);
    };
    positive("log", first_log, log);
    positive("log2", first_log2, log2);
    positive("log10", first_log10, log10);
    auto above = [](float x) { return log1p(double(x)); };
    auto below = [](float x) { return log1p(-double(x)); };
    auto negative = [](uint x, uint &bits) { return first_log1p(x | F32_SIGN, bits); };
    scan("log1p", LOG1P_TINY, LOG1P_FAR, false, first_log1p, above);
    scan("log1p_below", LOG1P_TINY, F32_ONE, false, negative, below);
    if (HARDWARE & FUSES) {
        auto root = [](float x) { return sqrt(double(x)); };
        auto inverse = [](float x) { return 1 / sqrt(double(x)); };
        told_error = 0;
        scan("sqrt", 0x800000u, F32_INFINITY, false, first_sqrt, root);
        scan_quotients();
        auto one_over = [](float x) { return 1 / double(x); };
        auto reciprocal = [](uint x, uint &bits) { return quotient_of(F32_ONE, x, bits); };
        scan("reciprocal", 0x2b800000u, 0x57000000u, true, reciprocal, one_over);
        scan("rsqrt", 0x800000u, F32_INFINITY, false, first_rsqrt, inverse);
    }
}
"""


@dataclass(frozen=True)
class Found:
    """What was found out about one function."""

    worst: float
    """The largest error, in parts of the bound."""
    inputs: int
    open: int
    """Inputs whose rounding the bound leaves open."""
    wrong: int
    """Decided inputs with other bits than the nearest float."""


def _translated(name: str) -> str:
    """Make C++ of a shader file: output parameters become references, literals floats."""
    text = re.sub(r"^#(extension|include).*$", "", (SHADERS / name).read_text(), flags=re.M)
    text = re.sub(r"layout\(constant_id = 1\)(.*) = 0u;", r"\1 = BITS;", text)
    text = re.sub(r"\bout (float|uint) (\w+)", r"\1 &\2", text)
    text = re.sub(r"\bshared\b", "static", text).replace("fma(", "fused(")
    return re.sub(r"(?<![\w.])(\d+\.\d+(e-?\d+)?)(?![\w.])", r"\1f", text)


def _quotients_and_roots() -> str:
    text = _translated("arith.glsl")
    between = (
        ("// Divisors from 2^-40", "// (NVIDIA's driver flushes"),
        ("// A positive normal", "// m 2^23 = q^2 + r with 0"),
    )
    return "".join(text[text.index(first) : text.index(end)] for first, end in between)


def source() -> str:
    """Give the program."""
    pair = _translated("pair.glsl")
    told = "bool is_decided(Pair x, float error, float &rounded) {"
    assert told in pair
    pair = pair.replace(told, told + "\n    told_h = x.h, told_l = x.l, told_error = error;")
    main = _MAIN.replace("static float told_h, told_l, told_error;\n", "")
    declared = "static float told_h, told_l, told_error;\n"
    names = (f"{name}_fast{part}.glsl" for name in ("exp", "log") for part in ("_table", ""))
    parts = (_translated("hardware.glsl"), pair, *map(_translated, names), _quotients_and_roots())
    return "".join((_PRELUDE, declared, *parts, main))


def run(hardware: int, step: int) -> dict[str, Found]:
    """Compile it and take every step-th input of each function."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "first.cpp"
        path.write_text(source())
        flags = ["-std=c++20", "-O2", "-mfma", "-ffp-contract=off"]
        defined = [f"-DBITS={hardware}u", f"-DSTEP={step}"]
        program = path.with_suffix("")
        subprocess.run(["g++", *flags, *defined, "-o", program, path], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in lines.splitlines())
    return {name: Found(float(worst), *map(int, n)) for name, worst, *n in rows}


if __name__ == "__main__":
    for bits in (FUSES, 0):
        for name, found in run(bits, int(sys.argv[1]) if len(sys.argv) > 1 else 1).items():
            print(f"hardware {bits}: {name}: {found}", flush=True)
