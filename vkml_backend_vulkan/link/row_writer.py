"""Writes the hooks of a kernel for whole rows: loads, calls, reductions, stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vkml_backend_vulkan.link.apply import apply_quads
from vkml_backend_vulkan.link.linker import Body
from vkml_backend_vulkan.link.prepare import prepare
from vkml_backend_vulkan.link.program import Apply
from vkml_backend_vulkan.shaders.tables.library import LONG, RESULTS, is_settled

if TYPE_CHECKING:
    from vkml_backend_vulkan.link.rows import Rows, Source, Store

_SHARED_SUMS: Final = ("row_sum_f32", "row_sum_f16")
"""Reductions whose order is fixed: they take all elements; the others take one of an invocation."""


@dataclass(slots=True)
class _Value:
    """What an operand or a call gives: ids of quads, or of the row's one value, or both."""

    token: str
    quads: tuple[int, ...] = ()
    one: int | None = None
    is_settled: bool = False
    """It is a float32 whose NaN is the canonical one."""


class Writer:
    """Writes into the body of one hook."""

    def __init__(self, rows: Rows, body: Body) -> None:
        """Nothing is written yet."""
        self._rows, self._body = rows, body
        self._next_word = 2 * rows.addresses + 2
        self._once = 0
        self._columns: dict[int, int] = {}

    def prepare(self) -> None:
        """Fill the tables that functions share."""
        prepare(self._body, self._rows.calls)

    def row(self) -> None:
        """Load the operands, then do each call and store what is kept of it."""
        self._row, self._at = self._body.parameters
        first = 2 * self._rows.addresses
        self._count, self._n = self._word(first), self._word(first + 1)
        self._ks = [self._body.number(k) for k in range(self._rows.quads)]
        operands = [self._load(source) for source in self._rows.operands]
        results: list[_Value] = []
        for i, call in enumerate(self._rows.calls):
            given = [operands[a] if a >= 0 else results[~a] for a in call.args]
            results.append(self._result(call, given))
            for store in (s for s in self._rows.stores if s.call == i):
                self._store(store, results[-1])
        self._body.end()

    def _word(self, number: int) -> int:
        return self._body.call("push_word", self._body.number(number))

    def _address(self, number: int) -> int:
        return self._body.call("push_address", self._body.number(number))

    def _each(self, write: Callable[[int, int], int], value: _Value) -> tuple[int, ...]:
        """Write something for each quad, by its number and its id."""
        return tuple(map(write, self._ks, self._quads(value)))

    def _quads(self, value: _Value) -> tuple[int, ...]:
        """Give the quads of a value, all alike where it is the row's."""
        if not value.quads:
            assert value.one is not None
            spread = self._body.call(f"row_spread_{value.token}", value.one)
            value.quads = (spread,) * self._rows.quads
        return value.quads

    def _load(self, source: Source) -> _Value:
        call, number, token = self._body.call, self._body.number, source.token
        start = call("row_start", self._at, self._stride(source), number(source.offset))
        address, settled = self._address(source.address), token == "f32"
        if source.form == "r":
            return _Value(token, (), call(f"load1_{token}", address, start), settled)
        place, load, more = {
            "q": ("row_quad", f"load_quad_{token}", (number(4),)),
            "e": ("row_four", f"load_at_{token}", ()),
        }[source.form]
        places = [call(place, start, k, self._n) for k in self._ks]
        quads = tuple(call(load, address, at, *more) for at in places)
        return _Value(token, quads, None, settled)

    def _stride(self, source: Source) -> int:
        if source.stride == "n":
            return self._n
        if source.stride.isdecimal():
            return self._body.number(int(source.stride))
        self._next_word += 1
        return self._word(self._next_word - 1)

    def _store(self, store: Store, value: _Value) -> None:
        target, token = self._address(store.address), store.token
        where = target, self._row, self._count
        if store.form == "r":
            assert value.one is not None
            self._body.call(f"row_store_one_{token}", *where, value.one)
            return
        function = {"q": "row_store_quad", "e": "row_store_each"}[store.form]
        if store.form == "q" and value.is_settled:
            function = "row_store_settled"
        self._each(
            lambda k, q: self._body.call(f"{function}_{token}", *where, k, self._n, q), value
        )

    def _result(self, call: Apply, given: Sequence[_Value]) -> _Value:
        name, _, rest = call.function.partition("_")
        if name == "row":
            return self._of_rows(call, rest.split("_"), given)
        token, settled = RESULTS[call.function], is_settled(call.function)
        if any(value.one is None for value in given):
            quads = apply_quads(self._body, call, [self._quads(v) for v in given])
            return _Value(token, quads, None, settled)
        ones = [value.one for value in given if value.one is not None]
        if call.op in LONG:
            self._once += 1
            turn = self._body.number(self._once)
            done = self._body.call(f"once_{call.function}", turn, *ones)
        else:
            done = self._body.call(f"call_{call.function}", *ones)
        return _Value(token, (), done, settled)

    def _of_rows(self, call: Apply, words: Sequence[str], given: Sequence[_Value]) -> _Value:
        """Reduce, pick or put: `words` are the operation and tokens."""
        op, token, *index = words
        if not index:
            return _Value(token, one=self._reduced(call.function, given[0]))
        column = self._column(call.args[1], index, given[1])
        if op == "gather":
            self._each(self._share, given[0])
            return _Value(token, one=self._body.call("row_gather", column))
        assert given[0].one is not None
        put = f"row_scatter_{token}"
        quads = (self._body.call(put, k, column, given[0].one) for k in self._ks)
        return _Value(token, tuple(quads))

    def _share(self, k: int, quad: int) -> int:
        return self._body.call("row_share", k, self._n, quad)

    def _reduced(self, function: str, value: _Value) -> int:
        if function in _SHARED_SUMS:
            self._each(self._share, value)
            return self._body.call(function)
        name = function.removeprefix("row_")
        settled = "settled_" if value.is_settled and name == "amax_f32" else ""
        key = f"row_key_{settled}{name}"
        first, *others = self._each(lambda k, q: self._body.call(key, k, self._n, q), value)
        for other in others:
            first = self._body.call(f"row_both_{name}", first, other)
        return self._body.call(function, first)

    def _column(self, argument: int, words: Sequence[str], value: _Value) -> int:
        """Give the column that an index names; each is looked at once. `words` are its token, and
        whether it is checked elsewhere.
        """
        if argument not in self._columns:
            assert value.one is not None
            token, *elsewhere = words
            given = (value.one, self._n)
            if elsewhere:
                found = self._body.call(f"row_inside_{token}", *given)
            else:
                errors = self._address(self._rows.addresses - 1)
                found = self._body.call(f"row_index_{token}", *given, errors)
            self._columns[argument] = found
        return self._columns[argument]
