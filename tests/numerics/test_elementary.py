"""Elementary functions: correctly rounded, by long double and mpmath as independent judges."""

import hashlib
import math
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from judge import MPMATH, bits, certain, every, expected
from worst_cases import WORST_CASES

from vkml_backend_cpu.elementary import ELEMENTARY, Elementary, exact, rounding

NAMES = sorted(ELEMENTARY)
ROUNDED = {name: f for name, f in ELEMENTARY.items() if isinstance(f, Elementary)}

# C99 annex F, and the limits for sigmoid, rsqrt, reciprocal: argument -> value.
SPECIAL = {
    "exp": "0:1 -0:1 inf:inf -inf:0 89:inf -104:0",
    "exp2": "0:1 -0:1 inf:inf -inf:0 128:inf -149:1e-45 -150:0 10:1024",
    "expm1": "0:0 -0:-0 inf:inf -inf:-1 89:inf -104:-1",
    "log": "0:-inf -0:-inf 1:0 inf:inf -1:nan -inf:nan -1e-45:nan",
    "log2": "0:-inf -0:-inf 1:0 inf:inf -1:nan -inf:nan -1e-45:nan 1e-45:-149 1024:10",
    "log10": "0:-inf -0:-inf 1:0 inf:inf -1:nan -inf:nan -1e-45:nan 1e10:10",
    "log1p": "0:0 -0:-0 -1:-inf inf:inf -2:nan -inf:nan",
    "sin": "0:0 -0:-0 inf:nan -inf:nan",
    "cos": "0:1 -0:1 inf:nan -inf:nan",
    "tan": "0:0 -0:-0 inf:nan -inf:nan",
    "tanh": "0:0 -0:-0 inf:1 -inf:-1",
    "sigmoid": "0:0.5 -0:0.5 inf:1 -inf:0",
    "erf": "0:0 -0:-0 inf:1 -inf:-1",
    "erfc": "0:1 -0:1 inf:0 -inf:2",
    "sqrt": "0:0 -0:-0 inf:inf -inf:nan -1:nan -1e-45:nan 4:2",
    "rsqrt": "0:inf -0:-inf inf:0 -inf:nan -1:nan -1e-45:nan 4:0.5",
    "reciprocal": "0:inf -0:-inf inf:0 -inf:-0 1e-45:inf 4:0.25",
}

# Where the kernels change their formula or results leave the range.
BREAKPOINTS = [0.25, 0.5, 0.75, 1.5, math.pi / 4, math.pi / 2, math.pi, 9.01, 10.06, 11.0, 17.33]
BREAKPOINTS += [50.0, 87.34, 88.72, 88.8, 103.28, 103.98, 126.0, 149.0, 150.0, 1e10]
BREAKPOINTS += [(2 * k + 1) * math.log(2) / 256 for k in range(130)]
BREAKPOINTS += [(2 * c + 1) / 256 for c in range(96, 192)]


def neighbourhood(centres: np.ndarray, radius: int) -> np.ndarray:
    """Both signs of the given float32 values and of ``radius`` patterns on either side."""
    around = centres.view(np.int32)[:, None] + np.arange(-radius, radius + 1, dtype=np.int32)
    positive = np.clip(around, 0, 0x7F800000).astype(np.uint32)
    return np.concatenate([positive, positive | 0x80000000]).ravel().view(np.float32)


def judged(name: str, x: np.ndarray) -> None:
    got, want = bits(ELEMENTARY[name](x)), bits(expected(name, x))
    wrong = np.flatnonzero(got != want)
    report = [f"{float(x[i]).hex()}: {got[i]:08x}, not {want[i]:08x}" for i in wrong[:5]]
    assert not wrong.size, f"{name}: {wrong.size} wrong: {report}"


def test_the_table_holds_every_function_once() -> None:
    assert set(NAMES) == set(SPECIAL) == set(MPMATH)


@pytest.mark.parametrize("name", WORST_CASES)
def test_worst_cases(name: str) -> None:
    centres = np.array([float.fromhex(x) for x in WORST_CASES[name]], dtype=np.float32)
    x = neighbourhood(np.abs(centres), 2)
    f = ROUNDED[name]
    x = x[f.inside(x)]
    want = np.array([certain(name, float(v)) for v in x])
    np.testing.assert_array_equal(bits(f(x)), bits(want))


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str) -> None:
    pairs = [pair.split(":") for pair in SPECIAL[name].split()]
    x, want = np.array(pairs, dtype=np.float64).astype(np.float32).T
    np.testing.assert_array_equal(bits(ELEMENTARY[name](x)), bits(want))


@pytest.mark.parametrize("name", NAMES)
def test_every_nan_becomes_the_canonical_one(name: str) -> None:
    patterns = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF812345], dtype=np.uint32)
    got = bits(ELEMENTARY[name](patterns.view(np.float32)))
    assert got.tolist() == [0x7FC00000] * 4


@pytest.mark.parametrize("name", NAMES)
def test_around_powers_of_two_and_breakpoints(name: str) -> None:
    powers = (np.arange(256, dtype=np.uint32) << 23).view(np.float32)
    centres = np.concatenate([powers, np.array(BREAKPOINTS, dtype=np.float32)])
    judged(name, neighbourhood(centres, 64))


@pytest.mark.parametrize("name", NAMES)
def test_stratified_sample(name: str) -> None:
    judged(name, every(1 << 10, seed=NAMES.index(name)))


@pytest.mark.parametrize("name", NAMES)
def test_usual_arguments(name: str) -> None:
    rng = np.random.default_rng(NAMES.index(name))
    x = rng.standard_normal(1 << 18) * np.exp2(rng.integers(-4, 7, 1 << 18))
    judged(name, x.astype(np.float32))


@pytest.mark.parametrize("name", ROUNDED)
def test_kernel_stays_within_a_quarter_of_its_bound(name: str) -> None:
    f = ROUNDED[name]
    rng = np.random.default_rng(7)
    spread = np.exp2(rng.uniform(-14, 7, 6000)) * rng.choice([-1, 1], 6000)
    near_one = 1 + rng.standard_normal(2000) * 0.02
    usual = np.concatenate([spread, near_one]).astype(np.float32)
    x = np.concatenate([every(1 << 20, seed=1), usual])
    x = x[f.inside(x)]
    value = f.kernel(x.astype(np.float64))
    in_range = (np.abs(value) > 2.0**-151) & (np.abs(value) < 2.0**129) & (np.abs(x) < 2.0**120)
    with mpmath.workprec(300):
        errors = [
            abs(float(mpmath.mpf(float(v)) / MPMATH[name](mpmath.mpf(float(a))) - 1))
            for a, v in zip(x[in_range], value[in_range], strict=True)
            if v
        ]
    assert len(errors) > 2000
    assert max(errors) < f.bound / 4


@pytest.mark.parametrize("name", ROUNDED)
def test_fallback_agrees_when_nearly_everything_falls_back(name: str) -> None:
    f = ROUNDED[name]
    x = np.concatenate([every(1 << 24, seed=2), np.linspace(-10, 10, 101, dtype=np.float32)])
    x = x[np.abs(x) <= 10]  # what is undecided in earnest is no larger, but for sin, cos, tan
    np.testing.assert_array_equal(bits(replace(f, bound=2.0**-20)(x)), bits(f(x)))


def test_exact_evaluation_refuses_the_only_midpoint() -> None:
    with pytest.raises(ArithmeticError, match="exp2"):
        exact.evaluate("exp2", -150.0)


def test_exact_rounding_matches_the_conversion_of_float64() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal(500) * np.exp2(rng.integers(-160, 130, 500))
    ties = (1 + np.arange(100) * 2.0**-24) * np.exp2(rng.integers(-150, 127, 100))
    with np.errstate(over="ignore"):
        want = np.concatenate([values, ties, -ties]).astype(np.float32)
    fractions = [Fraction(v) for v in np.concatenate([values, ties, -ties])]
    got = np.array([exact.round_to_float32(v) for v in fractions])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", NAMES)
def test_layout_and_block_size_do_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = ELEMENTARY[name]
    x = every(1 << 17, seed=4).reshape(128, 256)
    before = x.copy()
    want = bits(f(x))
    np.testing.assert_array_equal(bits(f(x.T)), want.T)
    np.testing.assert_array_equal(bits(f(x[::-2, 1::3])), want[::-2, 1::3])
    np.testing.assert_array_equal(bits(f(np.broadcast_to(x[0], (3, 256)))), want[[0, 0, 0]])
    assert f(x[3, 5].reshape(())).view(np.uint32) == want[3, 5]
    assert f(x[:0]).shape == (0, 256)
    monkeypatch.setattr(rounding, "BLOCK", 37)
    np.testing.assert_array_equal(bits(f(x)), want)
    np.testing.assert_array_equal(bits(x), bits(before))


@pytest.mark.parametrize("name", NAMES)
def test_result_is_fresh(name: str) -> None:
    x = np.array([0.0, 1.0], dtype=np.float32)
    assert not np.shares_memory(x, ELEMENTARY[name](x))


@pytest.mark.parametrize("name", NAMES)
def test_other_dtypes_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="float64"):
        ELEMENTARY[name](np.zeros(3))


DIGEST = """
import hashlib, numpy as np
from vkml_backend_cpu.elementary import ELEMENTARY, pow
x = (np.arange(0, 2**32, 65521, dtype=np.uint64)).astype(np.uint32).view(np.float32)
out = [f(x) for f in ELEMENTARY.values()] + [pow(x, x[::-1]), pow(np.abs(x), x * 0 + 3)]
print(hashlib.sha256(b"".join(v.tobytes() for v in out)).hexdigest())
"""


def digest_without(features: str) -> str:
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": features}
    command = [sys.executable, "-W", "ignore", "-c", DIGEST]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, env=environment, cwd=root, check=True, capture_output=True)
    return run.stdout.decode()


def test_vector_units_do_not_matter() -> None:
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    assert digest_without(" ".join(simd["found"])) == digest_without("")


def test_an_exhaustive_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "exhaustive.py"
    exhaustive = runpy.run_path(str(script))
    run, load, combine = (exhaustive[name] for name in ("run", "load", "combine"))
    monkeypatch.setitem(run.__globals__, "BLOCK", 1 << 22)
    monkeypatch.setitem(run.__globals__, "BLOCKS", 2)
    state = tmp_path / "state.json"
    run("sqrt", state)
    monkeypatch.setitem(run.__globals__, "BLOCKS", 3)
    resumed = run("sqrt", state)
    inputs = np.arange(3 << 22, dtype=np.uint32).view(np.float32)
    blocks = [hashlib.sha256(block).digest() for block in np.split(ELEMENTARY["sqrt"](inputs), 3)]
    assert resumed == hashlib.sha256(b"".join(blocks)).hexdigest() == combine(load(state, "sqrt"))
    with pytest.raises(ValueError, match="sqrt"):
        load(state, "exp")
