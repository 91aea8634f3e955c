"""Each known fault is called by its name, and a distance in ulp is one in ulp."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from faulty import faulty
from vkml_conformance import orders
from vkml_conformance.cases import cases_of
from vkml_conformance.causes import guess, ulps
from vkml_conformance.check import Check
from vkml_conformance.engine import judge
from vkml_conformance.evidence import Evidence
from vkml_conformance.places import is_tail
from vkml_conformance.rows import check_of, parts
from vkml_conformance.training import TrainingSubject
from vkml_conformance.variants import flushing

import vkml
from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_cpu.kernels.random import philox
from vkml_backend_cpu.table import TABLE
from vkml_core.dtypes import DType, float16, float32, int64
from vkml_core.ops.spec import REGISTRY

Rows = Mapping[str, Callable[..., Any]]


def checks(op: str, dtype: DType = float32, most: int = 10**6) -> list[Check]:
    found = [check_of(c, p) for c in cases_of(REGISTRY[op], dtype) for p in parts(c)]
    return found[:: max(1, len(found) // most)]


def causes(rows: Rows, some: Sequence[Check], conversions: Any = None) -> Counter[str]:
    """Count the causes of all differences of a faulty device."""
    found: Counter[str] = Counter()
    with faulty(conversions, **rows) as device:
        for check in some:
            outcome = judge(check, device, "exact")
            assert outcome.status != "error", outcome
            if outcome.difference is not None:
                found[outcome.difference.cause.removeprefix("looks like: ")] += 1
    assert found
    return found


def one(name: str, change: Callable[[Any, Any], Any]) -> Rows:
    """Change the result of a row: `change(result, operands)`."""
    return {name: lambda attrs, *xs: change(TABLE[name](attrs, *xs), xs)}


def drops_nan(attrs: Any, a: Any, b: Any) -> Any:
    larger = TABLE["maximum"](attrs, a, b)
    return np.where(a != a, b, np.where(b != b, a, larger))


def last_tie(attrs: Any, x: Any) -> Any:
    best = TABLE["amax"](type("A", (), {"axes": (attrs.axis,)}), x)
    hits = np.flip((x == np.expand_dims(best, attrs.axis)) | (x != x), attrs.axis)
    return (x.shape[attrs.axis] - 1 - np.argmax(hits, attrs.axis)).astype(np.int64)


def truncated(attrs: Any, a: Any, b: Any) -> Any:
    return (
        (a + b).astype(a.dtype) if a.dtype != np.int64 else (a + b).astype(np.int32).astype(a.dtype)
    )


def off_counter(attrs: Any, seed: Any, offset: Any) -> Any:
    count = int(np.prod(attrs.shape))
    words = philox(int(seed), int(offset), count + 4)
    kept = np.r_[words[: count - count % 4], words[count - count % 4 + 1 :]][:count]
    return (kept >> np.uint32(32 - attrs.bits)).astype(np.int32).reshape(attrs.shape)


def unwritten(out: Any, operands: Any) -> Any:
    out = np.array(out)
    if out.size:
        out[..., -1, :] = 0
    return out


def strides_ignored(attrs: Any, x: Any) -> Any:
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    fits = base.size == x.size and base.dtype == x.dtype
    return np.array(-(base.reshape(x.shape) if fits else x))


def one_ulp(out: Any, operands: Any) -> Any:
    out = np.array(out)
    some = np.isfinite(out) & (out != 0) & (out.view(np.uint32) % 7 == 3)
    return np.where(some, np.nextafter(out, np.float32(0)), out)


def toward_zero(x: Any) -> Any:
    out = oracle.conversions.narrow(x)
    over = np.abs(out.astype(np.float32)) > np.abs(x)
    return np.where(over & np.isfinite(x), np.nextafter(out, np.float16(0)), out)


FUSED = orders.FUSED[1]()
SEQUENTIAL = orders.ORDERS["one after another"]()
MORE = {"cumsum": 240, "sum": 150}
"""Cases of rows of which few have more elements than a lane or a chunk."""
KNOWN: list[tuple[str, Rows, str, DType]] = [
    ("subnormals flushed", flushing(operands=True, results=True), "mul", float32),
    ("subnormals flushed", flushing(operands=True, results=False), "div", float32),
    ("subnormals flushed", flushing(operands=False, results=True), "neg", float32),
    ("subnormals flushed", flushing(operands=True, results=False), "equal", float32),
    ("negative zero", one("neg", lambda out, _: out + out.dtype.type(0)), "neg", float32),
    ("NaN handling", {"maximum": drops_nan}, "maximum", float32),
    ("fused multiply-add", FUSED, "matmul", float32),
    ("fused multiply-add", FUSED, "conv2d", float32),
    ("fused multiply-add", FUSED, "conv2d_weight_grad", float32),
    ("fused multiply-add", FUSED, "conv2d_input_grad", float32),
    ("reduction order (one after another)", SEQUENTIAL, "sum", float32),
    ("reduction order", orders.ORDERS["16 lanes"](), "sum", float32),
    ("reduction order", orders.ORDERS["NumPy's pairwise sum"](), "sum", float32),
    ("reduction order (chunks of 256)", orders.ORDERS["chunks of 256"](), "matmul", float32),
    ("reduction order (last first)", orders.ORDERS["last first"](), "matmul", float32),
    (
        "reduction order (one after another)",
        orders.ORDERS["one after another"](),
        "cumsum",
        float32,
    ),
    ("reduction order (one after another)", orders.ORDERS["one after another"](), "prod", float32),
    ("uninitialised tail", one("matmul", unwritten), "matmul", float32),
    ("elements in wrong places", {"neg": strides_ignored}, "neg", float32),
    ("off by one ulp", one("div", one_ulp), "div", float32),
    ("ties", {"argmax": last_tie}, "argmax", float32),
    ("index truncated", {"add": truncated}, "add", int64),
    ("random counter", {"random_bits": off_counter}, "random_bits", int64),
]


def named(value: object) -> str:
    """Tables of functions would be printed with their addresses, which differ between workers."""
    return "" if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(("cause", "rows", "op", "dtype"), KNOWN, ids=named)
def test_a_known_fault_is_named(cause: str, rows: Rows, op: str, dtype: DType) -> None:
    found = causes(rows, checks(op, dtype, MORE.get(op, 60)))
    named = sum(n for name, n in found.items() if name.startswith(cause))
    assert named > 0.6 * found.total(), found


def test_float16_rounded_toward_zero() -> None:
    how = replace(oracle.conversions, narrow=toward_zero)
    found = causes({}, checks("div", float16, 60), how)
    assert found.most_common(1)[0][0] == "float16 rounding toward zero", found


def test_elements_that_moved_by_one() -> None:
    rolled = one("neg", lambda out, _: np.roll(out, 1))
    found = causes(rolled, checks("neg", most=60))
    assert found["elements shifted by 1"] > 0.3 * found.total(), found


def test_contraction_outside_of_products() -> None:
    x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)

    class Sum:
        results = ("output 0",)

        def record(self, leaves: Sequence[vkml.Tensor]) -> list[vkml.Tensor]:
            a, b, c = leaves
            return [a * b + c]

    wanted = x[0] * x[1] + x[2]
    got = orders.fma(*x)
    assert not np.array_equal(got, wanted)
    found = guess(Sum(), "output 0", "first", got, wanted, list(x), None)  # type: ignore[arg-type]
    assert found == "fused multiply-add"


def test_fma_rounds_once() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**32, (3, 20_000), dtype=np.uint32)
    words[2, ::2] = (words[0, ::2] & 0x7FFFFF) + (words[1, ::2] & 0x7F800000)
    a, b, c = words.view(np.float32)
    with np.errstate(all="ignore"):
        fused = orders.fma(a, b, c)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    for x, y, z, got in zip(*(v[finite] for v in (a, b, c, fused)), strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        assert got == nearest(exact), (x, y, z)


def nearest(exact: Fraction) -> np.float32:
    """Round a fraction to float32, half to even, by integers alone."""
    size = abs(exact)
    if size == 0:
        return np.float32(0)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    found = float(round(size / unit) * unit) if exponent < 200 else math.inf
    return np.float32(math.copysign(found if found < 2.0**128 else math.inf, exact))


def test_a_stale_read_and_a_run_that_alone_is_wrong() -> None:
    subject = next(c.subject for c in checks("neg") if c.subject.wanted()[0].shape == (7,))
    (want,) = subject.wanted()
    earlier, some = want + np.float32(10), np.arange(7) < 3
    told = partial(guess, subject, "forward", want=want, leaves=subject.leaves())
    assert told(run="replay", got=np.where(some, earlier, want), earlier=earlier) == "stale read"
    odd = np.where(np.arange(7) == 2, np.float32(1e30), want)
    assert told(run="replay", got=odd, earlier=earlier) == "only through replay"
    assert told(run="eager", got=odd, earlier=None) == "only op by op"
    assert told(run="first", got=odd, earlier=None) == ""


def test_an_end_is_told_from_anything_else() -> None:
    def evidence(wrong: Any) -> Any:
        want = np.ones(wrong.shape, np.float32)
        got = np.where(wrong, np.float32(7e9), want)
        return Evidence(None, "x", "first", got, want, [], None)  # type: ignore[arg-type]

    rows, cols = np.indices((40, 12))
    assert is_tail(evidence(rows == 39)) and is_tail(evidence(cols >= 10))
    assert is_tail(evidence(rows * 12 + cols >= 470)) and is_tail(evidence(rows % 16 == 15))
    assert not is_tail(evidence(rows == 38)) and not is_tail(evidence(rows >= 0))
    assert not is_tail(evidence((rows == 39) & (cols == 3)))


def test_distances() -> None:
    f, h, inf = np.float32, np.float16, np.inf
    assert ulps(f(1), np.nextafter(f(1), f(2))) == 1
    assert ulps(f(-0.0), f(0.0)) == 0 and ulps(f(-1e-45), f(1e-45)) == 2
    assert ulps(h(1), h(2)) == 1024 and ulps(np.finfo(f).max, f(inf)) == 1
    assert ulps(f(-inf), f(inf)) == 2 * 0x7F800000
    assert ulps(f(np.nan), f(1)) is None and ulps(np.int64(3), np.int64(4)) is None


def test_the_end_of_a_whole_run_that_lies_near() -> None:
    subject = TrainingSubject("mlp", 0, 1)
    want = subject.wanted()[1]
    got = np.where(
        np.arange(want.size).reshape(want.shape) % 3 == 0, want * np.float32(1.00001), want
    )
    told = guess(subject, subject.results[1], "first", got, want, subject.leaves(), None)
    assert told == "reduction order or fused multiply-add"
