"""What may be done to a batch of images on the host, and doing several things in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vkml.data.draws import SLOTS, Draws
from vkml.data.order import Array
from vkml_core.errors import ArgumentError, ArgumentTypeError, ShapeError

Function = Callable[..., Any]


class Transform:
    """Base class of transforms: changes the first array of a batch and passes the others on.

    A subclass defines `apply(images, draws)` for a batch of images (N, C, H, W). It draws its
    random numbers from `draws`, which a `DataLoader` supplies; `random` says whether it does.
    Call one by itself as `transform(images, labels, draws=Draws(seed, epoch, indices))`.
    """

    random: bool = False

    def apply(self, images: Array, draws: Draws) -> Array:
        """Give the images, changed; `images` itself must stay as it is."""
        raise NotImplementedError(f"{type(self).__name__}: define apply")

    def __call__(self, *arrays: Array, draws: Draws | None = None) -> Any:
        """Transform a batch. Raises ArgumentError where it is random and there are no draws."""
        name = type(self).__name__
        images = images_arg(arrays[0] if arrays else None, name)
        if draws is None:
            if self.random:
                raise ArgumentError(
                    f"{name}: has nothing to draw from; give it to a DataLoader, or pass "
                    "draws=vkml.data.Draws(seed, epoch, indices)"
                )
            draws = Draws(0, 0, np.arange(len(images)))
        if len(draws) != len(images):
            raise ShapeError(f"{name}: {len(images)} images, but draws for {len(draws)} items")
        changed = self.apply(images, draws)
        return (changed, *arrays[1:]) if len(arrays) > 1 else changed


def images_arg(value: object, what: str) -> Array:
    """Check that an argument is a batch of images."""
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(
            f"{what}: expected an ndarray of images, got {type(value).__name__}"
        )
    if value.ndim != 4:
        raise ShapeError(f"{what}: expected images of shape (N, C, H, W), got {value.shape}")
    return value


class Compose:
    """Does several transforms in turn.

    Each may be a `Transform` or a plain function, which gets all the arrays of the batch and
    gives all that go on. Each random one draws numbers of its own, by its place.

    >>> import numpy as np
    >>> halve = Compose([lambda x, y: (x / 2, y), lambda x, y: (x, -y)])
    >>> halve(np.array([2.0, 4.0]), np.array([1, 2]))
    (array([1., 2.]), array([-1, -2]))
    """

    def __init__(self, transforms: Sequence[Transform | Compose | Function]) -> None:
        self.transforms = tuple(transforms)
        if wrong := [t for t in self.transforms if not callable(t)]:
            got = type(wrong[0]).__name__
            raise ArgumentTypeError(f"Compose: expected transforms or functions, got {got}")
        self._flat = _flatten(self.transforms)
        if len(self._flat) > SLOTS:
            raise ArgumentError(f"Compose: {len(self._flat)} transforms, the limit is {SLOTS}")

    def __call__(self, *arrays: Array, draws: Draws | None = None) -> Any:
        """Transform a batch; gives a tuple, or an array where only one is left."""
        batch: Any = arrays
        for slot, transform in enumerate(self._flat):
            batch = _do(transform, batch, None if draws is None else draws.at(slot))
            batch = batch if isinstance(batch, tuple) else (batch,)
        return batch if len(batch) != 1 else batch[0]

    def __repr__(self) -> str:
        return f"Compose([{', '.join(map(repr, self.transforms))}])"


def _flatten(transforms: Sequence[Any]) -> tuple[Any, ...]:
    """Put what is in inner compositions in place of them, so that no two draw the same."""
    found: list[Any] = []
    for t in transforms:
        found.extend(t._flat if isinstance(t, Compose) else (t,))
    return tuple(found)


def _do(transform: Any, batch: tuple[Any, ...], draws: Draws | None) -> Any:
    if isinstance(transform, Transform | Compose):
        return transform(*batch, draws=draws)
    return transform(*batch)


def apply_to_batch(transform: Any, arrays: Any, draws: Draws) -> Any:
    """Transform what a data set gives for a batch: an array or a tuple of them."""
    return _do(transform, arrays if isinstance(arrays, tuple) else (arrays,), draws)
