"""A check of what `Executable.run` promises: if it raises, no STATE buffer has been changed.

It goes to the device itself: a plan that overwrites a buffer in place and can fail afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.check import Check
from vkml_conformance.engine import ORACLE, compute, upload
from vkml_conformance.refusals import raised
from vkml_conformance.values import Array, below, bits
from vkml_core.backend import Device
from vkml_core.graph import Node, build, pending_inputs, reachable
from vkml_core.plugins import open_device
from vkml_core.schedule import Scheduled, schedule

SIZE: Final = 40
BAD: Final = SIZE // 2
"""The place of the index that is out of range."""


@dataclass(frozen=True)
class DonationSubject:
    """`target + 1` written into target, beside a gather whose index is out of range at first."""

    seed: int = 0
    results: tuple[str, ...] = (
        "error that is raised (0: none)",
        "target after the failure",
        "target after the next run",
        "gathered by the next run",
    )

    def leaves(self) -> list[Array]:
        """Give target, what is gathered from, valid and invalid indices."""
        name = f"donation {self.seed}"
        target, source = bits(name, (2, SIZE), np.int32)
        good = below(name, (SIZE,), SIZE)
        return [target, source, good, np.where(np.arange(SIZE) == BAD, SIZE, good)]

    @property
    def operations(self) -> set[str]:
        """Name the operations of its plan, which the runtime does not see."""
        made, _ = _planned([leaf.node for leaf in upload(self.leaves(), ORACLE)])
        return set(made.plan.ops())

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Run the plan with the invalid indices, then with the valid ones."""
        target, _, good, bad = nodes = [leaf.node for leaf in leaves]
        opened = open_device(target.device)
        made, order = _planned(nodes)
        executable = opened.compile(made.plan)

        def run(indices: Node) -> Sequence[Any]:
            nodes = [indices if order[i] is good else order[i] for i in made.inputs]
            return executable.run([buffer(node) for node in nodes], numbers(made, order))

        code = raised(lambda: run(bad))
        kept = _read(opened, buffer(target), target)
        after, gathered = (_read(opened, b, target) for b in run(good))
        found = np.array([code], np.int32), kept, after, gathered
        return [vkml.tensor(x, device=target.device) for x in found]

    def wanted(self) -> list[Array]:
        """Give what the oracle gives."""
        return compute(self.leaves(), self, ORACLE)

    def held(self, wanted: Sequence[Array]) -> list[Array]:
        """Mark everything: integers are never subnormal."""
        return [np.ones(w.shape, np.bool_) for w in wanted]


def _planned(leaves: Sequence[Node]) -> tuple[Scheduled, list[Node]]:
    """Plan `target + 1`, to be written into target, and the gather."""
    target, source, good, _ = leaves
    roots = [build.assign(target, target + 1), build.gather(source, good, axis=0)]
    order = reachable(roots, pending_inputs)
    capabilities = open_device(target.device).capabilities()
    return schedule(order, roots, donate=[target], capabilities=capabilities), order


def buffer(node: Node) -> Any:
    """Give the buffer of a leaf."""
    assert node.storage is not None
    return node.storage.buffer


def numbers(made: Scheduled, order: Sequence[Node]) -> list[Any]:
    """Give the host numbers that a plan takes."""
    return [order[i].value for i in made.scalars]


def _read(device: Device, held: Any, like: Node) -> Array:
    return device.download(held, like.shape, like.dtype)


def derive(seed: int = 0) -> Iterator[Check]:
    """Give the one check."""
    yield Check(
        id=f"state/donated{f'@{seed}' if seed else ''}",
        family="state",
        op="assign",
        dtype="int32",
        part="state",
        subject=DonationSubject(seed),
        about={"seed": str(seed)},
        runs=("first",),
    )
