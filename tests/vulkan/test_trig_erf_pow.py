"""Philox, the trigonometric functions, erf, erfc and pow of the shaders against the oracle.

The device is the first one of VK_DRIVER_FILES, by default Mesa's lavapipe.
"""

import hashlib
import math
import runpy
from collections.abc import Callable
from pathlib import Path

import mpmath
import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from numpy.typing import NDArray
from shader import SHADERS, Mapper, compile_shader
from vkml_conformance import exhaustive

from vkml_backend_cpu.elementary import ELEMENTARY, pow
from vkml_backend_cpu.kernels.random import philox4x32_10

Words = NDArray[np.uint32]

ROOT = Path(__file__).parents[2]
WORST = runpy.run_path(str(ROOT / "tests" / "numerics" / "worst_cases.py"))["WORST_CASES"]
RECORDED = exhaustive.recorded()
FILES = {"sin": "trig", "cos": "trig", "tan": "trig", "erf": "erf", "erfc": "erf"}
SIGN = np.uint32(0x80000000)
NANS = [0x7F800001, 0x7FC00000, 0x7FFFFFFF]
SPECIAL = np.array([0, 1, 2, 0x7FFFFF, 0x7F7FFFFF, 0x7F800000, *NANS], np.uint32)
# Where the kernels change their formula or erfc leaves the range.
BREAKPOINTS = [2.0**-26, 2.0**-12, 0.75, 1.5, 3.0, 3.8325, 4.0, 6.0, 9.19, 10.05, 11.0]

Run = Callable[..., Words]


@pytest.fixture
def run(mapper: Mapper, tmp_path: Path) -> Run:
    """Run a shader that includes a file: ``body`` computes target.v from the words x[j]."""

    def run(file: str, body: str, inputs: Words, outputs: int = 1) -> Words:
        code = compile_shader(tmp_path, [f"{file}.glsl"], body, inputs.shape[1])
        return mapper(code, inputs, outputs)

    return run


def words(values: list[float]) -> Words:
    return np.array(values, np.float32).view(np.uint32)


def around(centres: Words, radius: int) -> Words:
    """The centres and ``radius`` patterns on either side, of both signs."""
    offsets = np.arange(-radius, radius + 1).astype(np.uint32)
    patterns = (centres[:, None] + offsets).ravel()
    return np.concatenate([patterns, patterns ^ SIGN])


def stratified(step: int, seed: int) -> Words:
    """A random bit pattern out of each ``step`` of the 2^32."""
    first = np.arange(0, 1 << 32, step, dtype=np.int64)
    return (first + np.random.default_rng(seed).integers(0, step, first.size)).astype(np.uint32)


def assert_equal(got: Words, want: NDArray[np.float32], *inputs: Words) -> None:
    wrong = np.flatnonzero(got != want.view(np.uint32))
    lines = [f"{[hex(x[i]) for x in inputs]}: {got[i]:08x}" for i in wrong[:5]]
    assert not wrong.size, f"{wrong.size} wrong: {lines}"


# -- Philox ------------------------------------------------------------------------------------

# The file kat_vectors of the Random123 library: counter, key, result.
KNOWN = """
00000000 00000000 00000000 00000000 00000000 00000000 6627e8d5 e169c58d bc57ac4c 9b00dbd8
ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff 408f276d 41c83b0e a20bc7c6 6d5451fd
243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0 d16cfe09 94fdcceb 5001e420 24126ea1
"""
PHILOX = """
uvec4 result = philox(uvec4(x[0], x[1], x[2], x[3]), uvec2(x[4], x[5]));
for (int j = 0; j < 4; ++j) target.v[i * 4 + j] = result[j];
"""


def test_philox_known_answers(run: Run) -> None:
    known = np.array([int(word, 16) for word in KNOWN.split()], np.uint32).reshape(3, 10)
    np.testing.assert_array_equal(run("philox", PHILOX, known[:, :6].copy(), 4), known[:, 6:])


def test_philox_random_counters(run: Run) -> None:
    inputs = np.random.default_rng(0).integers(0, 2**32, (1 << 12, 6), np.uint32)
    inputs[:, 4:] = inputs[0, 4:]
    want = philox4x32_10(inputs[:, :4], inputs[0, 4:].tolist())
    np.testing.assert_array_equal(run("philox", PHILOX, inputs, 4), want)


# -- functions of one argument -------------------------------------------------------------------


def unary(run: Run, name: str, x: Words) -> Words:
    return run(FILES[name], f"target.v[i] = f_{name}(x[0]);", x[:, None])[:, 0]


def check(run: Run, name: str, x: Words) -> None:
    assert_equal(unary(run, name, x), ELEMENTARY[name](x.view(np.float32)), x)


@pytest.mark.parametrize("name", FILES)
def test_special_values(run: Run, name: str) -> None:
    check(run, name, np.concatenate([SPECIAL, SPECIAL ^ SIGN]))


@pytest.mark.parametrize("name", FILES)
def test_worst_cases(run: Run, name: str) -> None:
    check(run, name, around(words([float.fromhex(x) for x in WORST[name]]), 2))


@pytest.mark.parametrize("name", FILES)
def test_around_powers_of_two_and_breakpoints(run: Run, name: str) -> None:
    powers = np.arange(256, dtype=np.uint32) << 23
    multiples = words([k * np.pi / 4 for k in range(1, 400)])
    centres = np.concatenate([powers, words(BREAKPOINTS), multiples])
    check(run, name, around(centres, 64))


@pytest.mark.parametrize("name", FILES)
def test_stratified_sample(run: Run, name: str) -> None:
    check(run, name, stratified(1 << 14, seed=1))


@pytest.mark.parametrize("name", FILES)
def test_block_of_the_middle_numbers(run: Run, name: str) -> None:
    """The 2^24 inputs from 0.5 to 2 give the digest of the oracle's run over all inputs."""
    digest = hashlib.sha256()
    for first in range(0x3F000000, 0x40000000, 1 << 22):
        digest.update(unary(run, name, np.arange(first, first + (1 << 22), dtype=np.uint32)))
    assert digest.hexdigest() == RECORDED["block 0x3f"][name]


def test_erfc_down_into_subnormal_results(run: Run) -> None:
    check(run, "erfc", np.arange(*words([9.0, 10.25]), 4, dtype=np.uint32))


# What is rounded, the exponents of two that its arguments lie between, and the bound on its
# relative error that the shader states.
REDUCE = "Reduced r = trig_reduce(x[0]); bool odd = (r.quadrant & 1u) != 0u; Scaled s;"
SCALED: dict[str, tuple[str, float, float, int]] = {
    "sin": (f"{REDUCE} if (odd) s = trig_cos(r.size); else s = trig_sin(r.size);", -12, 128, -60),
    "cos": (f"{REDUCE} if (odd) s = trig_sin(r.size); else s = trig_cos(r.size);", -12, 128, -60),
    "erf": ("Scaled s = erf_near(x[0]);", -149, math.log2(0.75), -60),
    "erfc": ("Scaled s = erfc_far(x[0]);", math.log2(0.75), math.log2(11), -58),
}
STORE = "uvec3 w = uvec3(s.m, s.exponent); for (int j = 0; j < 3; ++j) target.v[i * 3 + j] = w[j];"


@pytest.mark.parametrize("name", SCALED)
def test_error_before_rounding(run: Run, name: str) -> None:
    body, low, high, bound = SCALED[name]
    x = np.exp2(np.random.default_rng(10).uniform(low, high, 4000)).astype(np.float32)
    rows = run(FILES[name], body + STORE, x.view(np.uint32)[:, None], 3)
    exponents = rows[:, 2].view(np.int32).tolist()
    assert (rows[:, 1] >> 31).all()
    with mpmath.workprec(400):
        sizes = [mpmath.mpf(high << 32 | low) for low, high in rows[:, :2].tolist()]
        got = [mpmath.ldexp(m, e - 63) for m, e in zip(sizes, exponents, strict=True)]
        want = [abs(getattr(mpmath, name)(mpmath.mpf(value))) for value in x.tolist()]
        errors = [abs(g / w - 1) for g, w in zip(got, want, strict=True)]
        assert max(errors) < mpmath.ldexp(1, bound), float(mpmath.log(max(errors), 2))


# -- pow ---------------------------------------------------------------------------------------


def check_pow(run: Run, x: Words, y: Words) -> None:
    got = run("pow", "target.v[i] = f_pow(x[0], x[1]);", np.stack([x, y], 1))[:, 0]
    assert_equal(got, pow(x.view(np.float32), y.view(np.float32)), x, y)


def test_pow_special_values(run: Run) -> None:
    values = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 2.0**23 - 1, 2.0**23 - 0.5, 2.0**24 - 1, 2.0**24]
    centres = np.concatenate([SPECIAL, around(words([0.5, 1.0]), 1), words(values)])
    centres = np.concatenate([centres, centres ^ SIGN])
    x, y = np.meshgrid(centres, centres)
    check_pow(run, x.ravel(), y.ravel())


def test_pow_of_random_patterns(run: Run) -> None:
    x, y = stratified(1 << 14, seed=2), stratified(1 << 14, seed=3)
    check_pow(run, x, np.random.default_rng(4).permutation(y))


def test_pow_of_usual_values(run: Run) -> None:
    rng = np.random.default_rng(5)
    x = np.exp2(rng.uniform(-20, 20, 1 << 18)).astype(np.float32)
    y = rng.uniform(-8, 8, 1 << 18).astype(np.float32)
    check_pow(run, x.view(np.uint32), y.view(np.uint32))


def test_pow_near_one(run: Run) -> None:
    rng = np.random.default_rng(6)
    x = (words([1.0]) + rng.integers(-5000, 5000, 1 << 18)).astype(np.uint32)
    y = (rng.standard_normal(1 << 18) * np.exp2(rng.integers(0, 31, 1 << 18))).astype(np.float32)
    check_pow(run, x, y.view(np.uint32))


@pytest.mark.parametrize("exponent", [1.0, 2.0, -1.0, 0.5])
def test_pow_that_is_one_operation(run: Run, exponent: float) -> None:
    """The oracle has a path of its own for these; the shader proves that it needs none."""
    x = np.concatenate([stratified(1 << 13, seed=7), stratified(1 << 14, seed=8) & 0x3FFFFFFF])
    check_pow(run, x, np.full_like(x, words([exponent])[0]))


def test_pow_of_whole_numbers(run: Run) -> None:
    """Many are exact, and the powers of 25-bit size are ties."""
    x, y = np.meshgrid(np.arange(-600, 601), np.arange(-24, 25))
    x, y = x.ravel().astype(np.float32), y.ravel().astype(np.float32)
    check_pow(run, x.view(np.uint32), y.view(np.uint32))


# -- wide integers and tables -----------------------------------------------------------------

U64 = "uvec2 a = uvec2(x[0], x[1]), b = uvec2(x[2], x[3]); uvec2 r = {};"
U64 += "target.v[i * 2] = r.x; target.v[i * 2 + 1] = r.y;"
U128 = "uvec4 a = uvec4(x[0], x[1], x[2], x[3]); uvec4 r = {};"
U128 += "for (int j = 0; j < 4; ++j) target.v[i * 4 + j] = r[j];"
EDGES = [0, 1, 2, 31, 32, 33, 63, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]

# Expression of a and b (64 bits each) -> its value; the counts of shifts are taken from b.
U64_CASES: dict[str, Callable[[int, int], int]] = {
    "u64_add(a, b)": lambda a, b: a + b,
    "u64_sub(a, b)": lambda a, b: a - b,
    "u64_product(a.x, b.x)": lambda a, b: (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF),
    "u64_scale(a, b.x)": lambda a, b: a * (b & 0xFFFFFFFF) >> 32,
    "u64_mul_high(a, b)": lambda a, b: a * b >> 64,
    "u64_negate_if(0xffffffffu, a)": lambda a, b: -a,
    "u64_negate_if(0u, a)": lambda a, b: a,
    "u64_shl(a, b.x & 63u)": lambda a, b: a << (b & 63),
    "u64_shr(a, b.x & 63u)": lambda a, b: a >> (b & 63),
    "uvec2(u64_leading_zeros(a), 0u)": lambda a, b: 64 - a.bit_length(),
    "uvec2(u64_less(a, b), 0u)": lambda a, b: a < b,
}
# Expression of a (128 bits) -> its value, given a and its words.
U128_CASES: dict[str, Callable[[int], int]] = {
    "u128_add(a, a.wzyx)": lambda a: a + unpack(pack(a, 4)[::-1]),
    "u128_negate_if(0xffffffffu, a)": lambda a: -a,
    "u128_scale(a, a.x)": lambda a: a * (a & 0xFFFFFFFF),
    "u128_shl(a, a.x & 127u)": lambda a: a << (a & 127),
    "u128_shr(a, a.x & 127u)": lambda a: a >> (a & 127),
}


def pack(value: int, count: int) -> list[int]:
    return [value >> 32 * i & 0xFFFFFFFF for i in range(count)]


def unpack(row: list[int]) -> int:
    return sum(word << 32 * i for i, word in enumerate(row))


def four_words() -> Words:
    """Rows of four words, every row of edge values and some random ones."""
    edges = np.stack(np.meshgrid(*[EDGES] * 4), -1).reshape(-1, 4).astype(np.uint32)
    return np.concatenate(
        [edges, np.random.default_rng(9).integers(0, 2**32, (5000, 4), np.uint32)]
    )


@pytest.mark.parametrize("expression", U64_CASES)
def test_u64(run: Run, expression: str) -> None:
    rows, f = four_words(), U64_CASES[expression]
    want = [pack(f(unpack(row[:2]), unpack(row[2:])), 2) for row in rows.tolist()]
    np.testing.assert_array_equal(run("wide", U64.format(expression), rows, 2), want)


@pytest.mark.parametrize("expression", U128_CASES)
def test_u128(run: Run, expression: str) -> None:
    rows, f = four_words(), U128_CASES[expression]
    want = [pack(f(unpack(row)), 4) for row in rows.tolist()]
    np.testing.assert_array_equal(run("wide", U128.format(expression), rows, 4), want)


@pytest.mark.parametrize("name", ["exp2", "pow", "trig", "erf"])
def test_tables_are_what_the_generator_writes(name: str) -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "shader_tables.py"))
    assert (SHADERS / f"{name}_table.glsl").read_text() == tool["contents"](name)
