"""The move that makes arrays of a program smaller: one size, wherever it occurs, or one axis."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from vkml_conformance.program import Call, Input, Number, Program
from vkml_core.shapes import Shape

_SIZES: Final = ("shape", "length", "size", "image")
"""Attributes that are sizes of values."""


def resized(program: Program) -> Iterator[Program]:
    """Cut a size to 1, to its half or by one: wherever it occurs, or in one axis of one input.

    What does not fit any more is refused when it is recorded.
    """
    sizes = sorted({d for x in program.inputs for d in x.shape if d > 1}, reverse=True)
    for old in sizes:
        for new in _less(old):
            yield _everywhere(program, old, new)
    for place, x in enumerate(program.inputs):
        for axis, old in enumerate(x.shape):
            for new in _less(old):
                yield _one(program, place, axis, new)


def _less(old: int) -> Iterator[int]:
    yield from dict.fromkeys(n for n in (1, old // 2, old - 1) if 0 < n < old)


def _everywhere(program: Program, old: int, new: int) -> Program:
    inputs = []
    for x in program.inputs:
        inputs.append(_shortened(x, tuple(new if d == old else d for d in x.shape)))
    return Program(tuple(inputs), tuple(_call(c, old, new) for c in program.calls), program.outputs)


def _one(program: Program, place: int, axis: int, new: int) -> Program:
    x = program.inputs[place]
    shape = (*x.shape[:axis], new, *x.shape[axis + 1 :])
    inputs = (*program.inputs[:place], _shortened(x, shape), *program.inputs[place + 1 :])
    return replace(program, inputs=inputs)


def _shortened(x: Input, shape: Shape) -> Input:
    """Keep the first elements along each axis."""
    if isinstance(x, Number):
        return replace(x, shape=shape)
    return np.ascontiguousarray(x[tuple(map(slice, shape))]).reshape(shape)


def _call(call: Call, old: int, new: int) -> Call:
    if call.attrs is None:
        return call
    fields = [f.name for f in dataclasses.fields(call.attrs) if f.name in _SIZES]
    values = {name: _swapped(getattr(call.attrs, name), old, new) for name in fields}
    return replace(call, attrs=replace(call.attrs, **values))


def _swapped(value: Any, old: int, new: int) -> Any:
    if isinstance(value, tuple):
        return tuple(new if v == old else v for v in value)
    return new if value == old else value
