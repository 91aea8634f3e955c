"""The comparison finds one wrong bit, and says where; the oracle agrees with itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from vkml_conformance.cases import Case, cases_of
from vkml_conformance.check import Check, Outcome
from vkml_conformance.engine import compare, judge
from vkml_conformance.rows import check_of, parts

from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_cpu.table import TABLE
from vkml_core import plugins
from vkml_core.backend import Available, DeviceInfo, Level
from vkml_core.dtypes import float32, int32
from vkml_core.ops.spec import REGISTRY
from vkml_core.stepwise import StepwiseDevice


class Broken:
    """The oracle but for some rows."""

    NAME = "broken"
    API_VERSION = (1, 0)

    def __init__(self, **rows: Callable[..., Any]) -> None:
        self.rows = rows

    def probe(self) -> Available:
        return Available()

    def devices(self) -> list[DeviceInfo]:
        return [DeviceInfo(0, "broken", "cpu")]

    def open(self, index: int) -> StepwiseDevice:
        conversions = oracle.open(0).conversions
        table = {**TABLE, **self.rows}
        return StepwiseDevice("broken", "cpu", table, backend="broken", conversions=conversions)


@pytest.fixture
def breaks() -> Iterator[Callable[..., str]]:
    def register(**rows: Callable[..., Any]) -> str:
        plugins.register_backend(Broken(**rows))
        return "broken"

    yield register
    plugins.unregister_backend("broken")


Judged = list[tuple[Check, Outcome]]


def judged(op: str, device: str, level: Level = "exact", dtype: Any = float32) -> Judged:
    return [
        (check, judge(check, device, level, ("first",)))
        for case in cases_of(REGISTRY[op], dtype)
        for check in (check_of(case, part) for part in parts(case))
    ]


def differing(found: Judged) -> Judged:
    return [pair for pair in found if pair[1].status in ("differs", "error")]


def one_bit(attrs: Any, a: Any, b: Any) -> Any:
    out = np.asarray(a + b)
    if out.size > 7:
        out.reshape(-1).view(np.uint32)[7] ^= 1
    return out


def flushing(attrs: Any, x: Any) -> Any:
    out = np.asarray(-x)
    return np.where(np.abs(out) < np.finfo(np.float32).tiny, np.copysign(0.0, out), out)


def test_a_wrong_bit_is_found_and_shown(breaks: Callable[..., str]) -> None:
    found = [p for p in judged("add", breaks(add=one_bit)) if p[0].part == "forward"]
    check, outcome = differing(found)[0]
    assert check.about["shapes"] == "(3, 5, 2, 7), (3, 5, 2, 7)"
    place = outcome.difference
    assert place is not None and (place.wrong, place.of, place.index) == (1, 210, (0, 0, 1, 0))
    assert int(place.got, 16) ^ int(place.want, 16) == 1 and place.ulps == 1
    assert "first at (0, 0, 1, 0): got 0x" in str(place)
    assert 20 < len(differing(found)) < len(found)


def test_a_gradient_is_compared_too(breaks: Callable[..., str]) -> None:
    found = differing(judged("sin", breaks(cos=lambda attrs, x: x)))
    assert {check.part for check, _ in found} == {"gradient", "second"}


def test_flushing_is_a_difference_at_level_exact_only(breaks: Callable[..., str]) -> None:
    device = breaks(neg=flushing)
    assert differing(judged("neg", device))
    normal = judged("neg", device, "exact-normal")
    assert not differing(normal)
    assert sum(outcome.elements for _, outcome in normal) > 10_000
    assert any(outcome.status == "left out" for _, outcome in normal)


def test_an_exception_is_a_difference(breaks: Callable[..., str]) -> None:
    def fails(attrs: Any, x: Any) -> Any:
        raise RuntimeError("no such kernel")

    found = judged("neg", breaks(neg=fails), dtype=int32)
    assert {outcome.status for _, outcome in found} == {"error"}
    assert "RuntimeError: no such kernel" in found[0][1].message


@pytest.mark.parametrize("op", ["cast", "gather", "max_pool2d", "full", "assign", "pad"])
def test_the_oracle_agrees_with_itself(op: str) -> None:
    found = judged(op, "cpu")
    assert found and not differing(found)


def test_shapes_and_zeros_count() -> None:
    held = np.ones(2, np.bool_)
    zero, minus = np.zeros(2, np.float32), np.array([0.0, -0.0], np.float32)
    assert compare("x", "first", zero, zero, held) is None
    found = compare("x", "first", zero, minus, held)
    assert found is not None and found.index == (1,) and "0x80000000" in found.want
    assert compare("x", "first", zero, minus, np.array([True, False])) is None
    assert compare("x", "first", zero[:1], zero, held) is not None
    assert compare("x", "first", zero.astype(np.float16), zero, held) is not None


def test_a_case_prints_itself() -> None:
    case: Case = next(cases_of(REGISTRY["sum"], float32))
    assert case.name == "sum float32 (3,5,2,7) axes=(0,) contiguous usual"
