"""Sweeps reach every rounding row, their hard cases are hard, and a rare wrong bit is caught."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from faulty import faulty
from vkml_conformance import hard, sweeps
from vkml_conformance.cases import takes
from vkml_conformance.check import Check
from vkml_conformance.engine import judge

from vkml_backend_cpu.table import TABLE
from vkml_core.dtypes import FLOATS
from vkml_core.ops.spec import REGISTRY, Form, Kind

CHECKS = list(sweeps.derive())


def some(op: str, dtype: str = "float32", source: str = "") -> list[Check]:
    start = f"sweep/{op}/{dtype}/{source}"
    return [c for c in CHECKS if c.id.startswith(start)]


def test_ids_are_unique_and_a_function_of_the_seed() -> None:
    ids = [c.id for c in CHECKS]
    assert len(set(ids)) == len(ids) and ids == [c.id for c in sweeps.derive()]
    assert [c.id for c in sweeps.derive(7)] == [f"{i}@7" for i in ids]
    thorough = {c.id for c in sweeps.derive(thorough=True)}
    assert thorough > set(ids) and len(thorough) > 8 * len(ids)


def test_every_rounding_row_is_swept() -> None:
    forms = (Form.ROUNDED, Form.POW, Form.WRITTEN)
    rounding = [s for s in REGISTRY.values() if s.form in forms]
    assert all(s.kind is Kind.ELEMENTWISE for s in rounding)
    swept = {(c.op, c.dtype) for c in CHECKS}
    assert swept >= {(s.name, t.name) for s in rounding for t in takes(s) if t in FLOATS}
    assert swept >= {("cast", t) for t in ("int32", "int64", "float16", "float32")}


def test_all_float16_are_among_the_operands_of_one() -> None:
    for check in CHECKS:
        unary = REGISTRY[check.op].arity == 1
        if check.dtype == "float16" and unary:
            (x,) = check.subject.leaves()
            assert np.array_equal(x.view(np.uint16), np.arange(1 << 16)), check.id


def test_operands_are_a_function_of_id_and_seed() -> None:
    for check, again, other in zip(CHECKS, sweeps.derive(), sweeps.derive(7), strict=True):
        if check.id.split("/")[1] in ("exp", "mul", "cast"):
            given, same, changed = (c.subject.leaves() for c in (check, again, other))
            for x, y in zip(given, same, strict=True):
                assert x.tobytes() == y.tobytes()
            drawn = check.subject.source.drawn  # type: ignore[attr-defined]
            assert drawn != (given[0].tobytes() == changed[0].tobytes()), check.id


def test_patterns_of_one_operand_are_one_of_each_stratum() -> None:
    (check,) = some("exp", source="patterns")
    (x,) = check.subject.leaves()
    stratum = (1 << 32) // x.size
    assert np.array_equal(x.view(np.uint32) // stratum, np.arange(x.size))


# Hard cases.
def from_middle(exact: Fraction) -> float:
    """Give how far a number is from the middle of two floats, in units of their distance."""
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    places = size / Fraction(2) ** (max(exponent, -126) - 23)
    return float(abs(places - math.floor(places) - Fraction(1, 2)))


EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sqrt": lambda x: Fraction(math.isqrt(int(x * 2**500)), 2**250),
}
EXPECTED = {
    "quotients": (1.0, 0.0, False),
    "small-quotients": (1.0, 0.2, True),
    "products": (0.5, 0.05, False),
    "small-products": (0.7, 0.3, True),
    "sums": (0.6, 0.25, False),
    "roots": (1.0, 0.0, False),
}
"""Shares of results next to a middle and on one; whether they are subnormal."""


@pytest.mark.parametrize(("op", "name"), [(op, name) for op in hard.HARD for name in hard.HARD[op]])
def test_hard_cases_are_hard(op: str, name: str) -> None:
    operands = hard.HARD[op][name](hard.mixed(f"test {op} {name}", 2000))
    assert all(np.isfinite(x).all() and x.all() for x in operands)
    numbers = zip(*([Fraction(float(v)) for v in x] for x in operands), strict=True)
    results = [EXACT[op](*v) for v in numbers]
    apart = np.array([from_middle(r) for r in results if r])
    near, on, subnormal = EXPECTED[name]
    assert np.mean(apart < 2**-9) >= near and np.mean(apart == 0) >= on
    assert all((abs(r) < Fraction(2) ** -126) == subnormal for r in results if r)


# Faults.
def test_division_wrong_once_in_a_million_is_caught() -> None:
    """Which pairs are wrong depends on their bits alone."""

    def rarely(attrs: Any, a: Any, b: Any) -> Any:
        out = np.array(TABLE["div"](attrs, a, b))
        if out.dtype == np.float32 and out.size:
            x, y = (np.ascontiguousarray(v).view(np.uint32).astype(np.uint64) for v in (a, b))
            mixed = (x * np.uint64(0x9E3779B97F4A7C15) ^ y) * np.uint64(0xBF58476D1CE4E5B9)
            wrong = (mixed >> np.uint64(20)) % np.uint64(1_000_000) == 0
            out.view(np.uint32)[wrong & np.isfinite(out)] ^= np.uint32(1)
        return out

    with faulty(div=rarely) as device:
        outcomes = [judge(c, device, "exact", ("first",)) for c in some("div", source="many")]
    found = [o.difference for o in outcomes if o.difference is not None]
    assert len(found) >= 3 and {d.ulps for d in found} == {1}
    assert {d.cause for d in found} == {"looks like: off by one ulp"}


@pytest.mark.parametrize(
    ("op", "source"),
    [
        ("div", "quotients"),
        ("sqrt", "roots"),
        ("mul", "products"),
        ("exp", "usual"),
        ("tan", "usual"),
    ],
)
def test_rounding_twice_is_caught(op: str, source: str) -> None:
    """Results in float64 but for their last 20 bits, rounded to float32."""
    function = {"div": np.divide, "mul": np.multiply}.get(op) or getattr(np, op)

    def twice(attrs: Any, *xs: Any) -> Any:
        wide = np.array(function(*(x.astype(np.float64) for x in xs)))
        wide.view(np.uint64)[...] &= ~np.uint64((1 << 20) - 1)
        return wide.astype(np.float32)

    with faulty(**{op: twice}) as device:
        outcomes = [judge(c, device, "exact", ("first",)) for c in some(op, source=source)]
    assert all(o.status == "differs" for o in outcomes) and outcomes


@pytest.mark.parametrize("op", ["cast", "sqrt", "pow"])
def test_the_oracle_passes(op: str) -> None:
    for check in some(op) + some(op, "float16") + some(op, "int64"):
        outcome = judge(check, "cpu", "exact")
        assert outcome.status == "equal" and outcome.elements > 1000, (check.id, outcome)


def test_flushing_is_held_at_exact_normal() -> None:
    def flushing(attrs: Any, a: Any, b: Any) -> Any:
        tiny = np.finfo(np.float32).tiny
        a, b = (np.where(np.abs(x) < tiny, x * np.float32(0), x) for x in (a, b))
        out = TABLE["mul"](attrs, a, b)
        return np.where(np.abs(out) < tiny, np.copysign(np.float32(0), out), out)

    with faulty(mul=flushing) as device:
        (check,) = some("mul", source="edges")
        assert judge(check, device, "exact").status == "differs"
        normal = judge(check, device, "exact-normal")
        assert normal.status == "equal" and normal.elements > 50_000
