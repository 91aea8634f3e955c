"""Checks of what has to be refused: values that an operand may not hold, after which all goes on.

Each sends one such value through a row, then valid ones through the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.cases import Case, cases_of, takes
from vkml_conformance.check import Check
from vkml_conformance.domains import DOMAINS
from vkml_conformance.engine import ORACLE, compute
from vkml_conformance.rows import about, apply, views
from vkml_conformance.values import Array
from vkml_core import errors
from vkml_core.errors import Error
from vkml_core.ops.spec import REGISTRY

_NEWER: Final = ("CompileError",)
"""Errors that came after results had been recorded: they are counted last."""
ERRORS: Final = (
    *sorted(
        {x.__name__ for x in vars(errors).values() if isinstance(x, type) and issubclass(x, Error)}
        - set(_NEWER)
    ),
    *_NEWER,
)
"""Names of vkml's errors; a result holds the place of one, from 1."""
LAYOUTS: Final = ("contiguous", "sliced")


def raised(compute: Callable[[], object]) -> int:
    """Give the number of the error of vkml's that is raised, from 1; 0 for none."""
    try:
        compute()
    except Error as error:
        return 1 + ERRORS.index(type(error).__name__)
    return 0


@dataclass(frozen=True)
class RefusalSubject:
    """A case with one element of one operand replaced by a value that is refused."""

    case: Case
    position: int
    value: int

    @property
    def results(self) -> tuple[str, str]:
        """The number of the error in `ERRORS`, from 1; the result of valid values after it."""
        return "error that is raised (0: none)", "result afterwards"

    def leaves(self) -> list[Array]:
        """Give the memory of the operands, then that of the operand with the refused value."""
        pairs = zip(self.case.arrays, self.case.layouts, strict=True)
        bad = self.case.arrays[self.position].copy()
        bad.reshape(-1)[bad.size // 2] = self.value
        layout = self.case.layouts[self.position]
        return [*(lay.memory(x) for x, lay in pairs), layout.memory(bad)]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Compute with the refused value and note the error, then record with valid ones."""
        *good, bad = leaves
        operands = [bad if i == self.position else leaf for i, leaf in enumerate(good)]
        code = raised(lambda: vkml.realize(apply(self.case, views(self.case, operands))))
        noted = vkml.tensor(np.array([code], np.int32), device=bad.device)
        return [noted, apply(self.case, views(self.case, good))]

    def wanted(self) -> list[Array]:
        """Give what the oracle raises and gives."""
        return compute(self.leaves(), self, ORACLE)

    def held(self, wanted: Sequence[Array]) -> list[Array]:
        """Mark everything: integers are never subnormal."""
        return [np.ones(w.shape, np.bool_) for w in wanted]


def derive(seed: int = 0) -> Iterator[Check]:
    """Give a check for every refused value of every integer operand, in two layouts."""
    for spec in REGISTRY.values():
        for dtype in takes(spec):
            for case in cases_of(spec, dtype, seed):
                usual = case.domain == DOMAINS[dtype.category][0]
                if usual and case.sample.full and _layout(case) in LAYOUTS:
                    yield from _of_case(case)


def _layout(case: Case) -> str:
    """Give the name of the layout that all operands have, if they have one."""
    names = {layout.name for layout in case.layouts}
    return names.pop() if len(names) == 1 else ""


def _of_case(case: Case) -> Iterator[Check]:
    for position, operand in enumerate(case.sample.operands):
        dtype = operand.role.dtype or case.dtype
        for value in operand.role.refused if dtype.category == "int" else ():
            yield _check(case, position, value)


def _check(case: Case, position: int, value: int) -> Check:
    seed = f"@{case.seed}" if case.seed else ""
    name = f"{case.name} {position} {value}".replace(" ", "/")
    return Check(
        id=f"refusal/{name}{seed}",
        family="state",
        op=case.spec.name,
        dtype=case.dtype.name,
        part="state",
        subject=RefusalSubject(case, position, value),
        about={**about(case), "refused": f"{value} in operand {position}"},
        runs=("first",),
    )
