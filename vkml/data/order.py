"""The order of an epoch: random words of vkml's own generator, sorted."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_backend_cpu.kernels.random import random_bits
from vkml_core.errors import ArgumentError
from vkml_core.shapes import to_int

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
SEEDS: Final = 2**63
EPOCHS: Final = 2**48
"""Epochs are below this, so that the random words of transforms lie apart (see `draws`)."""
SPLIT_STREAM: Final = 2**61
"""Keeps the random words of `split` apart from those of epochs."""


def permutation(length: int, seed: int, offset: int) -> Indices:
    """Put 0 … length − 1 into an order that depends on (length, seed, offset) alone.

    Each index gets a key of 62 random bits and the keys are sorted, ties by index. It is worked
    out on the host: nothing that waits for a device is computed with it.
    """
    high, low = random_bits(seed, offset, (2, length), 31).astype(np.int64)
    order: Indices = np.argsort(high << 31 | low, kind="stable")
    return order


def natural(value: object, what: str, below: int = SEEDS) -> int:
    """Check that an argument is a whole number from 0, below a limit."""
    number = to_int(value, what)
    if number < 0:
        raise ArgumentError(f"{what}: must be ≥ 0, got {number}")
    if number >= below:
        raise ArgumentError(f"{what}: must be < 2^{below.bit_length() - 1}, got {number}")
    return number
