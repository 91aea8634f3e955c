"""Generate the tables of the shaders' exponentials and logarithms (needs mpmath).

    python tools/exp_log_tables.py

writes exp_table.glsl, exp_fast_table.glsl, log_table.glsl and log_fast_table.glsl into
vkml_backend_vulkan/shaders. Qn means n fractional bits.
"""

from collections.abc import Iterator

import mpmath
from mpmath import mpf
from shader_tables import BITS, SHADERS, array, nearest, tree, vector

EXPM1_TERMS, TANH_TERMS, LOG1P_TERMS = 9, 7, 10
POWER_ROWS = 32
LOG_ROWS, LOG_STEP = 32, 1 << 18
LOG_CENTRAL = 18  # the row that has 1 near its middle
LOG_FIRST = 0x3F800000 - round(LOG_STEP * 2 / 3) - LOG_CENTRAL * LOG_STEP
LOG_GRID = 17  # fractional bits of the high parts: their sums with 2^7 multiples have 24 bits


def terms(name: str, count: int) -> str:
    """The declaration of the length of a series."""
    return f"const int {name} = {count};\n"


def tanh_series() -> list[mpmath.mpf]:
    """The sizes of the coefficients of tanh(x)/x in x^2; their signs alternate."""
    degree = 2 * TANH_TERMS
    return [abs(c) for c in mpmath.taylor(mpmath.tanh, 0, degree)[1::2]]


def exp_table() -> str:
    """log2(e) as a Q79, the series of (e^x - 1)/x and of tanh(x)/x as Q63."""
    expm1 = (nearest(1 / mpmath.factorial(k + 1), 63) for k in range(EXPM1_TERMS))
    return (
        f"const uvec4 EXP_LOG2_E = {vector(nearest(1 / mpmath.log(2), 79), 4)};\n"
        + terms("EXPM1_TERMS", EXPM1_TERMS)
        + array("EXPM1_SERIES", expm1)
        + terms("TANH_TERMS", TANH_TERMS)
        + array("TANH_SERIES", (nearest(c, 63) for c in tanh_series()))
    )


def log_table() -> str:
    """ln 2 and log10(2) as Q64, log2(e) as a Q63, the series of (x - ln(1 + x))/x^2 as Q64."""
    series = (nearest(1 / mpmath.mpf(k + 2), 64) for k in range(LOG1P_TERMS))
    return (
        f"const uvec2 LOG_LN2 = {vector(nearest(mpmath.log(2), 64), 2)};\n"
        f"const uvec2 LOG_LOG10_2 = {vector(nearest(mpmath.log10(2), 64), 2)};\n"
        f"const uvec2 LOG_LOG2_E = {vector(nearest(1 / mpmath.log(2), 63), 2)};\n"
        + terms("LOG1P_TERMS", LOG1P_TERMS)
        + array("LOG1P_SERIES", series)
    )


def single(x: mpf, bits: int = 24) -> tuple[str, mpf]:
    """A GLSL literal of the float of so many bits that is nearest to x, and what it leaves of x."""
    exponent = int(mpmath.floor(mpmath.log(abs(x), 2))) - bits + 1
    nearest_ = mpmath.ldexp(mpmath.nint(mpmath.ldexp(x, -exponent)), exponent)
    return f"{float(nearest_)!r}", x - nearest_


def parts(name: str, x: mpf, *bits: int) -> str:
    """Declare floats of so many bits whose sum is x."""
    lines = []
    for k, n in enumerate(bits):
        text, x = single(x, n)
        lines.append(f"const float {name}_{k} = {text};\n")
    return "".join(lines)


def row_function(name: str, count: int, rows: list[str]) -> str:
    """A GLSL function from an index to a row of so many floats."""
    depth, kind = (len(rows) - 1).bit_length(), f"bvec{count}"
    bits = "".join(f"    {kind} b{i} = {kind}((i & {1 << i}u) != 0u);\n" for i in range(depth))
    return f"vec{count} {name}(uint i) {{\n{bits}    return {tree(rows, depth)};\n}}\n"


def power_table() -> str:
    """2^(j/32) as a float, and the logarithm of what that lacks, as a function of j."""
    rows = []
    for j in range(POWER_ROWS):
        exact = mpf(2) ** (mpf(j) / POWER_ROWS)
        power, rest = single(exact)
        rest = mpmath.log(exact / (exact - rest))
        rows.append(f"vec2({power}, {single(rest)[0] if rest else '0.0'})")
    return row_function("power_row", 2, rows)


def exponential(r: mpf) -> mpf:
    """(e^r - 1 - r - r^2/2)/(r^3/2), of which a line is wanted."""
    return 2 * mpmath.fsum(r**k / mpmath.factorial(k + 3) for k in range(40))


def exp_fast_table() -> str:
    """32/ln 2; ln 2/32 in two parts; ln 2; the series of e^r after r^2/2, at most half a step."""
    step = mpmath.log(2) / POWER_ROWS
    slope, constant = mpmath.chebyfit(exponential, [-step / 2, step / 2], 2)
    return (
        f"const float STEPS = {single(1 / step)[0]};\n"
        + parts("STEP", step, 24, 24)
        + parts("LN2", mpmath.log(2), 24, 24)
        + f"const float SERIES_1 = {single(constant)[0]};\n"
        + f"const float SERIES_2 = {single(slope)[0]};\n"
        + power_table()
    )


def float_of(pattern: int) -> mpf:
    """The float32 with these bits, which are those of a positive normal one."""
    return mpmath.ldexp((1 << 23) + (pattern & 0x7FFFFF), (pattern >> 23) - 150)


def grid(x: mpf) -> tuple[mpf, mpf]:
    """The multiple of 2^-LOG_GRID that is nearest to x, and what it leaves of x."""
    near = mpmath.ldexp(nearest(x, LOG_GRID), -LOG_GRID)
    return near, x - near


def inverses(low: mpf, high: mpf) -> Iterator[tuple[mpf, mpf]]:
    """(|1 - c m| at most, c) for the c that leave 1 - c m a float for all floats m of a row."""
    ulp = mpmath.ldexp(1, -24 if low < 1 else -23)
    for bits in range(4, 9):
        unit = mpmath.ldexp(1, -bits)
        for n in range(int(1 / high / unit), int(1 / low / unit) + 2):
            most = max(abs(1 - n * unit * m) for m in (low, high))
            if most <= mpmath.ldexp(unit * ulp, 24):
                yield most, n * unit


def logarithm_rows() -> tuple[list[str], mpf]:
    """c near 1/m for the m of each row, -ln c in two parts; and |1 - c m| at most."""
    rows, largest = [], mpf(0)
    for j in range(LOG_ROWS):
        ends = (float_of(LOG_FIRST + k) for k in (j * LOG_STEP, (j + 1) * LOG_STEP - 1))
        most, c = (1 / mpf(64), mpf(1)) if j == LOG_CENTRAL else min(inverses(*ends))
        high, low = grid(-mpmath.log(c))
        rows.append(f"vec3({float(c)!r}, {float(high)!r}, {single(low)[0] if low else '0.0'})")
        largest = max(largest, most)
    return rows, largest


def logarithm(d: mpf) -> mpf:
    """(-ln(1 - d) - d - d^2/2)/d^3, of which a polynomial is wanted."""
    return mpmath.fsum(d**k / (k + 3) for k in range(60))


def constant(name: str, x: mpf) -> str:
    """Declare the nearest float."""
    return f"const float {name} = {single(x)[0]};\n"


def log_fast_table() -> str:
    """The first row's bits; ln 2 in two parts, the high one for exact products; log2(e) and
    log10(e); the series of ln after d^2/2; the rows.
    """
    rows, most = logarithm_rows()
    high, low = grid(mpmath.log(2))
    series = reversed(mpmath.chebyfit(logarithm, [-most, most], 4))
    return (
        f"const uint LOG_FIRST = {LOG_FIRST:#x}u;\n"
        + constant("LOG_STEP_0", high)
        + constant("LOG_STEP_1", low)
        + parts("BINARY", 1 / mpmath.log(2), 24, 24)
        + parts("DECIMAL", 1 / mpmath.log(10), 24, 24)
        + "".join(constant(f"LOG_SERIES_{k}", c) for k, c in enumerate(series))
        + row_function("logarithm_row", 3, rows)
    )


TABLES = {
    "exp": exp_table,
    "exp_fast": exp_fast_table,
    "log": log_table,
    "log_fast": log_fast_table,
}


def render(name: str) -> str:
    """The text of one table's file."""
    with mpmath.workprec(BITS):
        body = TABLES[name]()
    script = "tools/exp_log_tables.py"
    return f"// Constants of {name}.glsl, generated by {script}; do not edit.\n{body}"


def main() -> None:
    """Write the tables."""
    for name in TABLES:
        (SHADERS / f"{name}_table.glsl").write_text(render(name))


if __name__ == "__main__":
    main()
