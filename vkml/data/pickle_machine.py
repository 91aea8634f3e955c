"""The stack machine that reads a pickle: its stack, marks and memo, and what is allowed there.

A list holds ints and strings, a dict these, lists and arrays: nothing nests deeper. Time and
memory are bounded by the size of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from vkml.data.pickled import CONSTRUCTORS, Name, PickledArray, PickledDtype, shown
from vkml.data.published import DataError

MOST_STEPS: Final = 2**20
"""Instructions that a file may have: five times those of CIFAR-100's training images."""
_LONGEST_INT: Final = 8
_LEAVES: Final = (int, bytes, str)


class Machine:
    """The stack, its marks, the memo, and how far the program was read."""

    def __init__(self, data: bytes | bytearray) -> None:
        self.data = data
        self.view = memoryview(data)
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, instructions: Mapping[bytes, Instruction]) -> Any:
        """Do what the program says until it stops, and give its value."""
        if self.take(1) != b"\x80" or self.take(1) not in (b"\2", b"\3", b"\4"):
            raise DataError("is not a pickle of protocol 2, 3 or 4")
        for _ in range(MOST_STEPS):
            code = self.take(1)
            if code == b".":
                return self.result()
            if code not in instructions:
                raise DataError(f"has the instruction {code!r}, which data does not need")
            instructions[code](self)
        raise DataError(f"has more than {MOST_STEPS:,} instructions")

    def take(self, count: int) -> bytes:
        """Read bytes of the program."""
        start, self.at = self.at, self.at + count
        if not start <= self.at <= len(self.data):
            self.at = start
            raise DataError("ends early")
        return bytes(self.view[start : self.at])

    def number(self, form: str) -> int:
        """Read a number as `struct` names it."""
        found: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return found

    def line(self) -> str:
        """Read a name of the program, which ends with a line."""
        end = self.data.find(b"\n", self.at, self.at + 100)
        if end < 0:
            raise DataError("has a name that does not end")
        name = self.take(end - self.at).decode("latin-1")
        self.at += 1
        return name

    def pop(self) -> Any:
        """Take the value on top, above the last mark."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise DataError("takes a value that is not there")
        return self.stack.pop()

    def pop_to_mark(self) -> list[Any]:
        """Take all values above the last mark, and the mark."""
        if not self.marks:
            raise DataError("has no mark where one is needed")
        start = self.marks.pop()
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def top(self, kind: type) -> Any:
        """Look at the value on top, which has to be a list or a dict."""
        value = self.pop()
        self.stack.append(value)
        if type(value) is not kind:
            raise DataError(f"adds to {shown(value)} as if it were a {kind.__name__}")
        return value

    def append(self, values: list[Any]) -> None:
        """Append to the list on top."""
        for value in values:
            if type(value) not in _LEAVES:
                raise DataError(f"has a list that holds {shown(value)}, not ints or strings")
        self.top(list).extend(values)

    def update(self, pairs: list[Any]) -> None:
        """Put keys and values into the dict on top."""
        if len(pairs) % 2:
            raise DataError("has a key without a value")
        keys, values = pairs[::2], [_finished(v) for v in pairs[1::2]]
        for key in keys:
            if type(key) not in (bytes, str):
                raise DataError(f"has {shown(key)} as a key, not a string")
        for value in values:
            if type(value) is dict:
                raise DataError("has a dict in a dict")
        self.top(dict).update(zip(keys, values, strict=True))

    def reduce(self) -> None:
        """Make a value with one of the allowed constructors."""
        args, name = self.pop(), self.pop()
        if not isinstance(name, Name) or name not in CONSTRUCTORS or type(args) is not tuple:
            raise DataError(f"calls {name.value if isinstance(name, Name) else shown(name)}")
        self.stack.append(CONSTRUCTORS[name](args))

    def build(self) -> None:
        """Give an array or a dtype its state."""
        state, value = self.pop(), self.pop()
        if not isinstance(value, PickledArray | PickledDtype):
            raise DataError(f"sets the state of {shown(value)}")
        value.set_state(state)
        self.stack.append(value)

    def recall(self, index: int) -> None:
        """Put a value from the memo on top."""
        if index not in self.memo:
            raise DataError(f"recalls value {index}, which it did not keep")
        self.stack.append(self.memo[index])

    def keep(self, index: int) -> None:
        """Put the value on top into the memo too."""
        value = self.pop()
        self.stack.append(value)
        self.memo[index] = value

    def long(self) -> None:
        """Push an int of a few bytes."""
        count = self.number("<B")
        if count > _LONGEST_INT:
            raise DataError(f"has an int of {count} bytes, the limit is {_LONGEST_INT}")
        self.stack.append(int.from_bytes(self.take(count), "little", signed=True))

    def result(self) -> Any:
        """Give the one value that is left."""
        value = _finished(self.pop())
        if self.stack or self.marks:
            raise DataError("ends with more than one value")
        if self.at != len(self.data):
            raise DataError("goes on after its end")
        return value


def _finished(value: Any) -> Any:
    """Give a value that may be kept: an array for what was pickled as one."""
    if isinstance(value, PickledArray):
        return value.value()
    if type(value) in (*_LEAVES, list, dict):
        return value
    raise DataError(f"holds {shown(value)}; only arrays, strings, lists, dicts and ints are read")


Instruction = Callable[[Machine], None]
