"""A loader that gives the batches of a data set as tensors, in an order that can be resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from vkml.data.dataset import Dataset
from vkml.data.draws import Draws
from vkml.data.order import EPOCHS, Indices, natural, permutation
from vkml.data.place import Place, read_state
from vkml.data.prefetch import Prefetch
from vkml.data.transforms import Compose, Function, Transform, apply_to_batch
from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.functional.common import bool_arg
from vkml_core.functional.creation import device_name, tensor
from vkml_core.plugins import open_device
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor


class DataLoader:
    """Give a data set in batches, as tensors on `device`.

    Each iteration is an epoch. With `shuffle` its order is a function of `seed` and the epoch:
    0, 1, … from one iteration to the next, or on from what `set_epoch` says.

    `transform` gets the arrays of a batch on the host, and what it returns becomes tensors. A
    `Transform` or a `Compose` draws random numbers that depend on `seed`, the epoch and the
    item's index alone.

    With `prefetch` a thread makes up to so many batches ahead: reading, transforming and copying
    to the device. The tensors have the same bits. Data set and transform then run in that
    thread, one call at a time; they must work on host arrays, not compute with tensors. An
    exception comes out where its batch would have. Leaving the loop ends the thread.

    >>> import numpy as np
    >>> from vkml.data import ArrayDataset
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
        transform: Transform | Compose | Function | None = None,
        prefetch: int = 0,
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise ArgumentTypeError(
                f"DataLoader: expected a vkml.data.Dataset, got {type(dataset).__name__}"
            )
        if transform is not None and not callable(transform):
            raise ArgumentTypeError(f"DataLoader: transform: {transform!r} is not a function")
        self.dataset = dataset
        self.batch_size = to_int(batch_size, "DataLoader: batch_size")
        if self.batch_size < 1:
            raise ArgumentError(f"DataLoader: batch_size must be ≥ 1, got {batch_size}")
        self.shuffle = bool_arg(shuffle, "DataLoader: shuffle")
        self.drop_last = bool_arg(drop_last, "DataLoader: drop_last")
        self.seed = natural(seed, "DataLoader: seed")
        self.device = device_name(device)
        self.transform = transform
        self.prefetch = natural(prefetch, "DataLoader: prefetch")
        self._next = Place(0)
        """What the next iteration begins with."""
        self._now = self._next
        """How far the iteration that was started last has come."""

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is.

        It begins with the first batch, unless `load_state_dict` has just put it into this epoch.
        """
        number = natural(epoch, "DataLoader: epoch", EPOCHS)
        if number != self._next.epoch:
            self._next = Place(number)
        self._now = self._next

    def state_dict(self) -> dict[str, int]:
        """Give the place in the data, as plain ints: seed, epoch, batch, and the loader's shape.

        It is that of the iteration started last: `batch` counts the batches that were handed
        out, the one in use included, not those made ahead. After the last one it is the start of
        the next epoch; likewise before the first iteration and after `set_epoch`.
        """
        place = self._now
        if place.batch >= len(self) and place is not self._next:
            place = self._next
        return {"seed": self.seed, "epoch": place.epoch, "batch": place.batch, **self._shape()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Have the next iteration go on where `state` was taken, with the same batches.

        Iterators made before stay as they are. Raises ArgumentError where the data set's length,
        batch_size, shuffle or drop_last differ, or where the state is malformed; then nothing
        has changed.
        """
        self.seed, self._next = read_state(state, self._shape(), len(self))
        self._now = self._next

    def __len__(self) -> int:
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        place = self._next
        self._next, self._now = Place(place.epoch + 1), place
        make, plan = partial(self._batch, self.seed, place.epoch), self._plan(place)
        batches: Iterable[Any] = (make(indices) for indices in plan)
        if self.prefetch:
            open_device(self.device)  # here, so that it outlives the thread at the process's end
            batches = Prefetch(batches, self.prefetch)
        return _hand_out(batches, place)

    def _shape(self) -> dict[str, int]:
        return {
            "length": len(self.dataset),
            "batch_size": self.batch_size,
            "shuffle": int(self.shuffle),
            "drop_last": int(self.drop_last),
        }

    def _plan(self, place: Place) -> Iterator[Indices]:
        """Give the indices of each batch from `place` on."""
        length = len(self.dataset)
        order = (
            permutation(length, self.seed, place.epoch)
            if self.shuffle
            else np.arange(length, dtype=np.int64)
        )
        starts = range(place.batch * self.batch_size, len(self) * self.batch_size, self.batch_size)
        return (order[i : i + self.batch_size] for i in starts)

    def _batch(self, seed: int, epoch: int, indices: Indices) -> Any:
        arrays = self.dataset.batch(indices)
        if self.transform is not None:
            arrays = apply_to_batch(self.transform, arrays, Draws(seed, epoch, indices))
        if not isinstance(arrays, tuple):
            return self._tensor(arrays)
        return tuple(self._tensor(a) for a in arrays)

    def _tensor(self, array: Any) -> Tensor:
        return tensor(array, device=self.device)


def _hand_out(batches: Iterable[Any], place: Place) -> Iterator[Any]:
    """Give the batches and count them; a thread that makes them ends with the loop."""
    try:
        for batch in batches:
            place.batch += 1
            yield batch
    finally:
        if isinstance(batches, Prefetch):
            batches.close()
