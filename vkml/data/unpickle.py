"""Reads pickles of arrays, strings, lists, dicts and ints; whatever they hold, nothing is run.

A pickle is a program for a stack machine, and Python's own machine imports and calls what the
program names. The one here has the instructions that data needs (protocols 2 to 4, as Python's
module pickletools describes them) and calls the constructors of `vkml.data.pickled` only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vkml.data.pickle_machine import Instruction, Machine
from vkml.data.pickled import find
from vkml.data.published import DataError


def load(data: bytes | bytearray, what: str) -> Any:
    """Give what a pickle holds; strings of Python 2 become bytes.

    Raises DataError, which begins with `what`, for anything else than such data.
    """
    machine = Machine(data)
    try:
        return machine.run(INSTRUCTIONS)
    except DataError as error:
        raise DataError(f"{what}: at byte {machine.at:,}: {error}") from None


def _push(make: Callable[[Machine], Any]) -> Instruction:
    return lambda m: m.stack.append(make(m))


def _text(form: str) -> Instruction:
    """Push a string of Python 3 after its length in bytes."""

    def push(m: Machine) -> None:
        try:
            m.stack.append(m.take(m.number(form)).decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise DataError("has text that is not UTF-8") from None

    return push


def _bytes(form: str) -> Instruction:
    """Push bytes, or a string of Python 2, after their length."""
    return _push(lambda m: m.take(m.number(form)))


def _tuple(count: int) -> Instruction:
    return _push(lambda m: tuple([m.pop() for _ in range(count)][::-1]))


def _global(m: Machine) -> None:
    module, name = m.line(), m.line()
    m.stack.append(find(module, name))


def _stack_global(m: Machine) -> None:
    name, module = m.pop(), m.pop()
    m.stack.append(find(module, name))


def _frame(m: Machine) -> None:
    """Pass over the size of what may be read at once: all has been read already."""
    m.number("<Q")


INSTRUCTIONS: Final[dict[bytes, Instruction]] = {
    b"(": lambda m: m.marks.append(len(m.stack)),
    b"\x95": _frame,
    b"N": _push(lambda m: None),
    b"\x88": _push(lambda m: True),
    b"\x89": _push(lambda m: False),
    b"J": _push(lambda m: m.number("<i")),
    b"K": _push(lambda m: m.number("<B")),
    b"M": _push(lambda m: m.number("<H")),
    b"\x8a": Machine.long,
    b"U": _bytes("<B"),
    b"T": _bytes("<i"),
    b"C": _bytes("<B"),
    b"B": _bytes("<I"),
    b"\x8e": _bytes("<Q"),
    b"\x8c": _text("<B"),
    b"X": _text("<I"),
    b"]": _push(lambda m: []),
    b"a": lambda m: m.append([m.pop()]),
    b"e": lambda m: m.append(m.pop_to_mark()),
    b"}": _push(lambda m: {}),
    b"s": lambda m: m.update([m.pop(), m.pop()][::-1]),
    b"u": lambda m: m.update(m.pop_to_mark()),
    b")": _tuple(0),
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"t": _push(lambda m: tuple(m.pop_to_mark())),
    b"q": lambda m: m.keep(m.number("<B")),
    b"r": lambda m: m.keep(m.number("<I")),
    b"\x94": lambda m: m.keep(len(m.memo)),
    b"h": lambda m: m.recall(m.number("<B")),
    b"j": lambda m: m.recall(m.number("<I")),
    b"c": _global,
    b"\x93": _stack_global,
    b"R": Machine.reduce,
    b"b": Machine.build,
}
