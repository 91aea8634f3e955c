"""Generate the tables of the shaders' fixed-point functions (needs mpmath).

    python tools/shader_tables.py

writes exp2_table.glsl, pow_table.glsl, trig_table.glsl and erf_table.glsl into
vkml_backend_vulkan/shaders. Qn means n fractional bits. The tables of pow are those of
docs/pow.md; no entry of any table lies so near a rounding boundary that 300 bits leave it open.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import mpmath

SHADERS = Path(__file__).parents[1] / "vkml_backend_vulkan" / "shaders"
BITS = 300
SIN_TERMS, COS_TERMS, ERF_TERMS, ERFC_TERMS = 8, 9, 14, 16
ERFC_FIRST, ERFC_ROWS = 4 * 126, 18  # rows begin at 1/2 and have two bits of significand
FIRST_CENTRE, LAST_CENTRE = 90, 181

Number = mpmath.mpf


def floor(x: Number, fraction_bits: int) -> int:
    """X as a Q``fraction_bits``, rounded down."""
    return int(mpmath.floor(mpmath.ldexp(x, fraction_bits)))


def nearest(x: Number, fraction_bits: int) -> int:
    """X as a Q``fraction_bits``, rounded to the nearest."""
    return int(mpmath.nint(mpmath.ldexp(x, fraction_bits)))


def words(value: int, count: int) -> str:
    """The ``count`` lowest 32-bit words of a two's complement number, lowest first."""
    return ", ".join(f"{value >> 32 * i & 0xFFFFFFFF:#010x}u" for i in range(count))


def vector(value: int, count: int) -> str:
    """A GLSL constant of ``count`` words."""
    return f"uvec{count}({words(value, count)})"


def array(name: str, kind: str, rows: Iterable[str]) -> str:
    """The declaration of a constant array."""
    rows = list(rows)
    return f"const {kind} {name}[{len(rows)}] = {kind}[](\n    " + ",\n    ".join(rows) + ");\n"


def u64_array(name: str, values: Iterable[int]) -> str:
    """A constant array of 64-bit numbers."""
    return array(name, "uvec2", (vector(value, 2) for value in values))


def exp2_table() -> str:
    """R as EXP2_ROOTS and B as EXP2_SERIES."""
    roots = (floor(mpmath.power(2, Number(j) / 128), 63) for j in range(128))
    series = (floor(mpmath.log(2) ** k / mpmath.factorial(k), 64) for k in range(1, 8))
    return u64_array("EXP2_ROOTS", roots) + u64_array("EXP2_SERIES", series)


def pow_table() -> str:
    """C and T as POW_ROWS (c in the first word), A as POW_LOG_SERIES."""
    rows = []
    for i in range(FIRST_CENTRE, LAST_CENTRE + 1):
        c = 256 if i in (127, 128) else nearest(Number(65536) / (2 * i + 1), 0)
        rows.append(vector(nearest(-mpmath.log(Number(c) / 256, 2), 95) << 32 | c, 4))
    series = (nearest(1 / ((k + 1) * mpmath.log(2)), 63) for k in range(9))
    return (
        f"const uint POW_FIRST_ROW = {FIRST_CENTRE}u;\n"
        "const uint POW_TIE_WINDOW = 1024u;\n"
        + array("POW_ROWS", "uvec4", rows)
        + u64_array("POW_LOG_SERIES", series)
    )


def trig_table() -> str:
    """The bits of 2/pi after 32 zeros, pi/2 as a Q63, the series of sin and cos as Q64."""
    bits = floor(2 / mpmath.pi, 256)
    two_over_pi = [f"{bits >> 32 * i & 0xFFFFFFFF:#010x}u" for i in range(8, -1, -1)]
    sine = (floor(1 / mpmath.factorial(2 * k + 1), 64) for k in range(1, SIN_TERMS + 1))
    cosine = (floor(1 / mpmath.factorial(2 * k), 64) for k in range(1, COS_TERMS + 1))
    return (
        array("TWO_OVER_PI", "uint", two_over_pi)
        + f"const uvec2 HALF_PI = {vector(floor(mpmath.pi / 2, 63), 2)};\n"
        + f"const int SIN_TERMS = {SIN_TERMS};\n"
        + u64_array("SIN_SERIES", sine)
        + f"const int COS_TERMS = {COS_TERMS};\n"
        + u64_array("COS_SERIES", cosine)
    )


def interpolate(f: Callable[[Number], Number], terms: int) -> list[Number]:
    """Coefficients of the polynomial through f at the Chebyshev nodes of [0, 1]."""
    angles = [mpmath.pi * (2 * j + 1) / (2 * terms) for j in range(terms)]
    nodes = [(1 + mpmath.cos(angle)) / 2 for angle in angles]
    vandermonde = mpmath.matrix([[node**n for n in range(terms)] for node in nodes])
    return list(mpmath.lu_solve(vandermonde, mpmath.matrix([f(t) for t in nodes])))


def scaled_erfc(row: int, t: Number) -> Number:
    """2^e e^(a^2) erfc(a), t of the way through a row, e the exponent of a."""
    exponent, quarter = divmod(ERFC_FIRST + row - 4 * 127, 4)
    a = mpmath.ldexp(1 + (quarter + t) / 4, exponent)
    return mpmath.ldexp(mpmath.exp(a * a) * mpmath.erfc(a), exponent)


def erfc_row(row: int) -> list[int]:
    """The coefficients of a row as Q64, with alternating signs left out."""
    coefficients = interpolate(lambda t: scaled_erfc(row, t), ERFC_TERMS)
    sizes = [c * (-1) ** n for n, c in enumerate(coefficients)]
    grid = [Number(i) / 64 for i in range(65)]
    errors = [mpmath.polyval(coefficients[::-1], t) / scaled_erfc(row, t) - 1 for t in grid]
    if min(sizes) < 0 or max(map(abs, errors)) > mpmath.ldexp(1, -63):
        raise ArithmeticError(f"row {row} of erfc is not good to 2^-63 with these terms")
    return [nearest(size, 64) for size in sizes]


def erf_table() -> str:
    """The series of erf as Q63, log2(e) as a Q79, the rows of erfc as Q64."""
    slope = 2 / mpmath.sqrt(mpmath.pi)
    series = (floor(slope / (mpmath.factorial(k) * (2 * k + 1)), 63) for k in range(ERF_TERMS))
    rows = (coefficient for row in range(ERFC_ROWS) for coefficient in erfc_row(row))
    return (
        f"const int ERF_TERMS = {ERF_TERMS};\n"
        + u64_array("ERF_SERIES", series)
        + f"const uvec4 LOG2_E = {vector(nearest(1 / mpmath.log(2), 79), 4)};\n"
        + f"const uint ERFC_TERMS = {ERFC_TERMS}u;\n"
        + u64_array("ERFC_ROWS", rows)
    )


TABLES = {"exp2": exp2_table, "pow": pow_table, "trig": trig_table, "erf": erf_table}


def render(name: str) -> str:
    """The text of one table's file."""
    with mpmath.workprec(BITS):
        body = TABLES[name]()
    return f"// Constants of {name}.glsl, generated by tools/shader_tables.py; do not edit.\n" + body


def main() -> None:
    """Write the tables."""
    for name in TABLES:
        (SHADERS / f"{name}_table.glsl").write_text(render(name))


if __name__ == "__main__":
    main()
