"""Data sets on the host: items by number, arrays, parts of another data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vkml.data.order import SPLIT_STREAM, Array, Indices, natural, permutation
from vkml_core.errors import ArgumentError, ArgumentTypeError, IndexError_, ShapeError
from vkml_core.functional.common import number_arg
from vkml_core.shapes import to_int


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


def split(dataset: Dataset, fraction: float, seed: int = 0) -> tuple[Subset, Subset]:
    """Divide at random into `fraction` of the items (rounded) and the rest, each in data order."""
    part = number_arg(fraction, "split: fraction")
    if not 0.0 <= part <= 1.0:
        raise ArgumentError(f"split: fraction must be from 0 to 1, got {part}")
    order = permutation(len(dataset), natural(seed, "split: seed"), SPLIT_STREAM)
    first = round(part * len(dataset))
    return Subset(dataset, np.sort(order[:first])), Subset(dataset, np.sort(order[first:]))
