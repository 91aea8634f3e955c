"""From the name of a fused module to its SPIR-V: the calls that its program asks for."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.link import epilogue, rows
from vkml_backend_vulkan.link.apply import Quads, apply_quads
from vkml_backend_vulkan.link.linker import Body, Linker
from vkml_backend_vulkan.link.prepare import fills, prepare
from vkml_backend_vulkan.link.program import FAR, PREFIX, Access, Program, parse
from vkml_backend_vulkan.link.unit import LIBRARY, shipped
from vkml_backend_vulkan.shaders.tables.library import is_settled

FRAME: Final = "fused.elementwise"
_ENDLESS: Final = 2**31 - 1
"""The extent of the outermost axis, which is never left."""
_RANK: Final = 4
_OTHERS: Final = {epilogue.PREFIX: epilogue.module, rows.PREFIX: rows.module}
"""What makes the modules whose names begin otherwise."""


def is_fused(name: str) -> bool:
    """Whether a module is made when it is needed, and not a file."""
    return name.startswith((PREFIX, *_OTHERS))


def module(name: str) -> bytes:
    """Make a module by its name. Raises ValueError if it does not tell what to make."""
    for prefix, make in _OTHERS.items():
        if name.startswith(prefix):
            return make(name)
    program = parse(name)
    writer = _Writer(program)
    hooks = {
        "hook_prepare": lambda body: prepare(body, program.calls),
        "hook_count": writer.count,
        "hook_quad": writer.quads,
    }
    if fills(program.calls):
        hooks["hook_two"] = writer.quads
    return Linker((shipped(FRAME), shipped(LIBRARY)), hooks).module()


class _Writer:
    """Writes the hooks of the frame."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def count(self, body: Body) -> None:
        """Give the number of results."""
        body.end(body.call("push_word", body.number(self._program.count_word)))

    def quads(self, body: Body) -> None:
        """Load four elements of each operand at each place, call the functions and store what is
        kept. Of several places, all is loaded first.
        """
        program, given = self._program, body.parameters
        places = list(zip(given[::2], given[1::2], strict=True))
        operands = zip(*(self._operands(body, at) for at in places), strict=True)
        results = self._results(body, list(operands))
        for k, store in enumerate(program.stores):
            kind = "settled" if is_settled(program.calls[store.call].function) else "quad"
            for at, quad in zip(places, results[store.call], strict=True):
                target = body.call("push_address", body.number(k))
                body.call(f"store_{kind}_{store.token}", target, *at, quad)
        body.end()

    def _operands(self, body: Body, at: tuple[int, int]) -> list[int]:
        places = _Places(self._program, body, at[0])
        count = len(self._program.operands)
        return [_load(self._program, body, k, places, at) for k in range(count)]

    def _results(self, body: Body, operands: list[Quads]) -> list[Quads]:
        results: list[Quads] = []
        for call in self._program.calls:
            given = [operands[a] if a >= 0 else results[~a] for a in call.args]
            results.append(apply_quads(body, call, given))
        return results


def _load(program: Program, body: Body, k: int, places: _Places, at: tuple[int, int]) -> int:
    """Give the four elements of operand `k`."""
    access, word = program.operands[k], body.number(len(program.stores) + k)
    address, token = body.call("push_address", word), access.token
    first, left = at
    if access.kind == "c":
        return body.call(f"load_quad_{token}", address, first, left)
    offset = places.offset(k)
    if access.kind == "n":
        return body.call(f"load_one_{token}", address, offset)
    if access.kind == "r":
        run = body.call("run", first, offset, left)
        return body.call(f"load_at_{token}", address, run)
    if access.kind == "s":
        return body.call(f"load_at_{token}", address, places.each(access, offset, left))
    place = places.one(access, offset)
    if access.kind == "b":
        return body.call(f"load_one_{token}", address, place)
    return body.call(f"load_quad_{token}", address, place, left)


class _Places:
    """Coordinates and strides, worked out once for all operands."""

    def __init__(self, program: Program, body: Body, first: int) -> None:
        self._program, self._body = program, body
        self._word = program.count_word + 1
        inner = [self._next() for _ in range(program.rank - 1)]
        if program.rank:
            self._extents = self._four("extents4", [body.number(_ENDLESS), *inner], 1)
            self._corner = body.call("corner", first, self._extents)
        self._strides = [
            self._four("strides4", [self._next() for _ in range(program.rank)], 0)
            for _ in range(program.strides)
        ]
        self._offsets = [
            self._next() if a.offset == FAR else body.number(int(a.offset))
            for a in program.operands
        ]

    def offset(self, k: int) -> int:
        """Give the offset of operand `k`."""
        return self._offsets[k]

    def one(self, access: Access, offset: int) -> int:
        """Give the place of the first element."""
        return self._body.call("place", self._corner, self._steps(access), offset)

    def each(self, access: Access, offset: int, left: int) -> int:
        """Give the places of the four elements."""
        given = self._corner, self._extents, self._steps(access), offset, left
        return self._body.call("places", *given)

    def _steps(self, access: Access) -> int:
        assert access.strides is not None
        return self._strides[access.strides]

    def _next(self) -> int:
        self._word += 1
        return self._body.call("push_word", self._body.number(self._word - 1))

    def _four(self, maker: str, numbers: list[int], fill: int) -> int:
        filled = [self._body.number(fill)] * (_RANK - len(numbers)) + numbers
        return self._body.call(maker, *filled)
