"""Module.summary: a table of layers, shapes and sizes; nothing is computed for it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vkml_core.dtypes import to_dtype
from vkml_core.errors import ArgumentError
from vkml_core.functional.creation import zeros
from vkml_core.shapes import check_shape, size
from vkml_core.tensor import Tensor
from vkml_nn.untouched import untouched

if TYPE_CHECKING:
    from vkml_nn.module import Module

HEADER: Final = ("layer", "kind", "output", "parameters")


@dataclass(slots=True)
class Row:
    """A layer: its dotted name, class, parameters of its own, and what it gave at each call."""

    name: str
    kind: str
    parameters: int
    outputs: list[str] = field(default_factory=list)

    def cells(self) -> tuple[str, str, str, str]:
        """Give the row as text: the last output, and how many calls there were."""
        calls = len(self.outputs)
        last = self.outputs[-1] if calls else "not called"
        shown = f"{last} × {calls}" if calls > 1 else last
        return self.name or "(whole)", self.kind, shown, f"{self.parameters:,}"


class Summary(str):
    """The table as text, which prints and shows alike; the numbers are its attributes.

    rows (of `Row`), parameters, trainable (counts), parameter_bytes, buffer_bytes, input_bytes,
    and output_bytes: what all layers without layers of their own gave.
    """

    __slots__ = (
        "buffer_bytes",
        "input_bytes",
        "output_bytes",
        "parameter_bytes",
        "parameters",
        "rows",
        "trainable",
    )
    rows: list[Row]
    parameters: int
    trainable: int
    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int
    output_bytes: int

    def __new__(cls, rows: list[Row], numbers: Mapping[str, int]) -> Summary:
        """Lay the rows and the totals out as text."""
        made = super().__new__(cls, _layout(rows, numbers))
        made.rows = rows
        for name, value in numbers.items():
            setattr(made, name, value)
        return made

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "".join(self)


def _layout(rows: Iterable[Row], numbers: Mapping[str, int]) -> str:
    table = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            [
                *(c.ljust(w) for c, w in zip(cells[:-1], widths, strict=False)),
                cells[-1].rjust(widths[-1]),
            ]
        )
        for cells in table
    ]
    rule = "─" * len(lines[0])
    n = {name: f"{value:,}" for name, value in numbers.items()}
    totals = [
        f"parameters: {n['parameters']}, of which {n['trainable']} are trained",
        f"bytes: parameters {n['parameter_bytes']}, buffers {n['buffer_bytes']}, "
        f"inputs {n['input_bytes']}, outputs of layers {n['output_bytes']}",
    ]
    return "\n".join([lines[0], rule, *lines[1:], rule, *totals])


def _tensors(value: Any) -> Iterator[Tensor]:
    """Give the tensors in a module's output."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(item)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(size(t.shape) * t.dtype.itemsize for t in tensors)


def _inputs(module: Module, input_shape: Any, dtype: Any) -> list[Tensor]:
    """Make one lazy input, or one for each of several shapes."""
    nested = isinstance(input_shape, Sequence) and len(input_shape) > 0
    many = nested and all(isinstance(s, Sequence) for s in input_shape)
    shapes = [check_shape(s, "summary") for s in (input_shape if many else [input_shape])]
    dtypes = list(dtype) if isinstance(dtype, list | tuple) else [dtype] * len(shapes)
    if len(dtypes) != len(shapes):
        raise ArgumentError(f"summary: {len(shapes)} shapes and {len(dtypes)} dtypes")
    kinds = [to_dtype(d) for d in dtypes]
    held = next(itertools.chain(module.parameters(), module.buffers()), None)
    device = None if held is None else held.device
    return [zeros(s, dtype=d, device=device) for s, d in zip(shapes, kinds, strict=True)]


def _rows(module: Module) -> dict[int, Row]:
    """Make a row for each module, by its id; shared parameters count where they are met first."""
    rows, seen = {}, set[int]()
    for name, m in module.named_modules():
        own = [p for p in m.parameters(recurse=False) if id(p) not in seen]
        seen.update(map(id, own))
        rows[id(m)] = Row(name, type(m).__name__, sum(p.numel() for p in own))
    return rows


def summarise(module: Module, input_shape: Any, dtype: Any) -> Summary:
    """Run the forward pass lazily, and note what each module gives."""
    rows, outputs = _rows(module), 0

    def note(m: Module, args: tuple[Any, ...], output: Any) -> None:
        nonlocal outputs
        found = list(_tensors(output))
        shown = ", ".join(str(t.shape) for t in found) or type(output).__name__
        rows[id(m)].outputs.append(shown)
        outputs += 0 if m._modules else _bytes(found)

    with untouched(module):
        inputs = _inputs(module, input_shape, dtype)
        for m in module.modules():
            m.register_forward_hook(note)
        module(*inputs)
    held = list(module.parameters())
    numbers = {
        "parameters": sum(p.numel() for p in held),
        "trainable": sum(p.numel() for p in held if p.requires_grad),
        "parameter_bytes": _bytes(held),
        "buffer_bytes": _bytes(module.buffers()),
        "input_bytes": _bytes(inputs),
        "output_bytes": outputs,
    }
    return Summary(list(rows.values()), numbers)
