"""Makes a failing program smaller, and finds the first of its calls that is wrong by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from vkml_conformance.engine import ORACLE
from vkml_conformance.program import Call, Input, Number, Program
from vkml_conformance.resize import resized
from vkml_conformance.values import Array, words
from vkml_core.errors import Error

Fails = Callable[[Program], bool]
Move = Callable[[Program], Iterator[Program]]


@dataclass(frozen=True)
class Wrong:
    """A call that is wrong by itself: which of the program's, and a program of it alone."""

    call: int
    program: Program


def first_wrong(program: Program, device: str, reference: str = ORACLE) -> Wrong | None:
    """Give the first call whose result alone, of the reference's operands, is not the reference's.

    None where each call alone is right: then the fault is in scheduling, memory, views or fusion.
    A call that the device refuses or fails to run is wrong.
    """
    values = program.values(reference)
    first = len(program.inputs)
    for i, call in enumerate(program.calls):
        alone = _alone(call, [_operand(program, values, a) for a in call.args])
        if not _agrees(alone, device, values[first + i]):
            return Wrong(i, alone)
    return None


def _operand(program: Program, values: list[Array], place: int) -> Input:
    """Keep a number what it is; everything else becomes an array."""
    first = len(program.inputs)
    given = program.inputs[place] if place < first else None
    return given if isinstance(given, Number) else values[place]


def _alone(call: Call, operands: list[Input]) -> Program:
    args = tuple(range(len(operands)))
    return Program(tuple(operands), (replace(call, args=args),), (len(operands),))


def _agrees(program: Program, device: str, want: Array) -> bool:
    try:
        (got,) = program.computed(device)
    except Exception:  # whatever a backend raises: it does not give the result
        return False
    return equal(got, want)


def equal(got: Array, want: Array) -> bool:
    """Whether shape, dtype and every bit are equal."""
    same = (got.shape, got.dtype) == (want.shape, want.dtype)
    return same and np.array_equal(words(got), words(want))


def shrink(program: Program, fails: Fails, budget_seconds: float = 30.0) -> Program:
    """Make a program smaller as long as `fails` holds of it: the same steps each time.

    Unless the time ends, no single move of `MOVES` makes the result smaller and failing. Programs
    that the oracle refuses are not asked about. Raises ValueError if `program` does not fail.
    """
    if not fails(program):
        raise ValueError("shrink: the program does not fail; give one for which fails() is true")
    end = time.monotonic() + budget_seconds
    while (smaller := _smaller(program, fails, end)) is not None:
        program = smaller
    return program


def _smaller(program: Program, fails: Fails, end: float) -> Program | None:
    """Give the first result of a move that is smaller and still fails."""
    for move in MOVES:
        for candidate in _candidates(move, program):
            if time.monotonic() > end:
                return None
            found = candidate.pruned()
            if measure(found) < measure(program) and _legal(found) and fails(found):
                return found
    return None


def _candidates(move: Move, program: Program) -> Iterator[Program]:
    with np.errstate(all="ignore"):
        yield from move(program)


def measure(program: Program) -> tuple[int, int, int, int]:
    """Tell how large a program is: calls count most, then outputs, elements, inputs."""
    return len(program.calls), len(program.outputs), program.elements, len(program.inputs)


def _legal(program: Program) -> bool:
    """Whether the oracle computes it."""
    try:
        program.wanted()
    except Error:
        return False
    return True


def _needed(program: Program) -> Iterator[Program]:
    """Leave out what no output needs, which is done to every candidate."""
    yield program


def _one_output(program: Program) -> Iterator[Program]:
    """Ask for one value only, the earliest first: what follows it goes."""
    places = range(len(program.inputs), len(program.inputs) + len(program.calls))
    yield from (replace(program, outputs=(place,)) for place in places)


def _fewer_outputs(program: Program) -> Iterator[Program]:
    """Leave out half of the outputs, then one."""
    outputs = program.outputs
    half = len(outputs) // 2
    yield from (replace(program, outputs=some) for some in (outputs[:half], outputs[half:]) if some)
    for i in range(len(outputs) if len(outputs) > 1 else 0):
        yield replace(program, outputs=(*outputs[:i], *outputs[i + 1 :]))


def _cut(program: Program) -> Iterator[Program]:
    """Put the oracle's values in the place of the first calls, then of a single one."""
    values = program.values()
    count = len(program.calls)
    step = count // 2
    while step:
        yield from (_known(program, values, range(n)) for n in range(count - step, 0, -step))
        step //= 2
    yield from (_known(program, values, range(i, i + 1)) for i in range(count))


def _known(program: Program, values: list[Array], calls: range) -> Program:
    """Make inputs of the results of some calls."""
    first, count = len(program.inputs), len(calls)
    start = first + calls.start

    def moved(place: int) -> int:
        if place < first or place >= first + calls.stop:
            return place
        return first + place - start if place >= start else place + count

    known = tuple(values[first + i] for i in calls)
    rest = [c for i, c in enumerate(program.calls) if i not in calls]
    made = tuple(replace(c, args=tuple(map(moved, c.args))) for c in rest)
    return Program((*program.inputs, *known), made, tuple(map(moved, program.outputs)))


def _bypass(program: Program) -> Iterator[Program]:
    """Take an operand for the result of a call, where shape and dtype are the same."""
    values, first = program.values(), len(program.inputs)
    for i, call in enumerate(program.calls):
        place = first + i
        for arg in dict.fromkeys(call.args):
            if (values[arg].shape, values[arg].dtype) == (values[place].shape, values[place].dtype):
                yield _renamed(program, place, arg)


def _renamed(program: Program, old: int, new: int) -> Program:
    def name(places: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new if p == old else p for p in places)

    calls = tuple(replace(c, args=name(c.args)) for c in program.calls)
    return Program(program.inputs, calls, name(program.outputs))


MOVES: Final[tuple[Move, ...]] = (_needed, _one_output, _fewer_outputs, _cut, _bypass, resized)
"""Tried in order; after each success they begin anew."""
