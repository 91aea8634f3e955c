"""Windows two pixels wide that lie side by side in memory: kernels that read vectors of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.launch import Read
from vkml_backend_vulkan.lower.layout import grid, local_size, pack
from vkml_backend_vulkan.shaders.tables.pool import QUADS as ENDING
from vkml_core.plan import Call
from vkml_core.shapes import Shape, View, size

QUADS: Final = "vectors of windows"
"""What decisions call it."""
MOST_ROWS: Final = 8
"""Rows of a window whose code a kernel has side by side."""
_WORD: Final = 4


def apart_in_pairs(attrs: Any, image: Shape, windows: int) -> bool:
    """Whether windows are two wide and cover images without gaps and padding, so that they lie
    side by side in rows that are a multiple of so many windows.
    """
    height, width = image[2:]
    return (
        (attrs.kernel, attrs.padding, attrs.dilation) == (attrs.stride, (0, 0), (1, 1))
        and attrs.kernel[1] == 2
        and attrs.kernel[0] <= MOST_ROWS
        and not height % attrs.kernel[0]
        and not width % (2 * windows)
    )


def lies_flat(x: Read, alignment: int) -> bool:
    """Whether an operand is contiguous from a multiple of so many elements on."""
    return View(x.shape, x.strides).is_contiguous and not x.offset % alignment


def quads(
    call: Call, image: Shape, windows: int, reads: Sequence[Read], out: Pointer, limits: Limits
) -> Lowered:
    """Launch an invocation for each so many windows of an image."""
    count, local = size(image) // (call.attrs.kernel[0] * 2 * windows), local_size(limits)
    pointers = (replace(r.pointer, offset=_WORD * r.offset) for r in reads)
    made = Dispatch(
        f"pool.{call.op}.f32{ENDING}",
        grid(count, local, limits),
        (*pointers, out),
        pack(count, image[3] // (2 * windows)),
        (local, 0, call.attrs.kernel[0]),
    )
    return Lowered((made,))
