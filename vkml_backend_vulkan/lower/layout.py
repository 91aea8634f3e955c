"""What the lowerings share: views as four extents and strides, push constants, grids."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_core.plan import Call, Operand, Slot, Step
from vkml_core.shapes import MAX_RANK, Shape

LOCAL: Final = 128
"""Invocations of a workgroup where nothing asks for another number."""

Strides = tuple[int, ...]


def collapse(shape: Shape, *strides: Strides) -> tuple[Shape, list[Strides]]:
    """Merge axes that every operand steps through evenly; give exactly four, leading ones of 1.

    >>> collapse((2, 3, 4), (12, 4, 1), (0, 0, 1))
    ((1, 1, 6, 4), [(0, 0, 4, 1), (0, 0, 0, 1)])
    """
    axes: list[tuple[int, Strides]] = []
    for d, steps in zip(shape, zip(*strides, strict=True), strict=True):
        if d == 1:
            continue
        if axes and axes[-1][1] == tuple(d * s for s in steps):
            axes[-1] = (axes[-1][0] * d, steps)
        else:
            axes.append((d, steps))
    axes = [(1, (0,) * len(strides))] * (MAX_RANK - len(axes)) + axes
    return tuple(d for d, _ in axes), [tuple(s[k] for _, s in axes) for k in range(len(strides))]


def pack(*numbers: int) -> bytes:
    """Pack 32-bit integers, signed or unsigned, as push constants."""
    return struct.pack(f"<{len(numbers)}I", *(n & 0xFFFFFFFF for n in numbers))


def local_size(limits: Limits) -> int:
    """Give the usual workgroup size within the device's limit."""
    return min(LOCAL, limits.invocations)


def grid(invocations: int, local: int, limits: Limits) -> tuple[int, int, int]:
    """Give workgroups in x and y for at least so many invocations."""
    return spread(-(-invocations // local), limits)


def spread(workgroups: int, limits: Limits) -> tuple[int, int, int]:
    """Give at least so many workgroups in x and y."""
    x = min(max(workgroups, 1), limits.groups[0])
    return x, max(-(-workgroups // x), 1), 1


def only_call(step: Step) -> Call:
    """Give the call of a step that has one."""
    (call,) = step.calls
    return call


def operands(step: Step) -> list[Operand]:
    """Give the operands of the only call, in the order of its arguments."""
    return [step.operands[a] for a in only_call(step).args]


def token(slots: Sequence[Slot], operand: Operand) -> str:
    """Name the dtype of an operand as modules do."""
    return TOKENS[slots[operand.slot].dtype]


def padded(nbytes: int) -> int:
    """Round up to the 16 bytes that every buffer is a multiple of."""
    return max(-(-nbytes // 16), 1) * 16


def to_rank_4(numbers: Shape, fill: int) -> Shape:
    """Put `fill` before the numbers of the axes that there are."""
    return (fill,) * (MAX_RANK - len(numbers)) + numbers
