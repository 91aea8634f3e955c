"""A kernel for whole rows: as data, as the name of its module and as that module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.link.linker import Body, Linker
from vkml_backend_vulkan.link.program import Apply, read_calls
from vkml_backend_vulkan.link.row_writer import Writer
from vkml_backend_vulkan.link.unit import LIBRARY, shipped

PREFIX: Final = "rows:"
FRAME: Final = "fused.rows"
OWN_STRIDE: Final = "w"
"""The stride is a word of the push constants."""
CHECKED: Final = "_checked"
"""Ends the name of a function that picks or puts by indices that another kernel checks."""
_INDEXED: Final = ("row_gather", "row_scatter")
_STORE: Final = re.compile(r"(\w+)=([qer])(\d+)@(\d+)")
_SOURCE: Final = re.compile(r"(\w+)\.([qer])([n01w])(\d+)@(\d+)")


@dataclass(frozen=True, slots=True)
class Source:
    """An operand at address number `address`, `offset` elements on.

    Forms: `q` elements of a row in quads, `e` one by one, `r` one for the whole row. The next row
    is `stride` elements on: `n` (as many as a row has), `0`, `1` or OWN_STRIDE.
    """

    token: str
    form: str
    stride: str
    offset: int
    address: int

    def __str__(self) -> str:
        return f"{self.token}.{self.form}{self.stride}{self.offset}@{self.address}"


@dataclass(frozen=True, slots=True)
class Store:
    """A result that is kept: of call number `call`, in a source's form, whole and in order."""

    token: str
    form: str
    call: int
    address: int

    def __str__(self) -> str:
        return f"{self.token}={self.form}{self.call}@{self.address}"


@dataclass(frozen=True, slots=True)
class Rows:
    """Calls in order. A call is of the row (one value) or of its elements: reductions and what
    takes only values of rows give the first, all else the second. An invocation holds `quads`
    times four elements.
    """

    stores: tuple[Store, ...]
    operands: tuple[Source, ...]
    calls: tuple[Apply, ...]
    quads: int

    @property
    def name(self) -> str:
        """The name of the module, from which `parse` makes this again."""
        stores, operands = (",".join(map(str, each)) for each in (self.stores, self.operands))
        return f"{PREFIX}{stores}|{operands}|{self.quads}|{' '.join(map(str, self.calls))}"

    @property
    def fails(self) -> bool:
        """Whether it reports indices, by the last address."""
        indexed = (c.function for c in self.calls if c.function.startswith(_INDEXED))
        return not all(function.endswith(CHECKED) for function in indexed)

    @property
    def addresses(self) -> int:
        """How many addresses the push constants begin with."""
        used = [s.address for s in self.stores] + [o.address for o in self.operands]
        return 1 + max(used, default=-1) + self.fails

    @property
    def words(self) -> int:
        """Words of push constants: addresses, rows, elements of a row, strides."""
        return 2 * self.addresses + 2 + sum(o.stride == OWN_STRIDE for o in self.operands)


def parse(name: str) -> Rows:
    """Read a module's name. Raises ValueError if it is not that of a kernel for rows."""
    if not name.startswith(PREFIX) or name.count("|") != 3:
        raise ValueError(f"no fused module is called {name!r}")
    stores, operands, quads, calls = name.removeprefix(PREFIX).split("|")
    kept = (Store(t, form, int(call), int(at)) for t, form, call, at in _STORE.findall(stores))
    sources, count = tuple(_sources(operands)), int(quads) if quads.isdecimal() else 0
    found = Rows(tuple(kept), sources, read_calls(calls), count)
    if found.name != name:
        raise ValueError(f"no fused module is called {name!r}; it would be {found.name!r}")
    return found


def _sources(text: str) -> Iterator[Source]:
    for token, form, stride, offset, address in _SOURCE.findall(text):
        yield Source(token, form, stride, int(offset), int(address))


def module(name: str) -> bytes:
    """Make the module of a kernel for rows. Raises ValueError if the name is none of theirs."""
    rows = parse(name)
    hooks = {
        "hook_prepare": lambda body: Writer(rows, body).prepare(),
        "hook_count": lambda body: _count(rows, body),
        "hook_row": lambda body: Writer(rows, body).row(),
    }
    return Linker((shipped(FRAME), shipped(LIBRARY)), hooks).module()


def _count(rows: Rows, body: Body) -> None:
    body.end(body.call("push_word", body.number(2 * rows.addresses)))
