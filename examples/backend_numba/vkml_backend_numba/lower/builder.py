"""A program being written: substeps, the words that describe them, and memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from vkml_core.backend import Array

from vkml_backend_numba.kernels.library import KINDS

NOTHING: Final = -1
ALONE: Final = 1 << 15
"""Work below this is not worth waking a thread."""


@dataclass
class Builder:
    """Collects one plan's program. Memory of its own is numbered after the slots."""

    slots: int
    substeps: list[tuple[int, ...]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    """The plan's step of each substep."""
    words: list[int] = field(default_factory=list)
    loops: list[int] = field(default_factory=list)
    """Numbers of the element-wise loops that chains call."""
    extras: list[tuple[bool, int]] = field(default_factory=list)
    """Memory that is no slot: (False, where a temporary begins), (True, the STATE slot whose new
    value it is)."""
    memory: int = 0
    scratch: int = 1 << 20
    """Bytes of scratch memory that a thread needs."""
    step: int = 0
    _used: int = 0

    def begin(self, step: int) -> None:
        """Begin a step: the temporaries of those before are free again."""
        self.step, self._used = step, 0

    def temporary(self, nbytes: int) -> int:
        """Give the number of a piece of memory that lives as long as the step."""
        self.extras.append((False, self._used))
        self._used += -(-max(nbytes, 1) // 64) * 64
        self.memory = max(self.memory, self._used)
        return self.slots + len(self.extras) - 1

    def new_state(self, slot: int) -> int:
        """Give the number of the memory for a STATE slot's new value."""
        self.extras.append((True, slot))
        return self.slots + len(self.extras) - 1

    def describe(self, words: Sequence[int]) -> int:
        """Keep a description and give where it begins."""
        self.words.extend(int(w) for w in words)
        return len(self.words) - len(words)

    def add(
        self,
        kind: str,
        words: Sequence[int],
        units: int,
        each: int = 1,
        work: int = ALONE,
    ) -> None:
        """Add a substep of so many units, so many in a task; `work` counts steps of a loop."""
        self._add(kind, self.describe(words), units, each, work)

    def run_chain(self, at: int, units: int, each: int) -> None:
        """Add the chain described at a word as a substep of its own."""
        self._add("chain", at, units, each, ALONE)

    def go_on(self, at: int) -> None:
        """Let the chain described at a word go on with what each task of the last substep made."""
        row = self.substeps[-1]
        self.substeps[-1] = *row[:5], at, row[6]

    def _add(self, kind: str, at: int, units: int, each: int, work: int) -> None:
        tasks = -(-units // each)
        alone = int(tasks == 1 or work < ALONE)
        self.substeps.append((KINDS[kind], tasks, at, units, each, NOTHING, alone))
        self.steps.append(self.step)

    def needs(self, nbytes: int) -> None:
        """Ask for scratch memory of a thread."""
        self.scratch = max(self.scratch, nbytes + 4096)

    def mark(self) -> tuple[int, ...]:
        """Give how far the program is, for `undo`."""
        kept = len(self.substeps), len(self.words), len(self.loops), len(self.extras)
        return *kept, self._used

    def undo(self, mark: tuple[int, ...]) -> None:
        """Take back what was added since."""
        substeps, words, loops, extras, self._used = mark
        del self.substeps[substeps:], self.steps[substeps:], self.words[words:]
        del self.loops[loops:], self.extras[extras:]

    def functions(self) -> frozenset[int]:
        """Give the numbers of all functions that the program calls."""
        goes_on = {KINDS["chain"]} if any(row[5] != NOTHING for row in self.substeps) else set()
        return frozenset({row[0] for row in self.substeps} | goes_on | set(self.loops))

    def finished(self) -> tuple[Array, Array]:
        """Give the substeps and the words as the machine takes them."""
        rows = np.array(self.substeps, np.int64).reshape(len(self.substeps), 7)
        return rows, np.array([*self.words, 0], np.int64)
