"""Runs that fail half way: they raise the documented error and leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

import vkml
from vkml import Tensor, nn, optim
from vkml_conformance.check import Check
from vkml_conformance.engine import ORACLE, upload
from vkml_conformance.failures import COUNT, FAILURES, WIDE, Failure, label_loss, whole
from vkml_conformance.values import Array, bits
from vkml_core.errors import IndexError_
from vkml_core.graph import build


class Unraised(AssertionError):
    """A run that must fail did not."""


def _fails(failure: Failure, run: Callable[[], None]) -> None:
    """Run what must fail. Raises Unraised where it does not, or not with the documented error."""
    says = str(failure.bad) if failure.error is IndexError_ else ""
    try:
        run()
    except failure.error as error:
        if says not in str(error):
            raise Unraised(f"{failure.op}: the error does not name {says}: {error}") from error
        return
    raise Unraised(
        f"{failure.op}: expected {failure.error.__name__} for {failure.bad}, and nothing was raised"
    )


def _kept(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copy tensors as they are now."""
    copies = [Tensor(build.contiguous(t.node)) for t in tensors]
    vkml.realize(*copies)
    return copies


def _assigned(failure: Failure, leaves: Sequence[Tensor], fails: bool) -> list[Tensor]:
    """Assign two values of one plan, of which one fails; then again without a failure."""
    x, *targets = leaves[0], *_kept(leaves[1:])

    def step(number: int) -> None:
        new = targets[0] * 0.5 + failure.make(x, number)
        targets[1].assign_(targets[1] * 2.0 + 1.0)
        targets[0].assign_(new)
        vkml.realize(*targets)

    if fails:
        _fails(failure, lambda: step(failure.bad))
    after = _kept(targets)
    step(failure.good)
    return [*after, *_kept(targets)]


def _beside(failure: Failure, leaves: Sequence[Tensor], fails: bool) -> list[Tensor]:
    """Assign values in a plan in which something else fails: each is assigned exactly once."""
    x, *targets = leaves[0], *_kept(leaves[1:])
    for target in targets:
        target.assign_(target * 2.0 + 1.0)
    if fails:
        _fails(failure, lambda: vkml.realize(failure.make(x, failure.bad)))
    after = _kept(targets)
    targets[0].assign_(targets[0] + failure.make(x, failure.good))
    return [*after, *_kept(targets)]


def _trained(failure: Failure, leaves: Sequence[Tensor], fails: bool) -> list[Tensor]:
    """Take steps of SGD with momentum; the second one has a label out of range."""
    x, *first = leaves[0], *_kept(leaves[1:])
    weight, bias = (nn.Parameter(t) for t in first)
    optimizer = optim.SGD([weight, bias], lr=0.1, momentum=0.9)

    def step(label: int) -> None:
        optimizer.zero_grad()
        rows = x.transpose(0, 1)
        logits = rows @ x * weight + bias
        loss = vkml.cross_entropy(logits, whole([label, *range(1, WIDE)], x))
        loss.backward()
        optimizer.step()
        loss.realize()

    step(1)
    if fails:
        _fails(failure, lambda: step(failure.bad))
    after = _kept([weight, bias])
    step(2)
    return [*after, *_kept([weight, bias])]


Scenario = Callable[[Failure, Sequence[Tensor], bool], list[Tensor]]
_STEP: Final = Failure("gather", label_loss, 0, WIDE)
STATES: Final[dict[str, tuple[Scenario, Failure]]] = {
    **{name: (_assigned, failure) for name, failure in FAILURES.items()},
    **{f"beside-{name}": (_beside, failure) for name, failure in FAILURES.items()},
    "training-step": (_trained, _STEP),
}
"""What is run, and what fails in it."""


@dataclass(frozen=True)
class StateSubject:
    """A run that fails between others. Leaves: numbers, and the first values of two tensors."""

    name: str
    seed: int
    costly = True
    """Recording it computes: it is not recorded only to be looked at."""

    @property
    def results(self) -> tuple[str, ...]:
        """Both tensors after the failure, and after a run without one."""
        return tuple(
            f"{which} tensor after {when}"
            for when in ("the failure", "the next run")
            for which in ("first", "second")
        )

    def leaves(self) -> list[Array]:
        """Give float32 of magnitudes from 2⁻⁸ to 1."""
        shapes = ((COUNT, WIDE), (WIDE,), (WIDE,))
        words = [
            bits(f"state {self.name} {self.seed} {i}", s, np.int8) for i, s in enumerate(shapes)
        ]
        return [(w.astype(np.float32) + np.float32(0.5)) / np.float32(128) for w in words]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Run it all. Raises Unraised where the documented error is not raised."""
        scenario, failure = STATES[self.name]
        return scenario(failure, leaves, True)

    def wanted(self) -> list[Array]:
        """Give what the oracle gives when the failing run is left out."""
        scenario, failure = STATES[self.name]
        found = scenario(failure, upload(self.leaves(), ORACLE), False)
        return [t.numpy() for t in found]

    def held(self, wanted: Sequence[Array]) -> list[Array]:
        """Promise everything: no number comes near the subnormal ones."""
        return [np.ones(w.shape, np.bool_) for w in wanted]


def derive(seed: int = 0) -> Iterator[Check]:
    """Give the checks of the family `state`: `state/<what>`, with `@<seed>` for other seeds."""
    for name, (_, failure) in STATES.items():
        yield Check(
            id=f"state/{name}" + (f"@{seed}" if seed else ""),
            family="state",
            op=failure.op,
            dtype="float32",
            part="state",
            subject=StateSubject(name, seed),
            about={"fails": f"{failure.op} with {failure.bad}", "seed": str(seed)},
        )
