"""A prebuilt SPIR-V module, read once: its functions by name, and what they refer to."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from vkml_backend_vulkan.link import grammar

HEADER_WORDS: Final = 5
LIBRARY: Final = "library"
"""The module of all functions."""
Words = npt.NDArray[np.uint32]
Instruction = tuple[int, tuple[int, ...]]
"""Opcode and operand words."""
_NOT_KEPT: Final = frozenset({grammar.NAME, grammar.FORWARD_POINTER})
_HEAD: Final = frozenset(
    {grammar.CAPABILITY, grammar.EXTENSION, grammar.MEMORY_MODEL, grammar.EXECUTION_MODE}
)


@dataclass(frozen=True, slots=True)
class Flat:
    """The words of a function. Word `places[i]` is the id `which[i]` of `outer` and then the
    function's own, of which there are `own`; `said` are decorations of its own ids, by number.
    """

    words: Words
    places: Words
    which: Words
    outer: tuple[int, ...]
    own: int
    said: tuple[tuple[int, Instruction], ...]


@dataclass(slots=True)
class Unit:
    """Instructions by what they are; ids are the module's own."""

    version: int
    head: list[Instruction] = field(default_factory=list)
    """Capabilities, extensions, the memory model and execution modes."""
    entry: tuple[int, ...] = ()
    """The entry point's words without its interface."""
    names: dict[str, int] = field(default_factory=dict)
    """Functions."""
    decorations: dict[int, list[Instruction]] = field(default_factory=dict)
    """What is said of an id, the id left out."""
    globals: dict[int, Instruction] = field(default_factory=dict)
    """Types, constants, variables and imports of instruction sets."""
    functions: dict[int, list[Instruction]] = field(default_factory=dict)

    flat: dict[int, Flat] = field(default_factory=dict)
    """Functions as they were needed."""

    def flattened(self, function: int) -> Flat:
        """Give the code of a function, ready to be numbered anew."""
        if function not in self.flat:
            self.flat[function] = _flatten(self, self.functions[function])
        return self.flat[function]

    @property
    def main(self) -> int:
        """The function of the entry point."""
        return self.entry[1]


@cache
def shipped(name: str) -> Unit:
    """Give a module that comes with vkml."""
    path = files("vkml_backend_vulkan") / "shaders" / "spirv" / f"{name}.spv"
    return read(path.read_bytes())


def read(module: bytes) -> Unit:
    """Sort the instructions of a module whose functions have names (shaders/names.py)."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    unit, body = Unit(words[1]), []
    for op, operands in _instructions(words):
        if op == grammar.FUNCTION:
            body = unit.functions[operands[1]] = []
        if body or op == grammar.FUNCTION:
            body.append((op, operands))
            if op == grammar.FUNCTION_END:
                body = []
        else:
            _sort(unit, op, operands)
    return unit


def _instructions(words: tuple[int, ...]) -> Iterator[Instruction]:
    at = HEADER_WORDS
    while at < len(words):
        end = at + (words[at] >> 16)
        yield words[at] & 0xFFFF, words[at + 1 : end]
        at = end


def _sort(unit: Unit, op: int, operands: tuple[int, ...]) -> None:
    """Keep an instruction outside of functions."""
    if op in _HEAD:
        unit.head.append((op, operands))
    elif op == grammar.ENTRY_POINT:
        end = 2 + next(k for k, w in enumerate(operands[2:], 1) if not w >> 24)
        unit.entry = operands[:end]
    elif op == grammar.NAME:
        unit.names[text(operands[1:])] = operands[0]
    elif op in (grammar.DECORATE, grammar.MEMBER_DECORATE):
        unit.decorations.setdefault(operands[0], []).append((op, operands[1:]))
    elif op not in _NOT_KEPT:
        unit.globals[operands[grammar.result_place(op)]] = op, operands


def text(words: tuple[int, ...]) -> str:
    """Read a literal string."""
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode()


def _flatten(unit: Unit, code: list[Instruction]) -> Flat:
    words: list[int] = []
    places: list[int] = []
    for op, operands in code:
        at = len(words) + 1
        places += [at + k for k in grammar.id_places(op, operands)]
        words += (at - len(words) + len(operands)) << 16 | op, *operands
    ids = dict.fromkeys(words[p] for p in places)
    outer = [i for i in ids if i in unit.globals or i in unit.functions]
    own = [i for i in ids if i not in unit.globals and i not in unit.functions]
    number = {i: k for k, i in enumerate((*outer, *own))}
    said = [(k, d) for k, i in enumerate(own) for d in unit.decorations.get(i, ())]
    return Flat(
        np.array(words, np.uint32),
        np.array(places, np.uint32),
        np.array([number[words[p]] for p in places], np.uint32),
        tuple(outer),
        len(own),
        tuple(said),
    )
