"""All functions that are called by address, by number, compiled when a plan first needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from vkml_backend_numba.compiling import Separate
from vkml_backend_numba.kernels import convolution, indexing, pooling, products, weight_gradient
from vkml_backend_numba.kernels.chain import chain
from vkml_backend_numba.kernels.elementwise import ELEMENTWISE
from vkml_backend_numba.kernels.sums import reduce_rows
from vkml_backend_numba.kernels.thread import MOST_ENTRIES

TASKS: Final[dict[str, Separate]] = {
    "chain": chain,
    "reduce": reduce_rows,
    "pack": products.pack,
    "product": products.product,
    "convolve": convolution.convolve,
    "refuse_infinite": convolution.refuse_infinite,
    "pad_images": weight_gradient.pad_images,
    "pack_gradients": weight_gradient.pack_gradients,
    "weight_grad": weight_gradient.weight_grad,
    "max_pool": pooling.max_pool,
    "max_pool_grad": pooling.max_pool_grad,
    "gather": indexing.gather,
    "scatter": indexing.scatter,
    "random_bits": indexing.random_bits,
}
"""What a substep does, by its kind."""
FUNCTIONS: Final = (*TASKS.values(), *ELEMENTWISE.values())
"""Every function by its number."""
KINDS: Final = {kind: number for number, kind in enumerate(TASKS)}
LOOPS: Final = {key: number for number, key in enumerate(ELEMENTWISE, len(TASKS))}
entries: Final = np.zeros(MOST_ENTRIES, np.int64)
"""Their addresses: 0 for what no plan of this process has needed."""


def prepare(numbers: Iterable[int]) -> None:
    """Make functions ready to be called."""
    for number in numbers:
        if not entries[number]:
            entries[number] = FUNCTIONS[number].address
