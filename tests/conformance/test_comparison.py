"""The comparison finds one wrong bit, and says where; the oracle agrees with itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from vkml_conformance.cases import Case, cases_of
from vkml_conformance.compare import check, compare
from vkml_conformance.report import Tally

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


def judged(op: str, device: str, level: Level = "exact", dtype: Any = float32) -> Tally:
    tally = Tally()
    for case in cases_of(REGISTRY[op], dtype):
        tally.add(check(case, "forward", device, level))
        if case.differentiable:
            tally.add(check(case, "gradient", device, level))
    return tally


def one_bit(attrs: Any, a: Any, b: Any) -> Any:
    out = np.asarray(a + b)
    if out.size > 7:
        out.reshape(-1).view(np.uint32)[7] ^= 1
    return out


def flushing(attrs: Any, x: Any) -> Any:
    out = np.asarray(-x)
    return np.where(np.abs(out) < np.finfo(np.float32).tiny, np.copysign(0.0, out), out)


def test_a_wrong_bit_is_found_and_shown(breaks: Callable[..., str]) -> None:
    tally = judged("add", breaks(add=one_bit))
    line = next(tally.first_differences())
    assert line.startswith("add float32 (3,5,2,7) (3,5,2,7) contiguous usual: forward: 1 of 210")
    got, want = (int(word, 16) for word in re.findall("0x[0-9a-f]{8}", line))
    assert got ^ want == 1 and "first at (0, 0, 1, 0): got" in line
    (count,) = (c for key, c in tally.lines.items() if key[2] == "forward")
    assert 20 < count.differing < count.cases and f"{count.differing}" in tally.table()


def test_a_gradient_is_compared_too(breaks: Callable[..., str]) -> None:
    tally = judged("sin", breaks(cos=lambda attrs, x: x))
    assert {part for _, _, part in tally.differences} == {"gradient"}


def test_flushing_is_a_difference_at_level_exact_only(breaks: Callable[..., str]) -> None:
    device = breaks(neg=flushing)
    assert judged("neg", device).differing
    normal = judged("neg", device, "exact-normal")
    assert not normal.differing
    assert sum(count.elements for count in normal.lines.values()) > 10_000
    assert any(count.left_out for count in normal.lines.values())


def test_an_exception_is_a_difference(breaks: Callable[..., str]) -> None:
    def fails(attrs: Any, x: Any) -> Any:
        raise RuntimeError("no such kernel")

    tally = judged("neg", breaks(neg=fails), dtype=int32)
    assert all(count.differing == count.cases for count in tally.lines.values())
    assert "RuntimeError: no such kernel" in next(tally.first_differences())


@pytest.mark.parametrize("op", ["cast", "gather", "max_pool2d", "full", "assign", "pad"])
def test_the_oracle_agrees_with_itself(op: str) -> None:
    tally = judged(op, "cpu")
    assert not tally.differing and tally.lines


def test_shapes_and_zeros_count() -> None:
    held = np.ones(2, np.bool_)
    zero, minus = np.zeros(2, np.float32), np.array([0.0, -0.0], np.float32)
    assert compare("x", "forward", zero, zero, held) is None
    found = compare("x", "forward", zero, minus, held)
    assert found is not None and found.index == (1,) and "0x80000000" in found.want
    assert compare("x", "forward", zero, minus, np.array([True, False])) is None
    assert compare("x", "forward", zero[:1], zero, held) is not None
    assert compare("x", "forward", zero.astype(np.float16), zero, held) is not None


def test_a_case_prints_itself() -> None:
    case: Case = next(cases_of(REGISTRY["sum"], float32))
    assert case.name == "sum float32 (3,5,2,7) axes=(0,) contiguous usual"
