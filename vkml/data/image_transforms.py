"""Transforms of images (N, C, H, W): flip, crop, scaling to floats, normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from vkml.data.draws import Draws
from vkml.data.order import Array
from vkml.data.transforms import Transform
from vkml_core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from vkml_core.functional.common import NUMBER_TYPES, number_arg, pair_arg, probability_arg
from vkml_core.shapes import to_ints

Fill = float | Sequence[float]


class RandomHorizontalFlip(Transform):
    """Mirrors each image, left to right, with probability `p`.

    An image is mirrored where word 0 of its draws, as a number in [0, 1), is below `p`.
    """

    random = True

    def __init__(self, p: float = 0.5) -> None:
        self.p = probability_arg(p, "RandomHorizontalFlip: p")

    def apply(self, images: Array, draws: Draws) -> Array:
        """Give the images, some of them mirrored."""
        out, mirrored = images.copy(), np.flatnonzero(draws.uniform(0) < self.p)
        out[mirrored] = images[mirrored, ..., ::-1]
        return out

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip(p={self.p})"


class RandomCrop(Transform):
    """Cuts a window of `size` (h, w) at a random place out of each image.

    Before that, `padding` pixels of `fill` are put around it: one number, (sides, top and
    bottom), or (left, top, right, bottom). `fill` is a number or one for each channel. The upper
    edge comes from word 0 of an image's draws, the left one from word 1. Raises ShapeError where
    the padded image is smaller than the window.

    >>> import numpy as np
    >>> from vkml.data import Draws
    >>> image = np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4)
    >>> RandomCrop(2, padding=1)(image, draws=Draws(seed=0, epoch=0, indices=[0]))[0, 0]
    array([[13, 14],
           [ 0,  0]], dtype=uint8)
    """

    random = True

    def __init__(
        self, size: int | Sequence[int], padding: int | Sequence[int] = 0, fill: Fill = 0
    ) -> None:
        self.size = pair_arg(size, "RandomCrop: size")
        if min(self.size) < 1:
            raise ArgumentError(f"RandomCrop: size must be ≥ 1, got {size}")
        self.padding = _sides(padding)
        self.fill = (
            fill if isinstance(fill, NUMBER_TYPES) else tuple(_numbers(fill, "RandomCrop: fill"))
        )

    def apply(self, images: Array, draws: Draws) -> Array:
        """Give a window of each image."""
        padded = self._padded(images)
        free = [have - want for have, want in zip(padded.shape[2:], self.size, strict=True)]
        if min(free) < 0:
            raise ShapeError(
                f"RandomCrop: a window of {self.size} does not fit images of "
                f"{padded.shape[2:]} with their padding"
            )
        top, left = (draws.below(f + 1, word) for word, f in enumerate(free))
        windows = sliding_window_view(padded, self.size, axis=(2, 3))
        cut: Array = windows[np.arange(len(images)), :, top, left]
        return cut

    def _padded(self, images: Array) -> Array:
        if not any(self.padding):
            return images
        left, top, right, bottom = self.padding
        n, c, h, w = images.shape
        out = np.empty((n, c, top + h + bottom, left + w + right), images.dtype)
        out[:] = self._filling(images)
        out[:, :, top : top + h, left : left + w] = images
        return out

    def _filling(self, images: Array) -> Array:
        """Give `fill` in the dtype of the images. Raises ArgumentError where that changes it."""
        numbers = np.asarray(self.fill, np.float64).reshape(-1, 1, 1)
        if len(numbers) not in (1, images.shape[1]):
            raise ShapeError(f"RandomCrop: fill {self.fill} for {images.shape[1]} channels")
        with np.errstate(invalid="ignore", over="ignore"):
            filling: Array = numbers.astype(images.dtype)
        if images.dtype.kind != "f" and (filling != numbers).any():
            raise ArgumentError(f"RandomCrop: fill {self.fill} is not a value of {images.dtype}")
        return filling

    def __repr__(self) -> str:
        return f"RandomCrop(size={self.size}, padding={self.padding}, fill={self.fill})"


class ToFloat(Transform):
    """Scales bytes to float32 x/255, correctly rounded; float32 images stay as they are."""

    def apply(self, images: Array, draws: Draws) -> Array:
        """Give the images as float32."""
        if images.dtype == np.float32:
            return images
        if images.dtype != np.uint8:
            raise DTypeError(f"ToFloat: expected uint8 or float32 images, got {images.dtype}")
        return images.astype(np.float32) / np.float32(255)

    def __repr__(self) -> str:
        return "ToFloat()"


class Normalize(Transform):
    """Gives (x − mean) / std of float32 images, each step rounded.

    `mean` and `std` are numbers or one for each channel; std must not be 0.
    """

    def __init__(self, mean: Fill, std: Fill) -> None:
        self.mean, self.std = (
            _channels(v, f"Normalize: {n}") for v, n in ((mean, "mean"), (std, "std"))
        )
        if not (np.isfinite(self.mean).all() and np.isfinite(self.std).all() and self.std.all()):
            raise ArgumentError(f"Normalize: mean {mean} and std {std} must be finite, std not 0")

    def apply(self, images: Array, draws: Draws) -> Array:
        """Give the images, normalised."""
        if images.dtype != np.float32:
            raise DTypeError(f"Normalize: expected float32 images, got {images.dtype}; use ToFloat")
        for numbers in (self.mean, self.std):
            if len(numbers) not in (1, images.shape[1]):
                raise ShapeError(f"Normalize: {len(numbers)} numbers, {images.shape[1]} channels")
        return (images - self.mean) / self.std

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean.ravel().tolist()}, std={self.std.ravel().tolist()})"


def _sides(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Read padding as left, top, right, bottom."""
    given = to_ints(padding, "RandomCrop: padding")
    if len(given) not in (1, 2, 4):
        raise ShapeError(f"RandomCrop: padding: expected 1, 2 or 4 numbers, got {len(given)}")
    if min(given) < 0:
        raise ArgumentError(f"RandomCrop: padding must be ≥ 0, got {padding}")
    left, top, right, bottom = (*given, *given, *given, *given)[:4]
    return left, top, right, bottom


def _numbers(values: Any, what: str) -> list[float]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(f"{what}: expected numbers, got {type(values).__name__}")
    found = [number_arg(v, what) for v in values]
    if not found:
        raise ArgumentError(f"{what}: expected at least one number")
    return found


def _channels(value: Fill, what: str) -> Array:
    numbers = [value] if isinstance(value, NUMBER_TYPES) else _numbers(value, what)
    with np.errstate(over="ignore"):
        return np.asarray(numbers, np.float64).astype(np.float32).reshape(-1, 1, 1)
