"""Data sets on the host and a loader that gives their batches as tensors, in a fixed order.

The order is a function of seed and epoch: random words of vkml's own generator, sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.errors import ArgumentError, ArgumentTypeError, IndexError_, ShapeError
from vkml_core.functional.common import bool_arg, number_arg
from vkml_core.functional.creation import device_name, tensor
from vkml_core.functional.random import random_bits
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor

__all__ = ["ArrayDataset", "DataLoader", "Dataset", "Subset", "split"]

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Transform = Callable[..., Any]
_SPLIT_STREAM: Final = 2**61
"""Keeps the random words of `split` apart from those of epochs."""


class Dataset:
    """Base class of data sets: define `__len__` and `__getitem__(index)`.

    An item is an array or a number, or a tuple of them; all items are of the same form.
    """

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}: define __len__")

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: define __getitem__")

    def batch(self, indices: Indices) -> Any:
        """Give the items at `indices` stacked into arrays; a tuple where items are tuples."""
        items = [self[int(i)] for i in indices]
        if isinstance(items[0], tuple):
            return tuple(np.stack(column) for column in zip(*items, strict=True))
        return np.stack(items)


class ArrayDataset(Dataset):
    """Arrays of one length; item i is the tuple of their elements i.

    >>> import numpy as np
    >>> ArrayDataset(np.arange(6).reshape(3, 2), np.array([7, 8, 9]))[1]
    (array([2, 3]), np.int64(8))
    """

    def __init__(self, *arrays: Array) -> None:
        if not arrays:
            raise ArgumentError("ArrayDataset: expected at least one array")
        for i, a in enumerate(arrays):
            if not isinstance(a, np.ndarray):
                raise ArgumentTypeError(
                    f"ArrayDataset: array {i}: expected an ndarray, got {type(a).__name__}"
                )
            if a.ndim == 0 or len(a) != len(arrays[0]):
                shapes = ", ".join(str(b.shape) for b in arrays)
                raise ShapeError(f"ArrayDataset: the arrays differ in length: shapes {shapes}")
        self.arrays = arrays

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        i = to_int(index, "ArrayDataset: index")
        if not -len(self) <= i < len(self):
            raise IndexError_(f"ArrayDataset: index {i} is outside its {len(self)} items")
        return tuple(a[i] for a in self.arrays)

    def batch(self, indices: Indices) -> tuple[Array, ...]:
        """Give the elements at `indices` of every array."""
        return tuple(a[indices] for a in self.arrays)


class Subset(Dataset):
    """Some items of a data set, in the given order."""

    def __init__(self, dataset: Dataset, indices: Sequence[int] | Indices) -> None:
        self.dataset = dataset
        self.indices = np.asarray(indices, dtype=np.int64)
        outside = self.indices[(self.indices < 0) | (self.indices >= len(dataset))]
        if outside.size:
            raise IndexError_(f"Subset: index {outside[0]} is outside {len(dataset)} items")

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        i = to_int(index, "Subset: index")
        if not -len(self) <= i < len(self):
            raise IndexError_(f"Subset: index {i} is outside its {len(self)} items")
        return self.dataset[int(self.indices[i])]

    def batch(self, indices: Indices) -> Any:
        """Give the items at `indices`, stacked."""
        return self.dataset.batch(self.indices[indices])


def permutation(length: int, seed: int, offset: int, device: str | None = None) -> Indices:
    """Put 0 … length − 1 into an order that depends on (length, seed, offset) alone.

    Each index gets a key of 62 random bits and the keys are sorted, ties by index.
    """
    bits = random_bits((2, length), 31, seed, offset, device_name(device), "shuffle")
    high, low = bits.numpy().astype(np.int64)
    order: Indices = np.argsort(high << 31 | low, kind="stable")
    return order


class DataLoader:
    """Give a data set in batches, as tensors on `device`.

    Each iteration is an epoch. With `shuffle` its order is a function of `seed` and the epoch:
    0, 1, … from one iteration to the next, or on from what `set_epoch` says. `transform` gets the
    arrays of a batch on the host, and what it returns becomes tensors.

    >>> import numpy as np
    >>> data = ArrayDataset(np.arange(5))
    >>> [x.tolist() for (x,) in DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        seed: int = 0,
        device: str | None = None,
        transform: Transform | None = None,
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise ArgumentTypeError(
                f"DataLoader: expected a vkml.data.Dataset, got {type(dataset).__name__}"
            )
        self.dataset = dataset
        self.batch_size = to_int(batch_size, "DataLoader: batch_size")
        if self.batch_size < 1:
            raise ArgumentError(f"DataLoader: batch_size must be ≥ 1, got {batch_size}")
        self.shuffle = bool_arg(shuffle, "DataLoader: shuffle")
        self.drop_last = bool_arg(drop_last, "DataLoader: drop_last")
        self.seed = _natural(seed, "DataLoader: seed")
        self.device = device_name(device)
        self.transform = transform
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is."""
        self._epoch = _natural(epoch, "DataLoader: epoch")

    def __len__(self) -> int:
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        epoch, self._epoch = self._epoch, self._epoch + 1
        length = len(self.dataset)
        order = (
            permutation(length, self.seed, epoch, self.device)
            if self.shuffle
            else np.arange(length, dtype=np.int64)
        )
        starts = range(0, len(self) * self.batch_size, self.batch_size)
        return (self._batch(order[i : i + self.batch_size]) for i in starts)

    def _batch(self, indices: Indices) -> Any:
        arrays = self.dataset.batch(indices)
        if self.transform is not None:
            given = arrays if isinstance(arrays, tuple) else (arrays,)
            arrays = self.transform(*given)
        if not isinstance(arrays, tuple):
            return self._tensor(arrays)
        return tuple(self._tensor(a) for a in arrays)

    def _tensor(self, array: Any) -> Tensor:
        return tensor(array, device=self.device)


def split(dataset: Dataset, fraction: float, seed: int = 0) -> tuple[Subset, Subset]:
    """Divide at random into `fraction` of the items (rounded) and the rest, each in data order."""
    part = number_arg(fraction, "split: fraction")
    if not 0.0 <= part <= 1.0:
        raise ArgumentError(f"split: fraction must be from 0 to 1, got {part}")
    order = permutation(len(dataset), _natural(seed, "split: seed"), _SPLIT_STREAM)
    first = round(part * len(dataset))
    return Subset(dataset, np.sort(order[:first])), Subset(dataset, np.sort(order[first:]))


def _natural(value: int, what: str) -> int:
    number = to_int(value, what)
    if number < 0:
        raise ArgumentError(f"{what}: must be ≥ 0, got {number}")
    return number
