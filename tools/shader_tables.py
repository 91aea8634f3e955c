"""Generate the tables of the shaders' fixed-point functions (needs mpmath).

    python tools/shader_tables.py

writes exp2_table.glsl, pow_table.glsl, trig_table.glsl and erf_table.glsl into
vkml_backend_vulkan/shaders. Qn means n fractional bits. The tables of pow are those of
docs/pow.md; no entry of any table lies so near a rounding boundary that 300 bits leave it open.

A table that is indexed at run time becomes a function, a binary tree of selections: drivers
disagree about constant arrays, and lavapipe takes many seconds to compile one of 128 entries.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import mpmath
from mpmath import mpf

SHADERS = Path(__file__).parents[1] / "vkml_backend_vulkan" / "shaders"
BITS = 300
SIN_TERMS, COS_TERMS, ERF_TERMS, ERFC_TERMS = 8, 9, 17, 19
ERFC_FIRST, ERFC_ROWS = 2 * 126 + 1, 8  # rows begin at 3/4 and have one bit of significand
FIRST_CENTRE, LAST_CENTRE = 90, 181


def floor(x: mpf, fraction_bits: int) -> int:
    """The argument in units of 2^-fraction_bits, rounded down."""
    return int(mpmath.floor(mpmath.ldexp(x, fraction_bits)))


def nearest(x: mpf, fraction_bits: int) -> int:
    """The same, rounded to the nearest."""
    return int(mpmath.nint(mpmath.ldexp(x, fraction_bits)))


def words(value: int, count: int) -> str:
    """The ``count`` lowest 32-bit words of a two's complement number, lowest first."""
    return ", ".join(f"{value >> 32 * i & 0xFFFFFFFF:#010x}u" for i in range(count))


def vector(value: int, count: int) -> str:
    """A GLSL constant of ``count`` words."""
    return f"uvec{count}({words(value, count)})"


def array(name: str, values: Iterable[int]) -> str:
    """The declaration of a constant array of 64-bit numbers."""
    rows = [vector(value, 2) for value in values]
    return f"const uvec2 {name}[{len(rows)}] = uvec2[](\n    " + ",\n    ".join(rows) + ");\n"


def tree(rows: list[str], depth: int) -> str:
    """Nested selections of one of up to 2^depth rows by the bits b0, b1, ... of its index."""
    if len(rows) == 1:
        return rows[0]
    half = 1 << (depth - 1)
    if len(rows) <= half:
        return tree(rows, depth - 1)
    low, high = tree(rows[:half], depth - 1), tree(rows[half:], depth - 1)
    return f"mix({low},\n    {high}, b{depth - 1})"


def function(name: str, count: int, values: Iterable[int]) -> str:
    """A GLSL function from an index to the ``count`` words of a value."""
    rows = [vector(value, count) for value in values]
    depth = (len(rows) - 1).bit_length()
    kind = f"bvec{count}"
    bits = "".join(f"    {kind} b{i} = {kind}((i & {1 << i}u) != 0u);\n" for i in range(depth))
    return f"uvec{count} {name}(uint i) {{\n{bits}    return {tree(rows, depth)};\n}}\n"


def exp2_table() -> str:
    """R as the function exp2_root and B as EXP2_SERIES."""
    roots = (floor(mpmath.power(2, mpf(j) / 128), 63) for j in range(128))
    series = (floor(mpmath.log(2) ** k / mpmath.factorial(k), 64) for k in range(1, 8))
    return function("exp2_root", 2, roots) + array("EXP2_SERIES", series)


def minus_log2_centre(i: int) -> int:
    """T[i], which has 96 bits with its sign."""
    c = 256 if i in (127, 128) else nearest(mpf(65536) / (2 * i + 1), 0)
    return nearest(-mpmath.log(mpf(c) / 256, 2), 95)


def pow_table() -> str:
    """T as the function pow_minus_log2_centre of i - POW_FIRST_ROW and A as POW_LOG_SERIES."""
    centres = map(minus_log2_centre, range(FIRST_CENTRE, LAST_CENTRE + 1))
    series = (nearest(1 / ((k + 1) * mpmath.log(2)), 63) for k in range(9))
    return (
        f"const uint POW_FIRST_ROW = {FIRST_CENTRE}u;\n"
        + function("pow_minus_log2_centre", 3, centres)
        + array("POW_LOG_SERIES", series)
    )


def trig_table() -> str:
    """The bits of 2/pi after 32 zeros, pi/2 as a Q63, the series of sin and cos as Q64."""
    bits = floor(2 / mpmath.pi, 256)
    two_over_pi = ",\n    ".join(words(bits >> 32 * i, 1) for i in range(8, -1, -1))
    sine = (floor(1 / mpmath.factorial(2 * k + 1), 64) for k in range(1, SIN_TERMS + 1))
    cosine = (floor(1 / mpmath.factorial(2 * k), 64) for k in range(1, COS_TERMS + 1))
    return (
        f"const uint TWO_OVER_PI[9] = uint[](\n    {two_over_pi});\n"
        f"const uvec2 HALF_PI = {vector(floor(mpmath.pi / 2, 63), 2)};\n"
        f"const int SIN_TERMS = {SIN_TERMS};\n"
        + array("SIN_SERIES", sine)
        + f"const int COS_TERMS = {COS_TERMS};\n"
        + array("COS_SERIES", cosine)
    )


def interpolate(f: Callable[[mpf], mpf], terms: int) -> list[mpf]:
    """Coefficients of the polynomial through f at the Chebyshev nodes of [0, 1]."""
    angles = [mpmath.pi * (2 * j + 1) / (2 * terms) for j in range(terms)]
    nodes = [(1 + mpmath.cos(angle)) / 2 for angle in angles]
    vandermonde = mpmath.matrix([[node**n for n in range(terms)] for node in nodes])
    return list(mpmath.lu_solve(vandermonde, mpmath.matrix([f(t) for t in nodes])))


def scaled_erfc(row: int, t: mpf) -> mpf:
    """2^e e^(a^2) erfc(a), t of the way through a row, e the exponent of a."""
    exponent, half = divmod(ERFC_FIRST + row - 2 * 127, 2)
    a = mpmath.ldexp(1 + (half + t) / 2, exponent)
    return mpmath.ldexp(mpmath.exp(a * a) * mpmath.erfc(a), exponent)


def erfc_row(row: int) -> list[int]:
    """The coefficients of a row as Q64, with alternating signs left out."""
    coefficients = interpolate(lambda t: scaled_erfc(row, t), ERFC_TERMS)
    sizes = [c * (-1) ** n for n, c in enumerate(coefficients)]
    grid = [mpf(i) / 64 for i in range(65)]
    errors = [
        sum(c * t**k for k, c in enumerate(coefficients)) / scaled_erfc(row, t) - 1 for t in grid
    ]
    if min(sizes) < 0 or max(map(abs, errors)) > mpmath.ldexp(1, -62):
        raise ArithmeticError(f"row {row} of erfc is not good to 2^-62 with these terms")
    return [nearest(size, 64) for size in sizes]


def erfc_polynomial() -> str:
    """The function erfc_polynomial(row, t), Horner's rule with alternating signs."""
    terms = list(zip(*map(erfc_row, range(ERFC_ROWS)), strict=True))
    coefficients = [function(f"erfc_coefficient_{n}", 2, values) for n, values in enumerate(terms)]
    last = ERFC_TERMS - 1
    steps = "".join(
        f"    g = u64_sub(erfc_coefficient_{n}(row), u64_scale(g, t));\n"
        for n in range(last - 1, -1, -1)
    )
    return (
        "".join(coefficients) + "uvec2 erfc_polynomial(uint row, uint t) {\n"
        f"    uvec2 g = erfc_coefficient_{last}(row);\n{steps}    return g;\n}}\n"
    )


def erf_table() -> str:
    """The series of erf as Q63, log2(e) as a Q79, the polynomials of erfc as Q64."""
    slope = 2 / mpmath.sqrt(mpmath.pi)
    series = (floor(slope / (mpmath.factorial(k) * (2 * k + 1)), 63) for k in range(ERF_TERMS))
    return (
        f"const int ERF_TERMS = {ERF_TERMS};\n"
        + array("ERF_SERIES", series)
        + f"const uvec4 LOG2_E = {vector(nearest(1 / mpmath.log(2), 79), 4)};\n"
        + erfc_polynomial()
    )


TABLES = {"exp2": exp2_table, "pow": pow_table, "trig": trig_table, "erf": erf_table}


def contents(name: str) -> str:
    """The text of one table's file."""
    with mpmath.workprec(BITS):
        body = TABLES[name]()
    return (
        f"// Constants of {name}.glsl, generated by tools/shader_tables.py; do not edit.\n" + body
    )


def main() -> None:
    """Write the tables."""
    for name in TABLES:
        (SHADERS / f"{name}_table.glsl").write_text(contents(name))


if __name__ == "__main__":
    main()
