"""Element-wise calls on each result of a head, before it is stored: as data, as the name of a
module and as that module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.link import epilogue_quads
from vkml_backend_vulkan.link.linker import Body, Linker
from vkml_backend_vulkan.link.program import Apply, read_calls
from vkml_backend_vulkan.link.unit import LIBRARY, shipped
from vkml_backend_vulkan.shaders.tables.hooks import HOOK

PREFIX: Final = "fused@"
_STORE: Final = re.compile(r"(\w+)=(\d+)@(\d+)")
_SOURCE: Final = re.compile(r"(\w+)\.(\d+)@(\d+)(?:/(\d+)/(\d+)/(\d+))?")


@dataclass(frozen=True, slots=True)
class Store:
    """A result that is kept: of call number `call`, at address number `address`."""

    token: str
    call: int
    address: int

    def __str__(self) -> str:
        return f"{self.token}={self.call}@{self.address}"


@dataclass(frozen=True, slots=True)
class Source:
    """An operand at address number `address`, `offset` elements on. Result i reads element i, or
    with `axis`, which is (inner, extent, stride), element (i // inner % extent) · stride.
    """

    token: str
    offset: int
    address: int
    axis: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        axis = "" if self.axis is None else "/" + "/".join(map(str, self.axis))
        return f"{self.token}.{self.offset}@{self.address}{axis}"


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What follows the module `head`. Call 0 is the head; `calls` are those from call 1 on.

    Address 0 is the head's own result.
    """

    head: str
    stores: tuple[Store, ...]
    operands: tuple[Source, ...]
    calls: tuple[Apply, ...]

    @property
    def name(self) -> str:
        """The name of the module, from which `parse` makes the epilogue again."""
        stores, operands = (",".join(map(str, each)) for each in (self.stores, self.operands))
        return f"{PREFIX}{self.head}|{stores}|{operands}|{' '.join(map(str, self.calls))}"


def parse(name: str) -> Epilogue:
    """Read a module's name. Raises ValueError if it is not that of an epilogue."""
    if not name.startswith(PREFIX) or name.count("|") != 3:
        raise ValueError(f"no fused module is called {name!r}")
    head, stores, operands, calls = name.removeprefix(PREFIX).split("|")
    kept = (Store(t, int(call), int(at)) for t, call, at in _STORE.findall(stores))
    found = Epilogue(head, tuple(kept), tuple(_sources(operands)), read_calls(calls))
    if found.name != name:
        raise ValueError(f"no fused module is called {name!r}; it would be {found.name!r}")
    return found


def _sources(text: str) -> Iterator[Source]:
    for token, offset, address, *axis in _SOURCE.findall(text):
        inner, extent, stride = (int(n) if n else 0 for n in axis)
        yield Source(token, int(offset), int(address), (inner, extent, stride) if axis[0] else None)


def module(name: str) -> bytes:
    """Make the module of an epilogue. Raises ValueError if the name is none of an epilogue's."""
    epilogue = parse(name)
    units = shipped(epilogue.head + HOOK), shipped(LIBRARY)
    hooks = {"hook_store": _Writer(epilogue).store, **epilogue_quads.bodies(epilogue)}
    here = {name: body for name, body in hooks.items() if name in units[0].names}
    return Linker(units, here).module()


class _Writer:
    """Writes the hook of the head."""

    def __init__(self, epilogue: Epilogue) -> None:
        self._epilogue = epilogue

    def store(self, body: Body) -> None:
        """Load an element of each operand, call the functions and store what is kept."""
        index, value = body.parameters
        operands = [_load(body, source, index) for source in self._epilogue.operands]
        results = [value]
        for call in self._epilogue.calls:
            given = [operands[a] if a >= 0 else results[~a] for a in call.args]
            results.append(body.call(f"call_{call.function}", *given))
        for kept in self._epilogue.stores:
            target = body.call("push_address", body.number(kept.address))
            body.call(f"store1_{kept.token}", target, index, results[kept.call])
        body.end()


def _load(body: Body, source: Source, index: int) -> int:
    """Give the element of an operand that the result at `index` needs."""
    place = index
    if source.axis is not None:
        inner, extent, stride = map(body.number, source.axis)
        place = body.call("along_axis", index, inner, extent, stride)
    if source.offset:
        place = body.call("sum", place, body.number(source.offset))
    address = body.call("push_address", body.number(source.address))
    return body.call(f"load1_{source.token}", address, place)
