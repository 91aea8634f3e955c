"""Links a module: a frame's main function, new bodies for its hooks, and all that these reach.

Ids are numbered anew. Types, constants and built-in variables that are alike become one; what
nothing reaches is left out. The same calls give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from vkml_backend_vulkan.link import grammar
from vkml_backend_vulkan.link.unit import Instruction, Unit, Words

_MAGIC: Final = 0x07230203
_BUILT_IN: Final = 11
_DECLARING: Final = (grammar.FUNCTION, grammar.PARAMETER)
Place = tuple[int, int]
"""A unit's number and one of its ids."""


class Linker:
    """One module in the making. `bodies` write what the hooks of the frame do."""

    def __init__(self, units: Sequence[Unit], bodies: Mapping[str, Callable[[Body], None]]) -> None:
        """The first unit is the frame. Functions are looked for in `units` in order."""
        self._units = tuple(units)
        self._bodies = {units[0].names[name]: write for name, write in bodies.items()}
        self._bound = 1
        self._ids: tuple[dict[int, int], ...] = tuple({} for _ in units)
        self._alike: dict[object, int] = {}
        self._interface: list[int] = []
        self._waiting: list[Place] = []
        self._imports: list[int] = []
        self._decorations: list[int] = []
        self._globals: list[int] = []
        self._code: list[Words] = []
        self.uint = 0, next(n for n, i in units[0].globals.items() if i[0] == 21 and i[1][2] == 0)
        """The type of constants."""

    def module(self) -> bytes:
        """Give the SPIR-V."""
        frame = self._units[0]
        main = self.function((0, frame.main))
        for number in sorted(frame.decorations):  # the workgroup's size counts though unread
            if any(words[0] == _BUILT_IN for _, words in frame.decorations[number]):
                self.id((0, number))
        for place in self._waiting:  # grows while it is walked
            self._add_function(place)
        entry = (frame.entry[0], main, *frame.entry[2:], *self._interface)
        head = [*self._head(grammar.CAPABILITY), *self._head(grammar.EXTENSION), *self._imports]
        head += max(_encoded(op, words) for op, words in self._heads(grammar.MEMORY_MODEL))
        head += _encoded(grammar.ENTRY_POINT, entry)
        for op, words in frame.head:
            if op == grammar.EXECUTION_MODE:
                head += _encoded(op, (main, *words[1:]))
        start = [_MAGIC, frame.version, 0, self._bound, 0, *head]
        start += self._decorations + self._globals
        return np.concatenate([np.array(start, np.uint32), *self._code]).astype("<u4").tobytes()

    def named(self, name: str) -> Place:
        """Find a function. Raises KeyError."""
        for i, unit in enumerate(self._units):
            if name in unit.names:
                return i, unit.names[name]
        raise KeyError(name)

    def function(self, place: Place) -> int:
        """Give the new id of a function, whose code is then added."""
        unit, number = place
        if number not in self._ids[unit]:
            self._ids[unit][number] = self.new()
            self._waiting.append(place)
        return self._ids[unit][number]

    def declaration(self, place: Place) -> Instruction:
        """Give the OpFunction of a function, in the ids of its unit."""
        return self._units[place[0]].functions[place[1]][0]

    def new(self) -> int:
        """Give an id that is not used yet."""
        self._bound += 1
        return self._bound - 1

    def id(self, place: Place) -> int:
        """Give the new id of anything outside of functions, which is then part of the module."""
        unit, number = place
        ids = self._ids[unit]
        if number not in ids:
            op, words = self._units[unit].globals[number]
            at = grammar.result_place(op)
            mapped = list(words)
            for k in grammar.id_places(op, words):
                if k != at:
                    mapped[k] = self.id((unit, words[k]))
            ids[number] = self._global(op, mapped, at, self._said(place))
        return ids[number]

    def constant(self, kind: int, word: int) -> int:
        """Give the id of a 32-bit constant of a type that is part of the module."""
        return self._global(grammar.CONSTANT, [kind, 0, word], 1, ())

    def _said(self, place: Place) -> tuple[Instruction, ...]:
        return tuple(self._units[place[0]].decorations.get(place[1], ()))

    def _global(self, op: int, words: list[int], at: int, said: tuple[Instruction, ...]) -> int:
        """Add an instruction outside of functions, or give the id of one that is like it."""
        words[at] = 0
        key = op, tuple(words), said
        if key in self._alike:
            return self._alike[key]
        result = words[at] = self.new()
        if op != grammar.VARIABLE or said:  # shared memory is not the same though it looks alike
            self._alike[key] = result
        if op == grammar.VARIABLE:
            self._interface.append(result)
        self._decorate(result, said)
        (self._imports if op == grammar.EXT_IMPORT else self._globals).extend(_encoded(op, words))
        return result

    def _decorate(self, result: int, said: Iterable[Instruction]) -> None:
        for op, words in said:
            self._decorations += _encoded(op, (result, *words))

    def _add_function(self, place: Place) -> None:
        unit, number = place
        write = self._bodies.get(number)
        if unit or write is None:
            self._copy(place)
        else:
            self._write(self._units[unit].functions[number], write)

    def _copy(self, place: Place) -> None:
        """Add a function as it is."""
        unit, number = place
        flat = self._units[unit].flattened(number)
        outer = [self._outer((unit, i)) for i in flat.outer]
        ids = np.array([*outer, *range(self._bound, self._bound + flat.own)], np.uint32)
        for own, instruction in flat.said:
            self._decorate(self._bound + own, (instruction,))
        self._bound += flat.own
        words = flat.words.copy()
        words[flat.places] = ids[flat.which]
        self._code.append(words)

    def _outer(self, place: Place) -> int:
        """Give the new id of anything that is not of one function alone."""
        is_global = place[1] in self._units[place[0]].globals
        return self.id(place) if is_global else self.function(place)

    def _write(self, code: Sequence[Instruction], write: Callable[[Body], None]) -> None:
        """Add a hook with another body."""
        words: list[int] = []
        parameters: list[int] = []
        for op, (kind, number, *rest) in (i for i in code if i[0] in _DECLARING):
            if op == grammar.FUNCTION:
                rest = [rest[0], self.id((0, rest[1]))]
                result = self.function((0, number))
            else:
                result = self.new()
                parameters.append(result)
            words += _encoded(op, (self.id((0, kind)), result, *rest))
        body = Body(self, parameters)
        words += _encoded(grammar.LABEL, (self.new(),))
        write(body)
        words += [*body.code, *_encoded(grammar.FUNCTION_END, ())]
        self._code.append(np.array(words, np.uint32))

    def _head(self, op: int) -> list[int]:
        return [w for _, words in self._heads(op) for w in _encoded(op, words)]

    def _heads(self, op: int) -> list[Instruction]:
        """List the different instructions of a kind that units begin with."""
        return list(dict.fromkeys(i for u in self._units for i in u.head if i[0] == op))


class Body:
    """What is written into a hook: calls and constants, then what is given back."""

    def __init__(self, linker: Linker, parameters: list[int]) -> None:
        """`parameters` are the ids of the hook's parameters."""
        self.parameters = parameters
        self.code: list[int] = []
        self._linker = linker

    def call(self, name: str, *arguments: int) -> int:
        """Call a function by its name; give the id of its result. Raises KeyError if unknown."""
        place = self._linker.named(name)
        _, (kind, *_) = self._linker.declaration(place)
        result = self._linker.new()
        called = self._linker.id((place[0], kind)), result, self._linker.function(place)
        self.code += _encoded(grammar.CALL, (*called, *arguments))
        return result

    def number(self, value: int) -> int:
        """Give the id of a uint constant."""
        return self._linker.constant(self._linker.id(self._linker.uint), value)

    def end(self, result: int | None = None) -> None:
        """Return, with a value or without."""
        given = () if result is None else (result,)
        self.code += _encoded(grammar.RETURN_VALUE if given else grammar.RETURN, given)


def _encoded(op: int, words: Sequence[int]) -> list[int]:
    return [(len(words) + 1) << 16 | op, *words]
