"""Lowerings of the convolutions and of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lower, Lowered, Pointer
from vkml_backend_vulkan.lower.elementwise import launch
from vkml_backend_vulkan.lower.launch import Read, each_output, read
from vkml_backend_vulkan.lower.layout import only_call, operands, pack, padded, spread, token
from vkml_backend_vulkan.lower.tiles import (
    CHUNK,
    WINDOWS,
    Product,
    Tile,
    add_slices,
    by_tiles,
    not_tiled,
    slices,
    tile_of,
)
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables.conv import FOURS, IMAGES
from vkml_core.plan import Call, Slot, Step
from vkml_core.shapes import Shape, View, size

WINDOW: Final = 10
"""Numbers of a window."""
KNOWN_FROM: Final = 1 << 16
"""Results from which on it pays to compile a kernel for the numbers of its window."""


def known(geometry: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Give the constants from number 1 on of a kernel with so many results over a window."""
    return (*(0,) * 5, *geometry) if count >= KNOWN_FROM else ()


def window(attrs: Any, image: Shape, kernel: Shape) -> tuple[int, ...]:
    """Give the ten words of a sliding window; a window without the attribute is not dilated."""
    dilation = getattr(attrs, "dilation", (1, 1))
    return (*image, *kernel, *attrs.stride, *attrs.padding, *dilation)


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a step of the convolution family."""
    return _LOWER[only_call(step).op](step, slots, limits)


def convolution(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Convolve, or give a gradient of it: operands (x, w), (g, w) or (x, g)."""
    a, b, call = read(step, 0, slots), read(step, 1, slots), only_call(step)
    attrs, dtype, count = call.attrs, TOKENS[call.dtype], size(call.shape)
    image = getattr(attrs, "image", a.shape[2:])
    kernel = getattr(attrs, "kernel", b.shape[2:])
    weight = call.shape if call.op == "conv2d_weight_grad" else b.shape
    channels = attrs.groups, weight[1], weight[0] // attrs.groups
    product = _product(call, b.shape, channels, size(kernel))
    push = *window(attrs, image, kernel), *a.without(), *b.without(), count, a.shape[0], *channels
    tile = tile_of(product, limits, WINDOWS) if dtype == "f32" else None
    if tile is not None:
        return _by_tiles(step, tile, kernel, product, (a, b), push, limits)
    pointers = (a.pointer, b.pointer, Pointer(step.write, 0))
    name = f"conv.{call.op}.{dtype}"
    why = not_tiled(call.op, dtype, product, limits)
    return Lowered(each_output(name, count, pointers, pack(*push, 1), limits, dtype), decision=why)


def _product(call: Call, b: Shape, channels: Shape, taps: int) -> Product:
    """Give the matrix product that a convolution is for each group. That of conv2d_input_grad is
    the product for one tap. `b` is the shape of the second operand.
    """
    groups, inputs, outputs = channels
    if call.op == "conv2d_weight_grad":
        depth = b[0] * size(b[2:])
        return Product(outputs, inputs * taps, depth, groups, -(-depth // CHUNK))
    columns = call.shape[0] * size(call.shape[2:])
    if call.op == "conv2d":
        return Product(outputs, columns, inputs * taps, groups)
    return Product(inputs, columns, outputs, groups)


def _by_tiles(
    step: Step,
    tile: Tile,
    kernel: Shape,
    product: Product,
    sources: tuple[Read, Read],
    push: tuple[int, ...],
    limits: Limits,
) -> Lowered:
    """Launch the tiles of all groups; the long chains of weight gradients may be cut."""
    call, out = only_call(step), Pointer(step.write, 0)
    tiles, count = product.matrices * tile.count(*product[:2]), size(call.shape)
    parts = slices(tiles, product.chains, count)
    scratch = [padded(4 * count * parts)] if parts > 1 else []
    target = out if parts == 1 else Pointer(~0, 0)
    turned, second = _second(call.op, sources[1], Pointer(~len(scratch), 0), limits)
    if turned:
        scratch.append(padded(4 * size(sources[1].shape)))
    multiply = Dispatch(
        f"conv.{call.op}.tile{_end(call)}",
        spread(tiles * parts, limits),
        (sources[0].pointer, second, target),
        pack(*push, parts),
        (
            *(tile.invocations, 0, *kernel, *tile.constants, *push[:WINDOW]),
            *(int(_in_fours(call.op, sources[1])), *tile.each),
        ),
    )
    added = add_slices(parts, count, out, limits)
    why = by_tiles(call.op, tile, tiles, parts, product.depth, limits)
    return Lowered((*turned, multiply, *added), tuple(scratch), why)


def _end(call: Call) -> str:
    """Tell which kernel: images whose planes are multiples of four are written so."""
    return FOURS if call.op in IMAGES and not size(call.shape[2:]) % 4 else ""


def _second(
    op: str, weights: Read, scratch: Pointer, limits: Limits
) -> tuple[tuple[Dispatch, ...], Pointer]:
    """Give where the second operand is, and what puts it there: input gradients read weights of
    one tap side by side, which else lie as far apart as a filter is large.
    """
    if op != "conv2d_input_grad":
        return (), weights.pointer
    order = 2, 3, 0, 1
    shape, strides = (tuple(s[i] for i in order) for s in (weights.shape, weights.strides))
    view = View(shape, strides, weights.offset)
    return launch("cast.f32.f32", shape, scratch, [(weights.pointer, view)], limits), scratch


def _in_fours(op: str, second: Read) -> bool:
    """Tell whether the tiles can read the second operand in vectors: weights by the taps of a
    filter, or by inputs where they are turned; gradients by the pixels of an image.
    """
    shape, strides = second.shape, second.strides
    if op == "conv2d_input_grad":
        return not shape[1] % 4
    inner = {"conv2d": 1, "conv2d_weight_grad": 2}[op]
    is_whole = View(shape[inner:], strides[inner:]).is_contiguous
    apart = size(shape[inner:]), second.offset, *strides[:inner]
    return is_whole and not any(n % 4 for n in apart)


def im2col(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lay windows out as columns."""
    image, attrs = operands(step)[0].view.shape, only_call(step).attrs
    geometry = window(attrs, image[2:], attrs.kernel)
    return windows("conv.im2col", step, slots, limits, geometry, image)


def col2im(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Add columns back into images."""
    image, attrs = only_call(step).shape, only_call(step).attrs
    geometry = window(attrs, attrs.image, attrs.kernel)
    return windows("conv.col2im", step, slots, limits, geometry, image)


def windows(
    name: str,
    step: Step,
    slots: Sequence[Slot],
    limits: Limits,
    geometry: tuple[int, ...],
    image: Shape,
) -> Lowered:
    """Launch a kernel over the windows of one operand; `image` is (N, C, …)."""
    x, call = read(step, 0, slots), only_call(step)
    count = size(call.shape)
    push = pack(*geometry, *x.without(), count, *image[:2])
    pointers = (x.pointer, Pointer(step.write, 0))
    source, out = token(slots, operands(step)[0]), TOKENS[call.dtype]
    constants = known(geometry, count)
    return Lowered(each_output(f"{name}.{source}", count, pointers, push, limits, out, constants))


_LOWER: Final[dict[str, Lower]] = {
    "conv2d": convolution,
    "conv2d_input_grad": convolution,
    "conv2d_weight_grad": convolution,
    "im2col": im2col,
    "col2im": col2im,
}
OPS: Final = frozenset(_LOWER)
