"""What a fused kernel computes, as data and as the name of its module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

PREFIX: Final = "fused:"
FAR: Final = "w"
"""Instead of a digit: the offset is a word of the push constants."""
_ACCESS: Final = re.compile(r"(\w+)\.([a-z])([0-3w])(\d*)")
_NAME: Final = re.compile(re.escape(PREFIX) + r"([^|]*)\|([^|]*)\|(\d+)x(\d+)\|([^|]*)")
_STORE: Final = re.compile(r"(\w+)=(\d+)")
_CALL: Final = re.compile(r"(\w+)\(([-\d,]*)\)")


@dataclass(frozen=True, slots=True)
class Access:
    """How an operand is read, where the four results of an invocation are at `first` … + 3.

    Kinds: `c` four from a multiple of four on, `r` a run from anywhere, `n` one element for all;
    by the strides number `strides`: `v` four side by side, `b` one for the four, `s` each by
    itself.
    """

    token: str
    kind: str
    offset: str = "0"
    """Elements from the pointer to the first one: 0 to 3, or FAR."""
    strides: int | None = None

    def __str__(self) -> str:
        which = "" if self.strides is None else str(self.strides)
        return f"{self.token}.{self.kind}{self.offset}{which}"


@dataclass(frozen=True, slots=True)
class Apply:
    """One call: a function of the library, and arguments as in a plan's calls."""

    function: str
    args: tuple[int, ...]

    @property
    def op(self) -> str:
        """The function without the dtype of its operands."""
        return self.function.rpartition("_")[0]

    def __str__(self) -> str:
        return f"{self.function}({','.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class Store:
    """A result that is kept: of call number `call`, as the dtype of `token`."""

    token: str
    call: int

    def __str__(self) -> str:
        return f"{self.token}={self.call}"


@dataclass(frozen=True, slots=True)
class Program:
    """Calls in order, and which of their results are stored.

    `rank` is the number of axes of strided operands (0: there are none), `strides` how many
    different tuples of strides they have.
    """

    stores: tuple[Store, ...]
    operands: tuple[Access, ...]
    calls: tuple[Apply, ...]
    rank: int = 0
    strides: int = 0

    @property
    def name(self) -> str:
        """The name of the module, from which `parse` makes the program again."""
        parts = (self.stores, ","), (self.operands, ","), (self.calls, " ")
        stores, operands, calls = (by.join(map(str, each)) for each, by in parts)
        return f"{PREFIX}{stores}|{operands}|{self.rank}x{self.strides}|{calls}"

    @property
    def count_word(self) -> int:
        """Where the push constants have the number of results: after the addresses."""
        return 2 * (len(self.stores) + len(self.operands))

    @property
    def words(self) -> int:
        """Words of push constants: addresses, count, inner extents, strides, offsets."""
        inner = max(self.rank - 1, 0)
        far = sum(a.offset == FAR for a in self.operands)
        return self.count_word + 1 + inner + self.rank * self.strides + far


def parse(name: str) -> Program:
    """Read a module's name. Raises ValueError if it is not that of a program."""
    whole = _NAME.fullmatch(name)
    if whole is None:
        raise ValueError(f"no fused module is called {name!r}")
    stores, operands, rank, strides, calls = whole.groups()
    program = Program(
        tuple(Store(token, int(call)) for token, call in _STORE.findall(stores)),
        tuple(_accesses(operands)),
        read_calls(calls),
        int(rank),
        int(strides),
    )
    if program.name != name:
        raise ValueError(f"no fused module is called {name!r}; it would be {program.name!r}")
    return program


def _accesses(text: str) -> Iterator[Access]:
    for token, kind, offset, strides in _ACCESS.findall(text):
        yield Access(token, kind, offset, int(strides) if strides else None)


def read_calls(text: str) -> tuple[Apply, ...]:
    """Read the calls of a name."""
    return tuple(Apply(f, tuple(map(int, args.split(",")))) for f, args in _CALL.findall(text))
