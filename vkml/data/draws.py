"""Random numbers for the items of a batch: a function of seed, epoch and item, of nothing else.

So an item looks the same whatever the size of the batch, its place there, the thread that makes
it and the device that trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from vkml.data.order import EPOCHS, SEEDS, Indices, natural
from vkml_backend_cpu.kernels.random import philox4x32_10
from vkml_core.errors import ArgumentError

_WORD: Final = 0xFFFFFFFF
SLOTS: Final = 2**12
"""Transforms in a composition, so that their streams end below that of `split`."""
PER_ITEM: Final = 4
"""Words that each transform may use for an item."""


@dataclass(frozen=True, eq=False)
class Draws:
    """What a random transform draws from, for items `indices` of a data set in an epoch.

    `slot` is the place of the transform in its composition. The numbers of item i are row i of
    `vkml.rand((n, 4), seed, offset)` and of `vkml.randint` with that seed and offset, where
    offset = (slot + 1) · 2⁴⁸ + epoch.

    >>> Draws(seed=0, epoch=0, indices=[7, 3]).below(10, 0).tolist()
    [6, 1]
    """

    seed: int
    epoch: int
    indices: Sequence[int] | Indices
    slot: int = 0

    def __post_init__(self) -> None:
        natural(self.seed, "Draws: seed", SEEDS)
        natural(self.epoch, "Draws: epoch", EPOCHS)
        natural(self.slot, "Draws: slot", SLOTS)
        indices = np.asarray(self.indices, np.int64)
        if indices.ndim != 1 or (indices.size and indices.min() < 0):
            raise ArgumentError("Draws: indices: expected a row of numbers ≥ 0")
        object.__setattr__(self, "indices", indices)

    def __len__(self) -> int:
        return len(self.indices)

    def at(self, slot: int) -> Draws:
        """Give the draws of another place in the composition."""
        return replace(self, slot=slot)

    @cached_property
    def words(self) -> npt.NDArray[np.uint32]:
        """Four random words for each item: (len, 4)."""
        offset = (self.slot + 1) * EPOCHS + self.epoch
        item = np.asarray(self.indices, np.uint64)
        counter = np.empty((len(self), 4), np.uint32)
        counter[:, 0], counter[:, 1] = item & np.uint64(_WORD), item >> np.uint64(32)
        counter[:, 2], counter[:, 3] = offset & _WORD, offset >> 32
        return philox4x32_10(counter, (self.seed & _WORD, self.seed >> 32))

    def uniform(self, word: int) -> npt.NDArray[np.float32]:
        """Give a number in [0, 1) for each item: a multiple of 2⁻²⁴, from one of its words."""
        bits = self.words[:, word] >> np.uint32(8)
        return bits.astype(np.float32) * np.float32(2.0**-24)

    def below(self, high: int, word: int) -> Indices:
        """Give a whole number from 0 to high − 1 for each item, from one of its words."""
        bits = (self.words[:, word] >> np.uint32(1)).astype(np.int64)
        return bits * high >> 31
