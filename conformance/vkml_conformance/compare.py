"""Compares a device with the oracle bit for bit, and says where the first difference is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from vkml_conformance.cases import Case
from vkml_conformance.normal import compared, compared_gradient
from vkml_conformance.run import forward, gradients
from vkml_conformance.values import Array, words
from vkml_core.backend import Level

ORACLE: Final = "cpu"
Part = Literal["forward", "gradient"]


@dataclass(frozen=True)
class Difference:
    """How many elements of one result differ; the first of them and its bits."""

    case: str
    what: str
    wrong: int
    of: int
    index: tuple[int, ...]
    got: str
    want: str

    def __str__(self) -> str:
        return (
            f"{self.case}: {self.what}: {self.wrong} of {self.of} differ, first at {self.index}: "
            f"got {self.got}, want {self.want}"
        )


@dataclass(frozen=True)
class Outcome:
    """What came of a part of a case; `held` is False where the device's level promises nothing."""

    case: Case
    part: Part
    held: bool = True
    elements: int = 0
    difference: Difference | None = None


def compare(case: str, what: str, got: Array, want: Array, held: Array) -> Difference | None:
    """Compare shape, dtype and every bit of the elements that are held; None where they agree."""
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        shown = [f"{x.dtype}{x.shape}" for x in (got, want)]
        return Difference(case, what, want.size, want.size, (), *shown)
    a, b = words(got), words(want)
    wrong = np.argwhere((a != b) & held)
    if not len(wrong):
        return None
    index = tuple(map(int, wrong[0]))
    digits = 2 * got.dtype.itemsize
    shown = [f"0x{int(x[index]):0{digits}x} ({y[index]})" for x, y in ((a, got), (b, want))]
    return Difference(case, what, len(wrong), want.size, index, *shown)


def _check_forward(case: Case, device: str, level: Level) -> Outcome:
    want = forward(case, ORACLE)
    held = compared(case, want) if level == "exact-normal" else np.ones(want.shape, np.bool_)
    if held is None:
        return Outcome(case, "forward", held=False)
    found = compare(case.name, "forward", forward(case, device), want, held)
    return Outcome(case, "forward", True, int(held.sum()), found)


def _check_gradient(case: Case, device: str, level: Level) -> Outcome:
    wanted = gradients(case, ORACLE)
    masks = [
        compared_gradient(case, want) if level == "exact-normal" else np.ones(want.shape, np.bool_)
        for want in wanted
    ]
    held = [mask for mask in masks if mask is not None]
    if len(held) < len(masks):
        return Outcome(case, "gradient", held=False)
    pairs = zip(case.values, gradients(case, device), wanted, held, strict=True)
    found = [compare(case.name, f"gradient of operand {i}", *rest) for i, *rest in pairs]
    first = next(filter(None, found), None)
    return Outcome(case, "gradient", True, sum(int(m.sum()) for m in held), first)


_CHECKS: Final[dict[Part, Callable[[Case, str, Level], Outcome]]] = {
    "forward": _check_forward,
    "gradient": _check_gradient,
}


def check(case: Case, part: Part, device: str, level: Level = "exact") -> Outcome:
    """Run a part of a case on a device and on the oracle; an exception is a difference too."""
    with np.errstate(all="ignore"):
        try:
            return _CHECKS[part](case, device, level)
        except Exception as error:  # whatever a backend raises belongs into the table
            said = f"{type(error).__name__}: {error}"
            found = Difference(case.name, part, 0, 0, (), said, "a result")
            return Outcome(case, part, difference=found)
