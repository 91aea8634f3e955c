"""pow: C99's special cases, the written algorithm by a second text, and its accuracy."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from judge import bits, every, round_or_ask, round_to_float32

from vkml_backend_cpu.elementary import pow, power

INF, NAN = math.inf, math.nan


def f32(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def single(x: float, y: float) -> int:
    return int(bits(pow(f32(x), f32(y)))[0])


# -- special cases ---------------------------------------------------------------------------

BASES = [0.0, 1e-45, 1e-38, 0.5, 0.99999994, 1.0, 1.0000001, 1.5, 2.0, 3.0, 1e38, INF]
EXPONENTS = [0.0, 1e-45, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 2.0**23 + 1, 2.0**24, 1e38, INF]


def c99(x: float, y: float) -> float | None:
    """The clauses of C99 F.9.4.4 one by one; None where the power is an ordinary one."""
    odd = math.isfinite(y) and y == math.floor(y) and int(y) % 2 == 1
    size = abs(x)
    if y == 0 or x == 1:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == 0:
        value = INF if y < 0 else 0.0
        return math.copysign(value, x) if odd else value
    if x == -1 and math.isinf(y):
        return 1.0
    if x < 0 and math.isfinite(x) and math.isfinite(y) and y != math.floor(y):
        return NAN
    if math.isinf(y):
        return INF if (size < 1) == (y < 0) else 0.0
    if x == INF:
        return 0.0 if y < 0 else INF
    if x == -INF:
        value = 0.0 if y < 0 else INF
        return -value if odd else value
    return None


def test_special_cases_on_a_grid() -> None:
    signed = [*BASES, *(-b for b in BASES), NAN]
    powers = [*EXPONENTS, *(-e for e in EXPONENTS), NAN]
    pairs = [(x, y) for x in map(float, f32(*signed)) for y in map(float, f32(*powers))]
    special = [(x, y, c99(x, y)) for x, y in pairs if c99(x, y) is not None]
    assert len(special) > 300
    x, y, want = np.array(special, dtype=np.float64).astype(np.float32).T
    np.testing.assert_array_equal(bits(pow(x, y)), bits(want))


def test_negative_base_takes_the_sign_of_an_odd_exponent() -> None:
    x = np.abs(every(1 << 22, seed=1))
    for exponent, sign in ((3, 1), (-5, 1), (2**23 + 1, 1), (4, 0), (-2, 0), (2**24, 0)):
        y = np.full_like(x, exponent)
        want = pow(x, y)
        want[~np.isnan(want)] *= -1 if sign else 1
        np.testing.assert_array_equal(bits(pow(-x, y)), bits(want))


@pytest.mark.parametrize(
    ("exponent", "operation"),
    [
        (1.0, lambda x: x),
        (2.0, lambda x: x * x),
        (-1.0, lambda x: np.float32(1) / x),
        (0.5, lambda x: np.sqrt(x)),
    ],
)
def test_single_operations(exponent: float, operation) -> None:
    x = every(1 << 14, seed=2)
    x = x[np.isfinite(x) & ((x > 0) | (exponent != 0.5))]
    with np.errstate(all="ignore"):
        want = operation(x)
    np.testing.assert_array_equal(bits(pow(x, np.full_like(x, exponent))), bits(want))


# -- the algorithm, a second time: whole integers after docs/pow.md -----------------------------


def make_tables() -> tuple[dict[int, int], dict[int, int], list[int], list[int], list[int]]:
    with mpmath.workprec(300):
        ln2 = mpmath.log(2)
        c = {i: int(mpmath.nint(mpmath.mpf(65536) / (2 * i + 1))) for i in range(90, 182)}
        c[127] = c[128] = 256
        t = {i: int(mpmath.nint(-mpmath.log(mpmath.mpf(c[i]) / 256, 2) * 2**95)) for i in c}
        a = [int(mpmath.nint(2**63 / ((k + 1) * ln2))) for k in range(9)]
        b = [int(mpmath.floor(ln2**k / mpmath.factorial(k) * 2**64)) for k in range(8)]
        r = [int(mpmath.floor(mpmath.mpf(2) ** (mpmath.mpf(j) / 128) * 2**63)) for j in range(128)]
    return c, t, a, b, r


C, T, A, B, R = make_tables()


def integers(x: float) -> tuple[int, int]:
    """(M, e) with |x| = M 2^e as float32 stores them."""
    pattern = int(bits(f32(abs(x)))[0])
    field, fraction = pattern >> 23, pattern & 0x7FFFFF
    return (fraction | 0x800000, field - 150) if field else (fraction, -149)


def scalar_log2(x: float) -> int:
    significand, e = integers(x)
    shift = 24 - significand.bit_length()
    significand <<= shift
    above = significand > 0xB504F3
    m = significand if above else 2 * significand
    z = m * C[m >> 17] - 2**32
    assert abs(z) <= 2**25
    s = A[8]
    for k in range(7, -1, -1):
        p = abs(z) * s >> 32
        s = A[k] - p if z >= 0 else A[k] + p
    return (e - shift + (24 if above else 23)) * 2**95 + T[m >> 17] + z * s


def scalar_pow(x: float, y: float) -> int:
    """Steps 1 to 7 of docs/pow.md on Python integers; the bits of x^y."""
    log = scalar_log2(x)
    t = 64 - (abs(log) >> 64).bit_length()
    leading = abs(log) >> (64 - t)
    significand, f = integers(y)
    r = t - 33 - f
    exponent = 256 << 64 if r < 15 else significand * leading >> r
    if (log < 0) != (y < 0):
        exponent = -exponent
    n, fraction = exponent >> 64, exponent % 2**64
    if n >= 128 or n <= -151:
        return 0x7F800000 if n > 0 else 0
    j, g = fraction >> 57, fraction % 2**57
    s = B[7]
    for k in range(6, 0, -1):
        s = B[k] + (g * s >> 64)
    v = R[j] + (R[j] * (g * s >> 64) >> 64) >> 1
    assert 2**62 <= v < 2**63
    d = 39 if n >= -126 else -87 - n
    q, beyond = v >> d, v % 2**d - 2 ** (d - 1)
    q += q & 1 if abs(beyond) <= 2**10 else beyond > 0
    return min((max(n + 126, 0) << 23) + q, 0x7F800000)


def ordinary_pairs(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bases of every size, and exponents that spread the results over the float32 range."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 0x7F800000, count, dtype=np.uint32).view(np.float32)
    near_one = rng.random(count) < 0.25
    x[near_one] = (1 + rng.standard_normal(near_one.sum()) * 0.1).astype(np.float32)
    x = np.where(x == 1, np.float32(0.75), np.abs(x))
    y = (rng.uniform(-151, 129, count) / np.log2(x.astype(np.float64))).astype(np.float32)
    y = np.where(np.abs(y) == np.inf, np.float32(3), y)
    wild = rng.random(count) < 0.1
    y[wild] = rng.integers(0, 0x7F800000, wild.sum(), dtype=np.uint32).view(np.float32)
    return x, np.where(y == 0, np.float32(3), y)


def test_the_code_is_the_written_algorithm() -> None:
    x, y = ordinary_pairs(20000, seed=3)
    shortcut = np.isin(y, list(power._SINGLE))
    x, y = x[~shortcut], y[~shortcut]
    want = [scalar_pow(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(bits(pow(x, y)), np.array(want, dtype=np.uint32))


def test_the_code_is_the_written_algorithm_at_the_edges() -> None:
    bases = f32(1e-45, 1.1754942e-38, 1.17549435e-38, 0.5, 0.70710677, 0.7071068, 0.99999994)
    bases = np.concatenate([bases, f32(1.0000001, 1.4142135, 1.4142137, 2, 3, 3.4028235e38)])
    powers = f32(1e-45, 1e-38, 6e-8, 0.25, 1.5, 3, 127.5, 128, 149, 150, 151, 1e9, 1e38)
    x, y = (g.ravel() for g in np.meshgrid(bases, np.concatenate([powers, -powers])))
    want = [scalar_pow(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(bits(pow(x, y)), np.array(want, dtype=np.uint32))


# -- accuracy ----------------------------------------------------------------------------------


def rounded_by_mpmath(x: float, y: float) -> np.float32:
    with mpmath.workprec(400):
        return round_to_float32(mpmath.mpf(x) ** mpmath.mpf(y))


def test_correctly_rounded_on_a_wide_sample() -> None:
    x, y = ordinary_pairs(1 << 20, seed=4)
    with np.errstate(all="ignore"):
        value = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        window = 64 * float(np.finfo(value.dtype).eps)
        want = round_or_ask(value, window, lambda i: rounded_by_mpmath(float(x[i]), float(y[i])))
    assert np.count_nonzero(np.isfinite(want) & (want > 0)) > 900_000
    np.testing.assert_array_equal(bits(pow(x, y)), bits(want))


def exact_cases() -> list[tuple[float, float, Fraction]]:
    """Powers that are rational with few bits: some float32 numbers, some midpoints."""
    cases = [(b, n, Fraction(b) ** n) for b in range(2, 400) for n in range(-12, 13) if n]
    cases += [(b / 64, 3, Fraction(b, 64) ** 3) for b in range(1, 2000) if b != 64]
    roots = [(r, k) for r in range(2, 60) for k in (2, 3, 4)]
    cases += [(r**k, 1 / k, Fraction(r)) for r, k in roots if k != 3 and r**k < 2**24]
    cases += [(r**4, 0.75, Fraction(r) ** 3) for r in range(2, 60)]
    cases += [(r**4, 1.25, Fraction(r) ** 5) for r in range(2, 60)]
    cases += [(2.0**e, n, Fraction(2) ** (e * n)) for e in range(-149, 128) for n in (-3, 2, 3)]
    return [case for case in cases if case[0] != 1]


def half_even(value: Fraction) -> float:
    """The nearest float32 by a Fraction's own rounding, which is half to even."""
    exponent = math.floor(math.log2(value))
    unit = max(exponent - 23, -149)
    rounded = round(value / Fraction(2) ** unit) * Fraction(2) ** unit
    return INF if rounded >= 2**128 else float(rounded)


def test_exact_powers_and_ties() -> None:
    cases = exact_cases()
    want = f32(*(half_even(value) for _, _, value in cases))
    got = pow(f32(*(x for x, _, _ in cases)), f32(*(y for _, y, _ in cases)))
    np.testing.assert_array_equal(bits(got), bits(want))


def test_ties_are_among_the_exact_powers() -> None:
    assert bits(f32(257.0**3 - 1))[0] == single(257, 3)
    assert (257**3) % 2 == 1 and (257**3).bit_length() == 25


@pytest.mark.parametrize("exponent", [-3.0, -0.3, 0.3, 1.7, 2.2, 1000.5])
def test_monotone_in_the_base(exponent: float) -> None:
    for centre in (1.0, 1.9, 0.01, 1.4142135, 3e-39):
        pattern = int(bits(f32(centre))[0]) + np.arange(-20000, 20000)
        x = pattern.astype(np.uint32).view(np.float32)
        got = pow(x, np.full_like(x, exponent))
        rising = got[1:] >= got[:-1]
        assert (rising if exponent > 0 else got[1:] <= got[:-1]).all()


@pytest.mark.parametrize("base", [0.3, 0.9999, 1.0001, 1.5, 10.0, 1e-40])
def test_monotone_in_the_exponent(base: float) -> None:
    for centre in (0.1, 0.7, 1.6, 7.3):
        pattern = int(bits(f32(centre))[0]) + np.arange(-20000, 20000)
        y = pattern.astype(np.uint32).view(np.float32)
        got = pow(np.full_like(y, base), y)
        assert (got[1:] >= got[:-1] if base > 1 else got[1:] <= got[:-1]).all()


# -- the interface -----------------------------------------------------------------------------


def test_layout_and_block_size_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = every(1 << 17, seed=5).reshape(128, 256), every(1 << 17, seed=6)[::-1].reshape(128, 256)
    want = bits(pow(x, y))
    np.testing.assert_array_equal(bits(pow(x.T, y.T)), want.T)
    np.testing.assert_array_equal(bits(pow(x[::-2], y[::-2])), want[::-2])
    assert pow(x[3, 5].reshape(()), y[3, 5].reshape(())).view(np.uint32) == want[3, 5]
    monkeypatch.setattr(power, "BLOCK", 37)
    np.testing.assert_array_equal(bits(pow(x, y)), want)


def test_shapes_and_dtypes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\)"):
        pow(np.zeros(2, np.float32), np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="float64"):
        pow(np.zeros(2, np.float32), np.zeros(2))
