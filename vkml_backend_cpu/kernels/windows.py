"""Sliding windows over images: which input element each tap of a window reads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Windows:
    """The geometry of a convolution or pooling; every field is (vertical, horizontal)."""

    kernel: Pair
    stride: Pair
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)

    def output(self, image: Pair) -> Pair:
        """Return the number of windows along each side of an image."""
        oh, ow = (
            (size + 2 * pad - dil * (taps - 1) - 1) // step + 1
            for size, taps, step, pad, dil in zip(
                image, self.kernel, self.stride, self.padding, self.dilation, strict=True
            )
        )
        return oh, ow

    def taps(self, image: Pair) -> Iterator[tuple[Pair, tuple[slice, slice], tuple[slice, slice]]]:
        """Yield (ky, kx) in order with the windows whose tap lies on the image, and the pixels."""
        vertical = self._tap_slices(image, 0)
        horizontal = self._tap_slices(image, 1)
        for ky, (oy, iy) in enumerate(vertical):
            for kx, (ox, ix) in enumerate(horizontal):
                yield (ky, kx), (oy, ox), (iy, ix)

    def _tap_slices(self, image: Pair, side: int) -> list[tuple[slice, slice]]:
        size, count, step = image[side], self.output(image)[side], self.stride[side]
        slices = []
        for tap in range(self.kernel[side]):
            shift = tap * self.dilation[side] - self.padding[side]
            first = max(0, -(shift // step))
            last = max(first, min(count, (size - 1 - shift) // step + 1))
            start = first * step + shift
            stop = start + (last - first - 1) * step + 1 if last > first else start
            slices.append((slice(first, last), slice(start, stop, step)))
        return slices

    def view(self, x: Array) -> Array:
        """View ``x`` (N, C, H, W), padded with zeros, as its windows (N, C, oh, ow, kh, kw)."""
        (top, left), (sy, sx), (dy, dx) = self.padding, self.stride, self.dilation
        if top or left:
            x = np.pad(x, ((0, 0), (0, 0), (top, top), (left, left)))
        span = [dil * (taps - 1) + 1 for taps, dil in zip(self.kernel, self.dilation, strict=True)]
        return sliding_window_view(x, span, (2, 3))[:, :, ::sy, ::sx, ::dy, ::dx]
