"""Writes a Python script that shows what a device computes wrong and needs vkml alone."""

from __future__ import annotations

import base64
import dataclasses
import textwrap
import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np

from vkml_conformance.capture import program_of
from vkml_conformance.check import Subject
from vkml_conformance.engine import ORACLE
from vkml_conformance.program import Call, Input, Number, Program
from vkml_conformance.script_text import HEAD, TAIL
from vkml_conformance.values import Array, words
from vkml_core.ops.spec import REGISTRY, Kind

_SMALL: Final = 64
"""Elements up to which an array is written as words that can be read."""
_WIDTH: Final = 72


def script_of(
    subject: Subject,
    device: str,
    backend: str | None = None,
    *,
    reference: str = ORACLE,
    reference_backend: str | None = None,
) -> str:
    """Write a script that computes a subject on two devices and exits with 1 if a bit differs.

    A backend that is not installed is given as `module:attribute`. What a subject has computed
    already when it has been recorded is in the script as its result.
    """
    program = program_of(subject)
    backends = [b for b in (backend, reference_backend) if b]
    head = HEAD.format(device=device, reference=reference, backends=backends)
    return head + "\n".join((*_leaves(program), "", "", *_graph(program))) + "\n" + TAIL


def _leaves(program: Program) -> Iterator[str]:
    yield "def leaves():"
    yield '    """Give the arrays that are uploaded, with their exact bits."""'
    yield "    return ["
    for x in program.leaves():
        yield textwrap.indent(f"{_array(x)},", " " * 8)
    yield "    ]"


def _array(x: Array) -> str:
    kind = f"{x.dtype.name!r}, {x.shape}"
    if x.size <= _SMALL:
        return f"array({kind}, {_text('', _hex(x))})"
    little = np.ascontiguousarray(x, x.dtype.newbyteorder("<"))
    packed = base64.b64encode(zlib.compress(little.tobytes(), 9)).decode()
    return f"array({kind}, {_text('packed=', packed)})"


def _hex(x: Array) -> str:
    digits = 2 * x.dtype.itemsize
    return " ".join(f"{int(w):0{digits}x}" for w in words(x).reshape(-1))


def _text(name: str, text: str) -> str:
    """Write a long text as several that follow each other."""
    if len(text) <= _WIDTH:
        return f'{name}"{text}"'
    parts = [text[i : i + _WIDTH] for i in range(0, len(text), _WIDTH)]
    return f"{name}(\n" + "".join(f'    "{part}"\n' for part in parts) + ")"


def _graph(program: Program) -> Iterator[str]:
    arrays = iter(range(len(program.inputs)))
    yield "def graph(leaf, device):"
    yield '    """Record the graph; gives its results as tensors."""'
    for place, x in enumerate(program.inputs):
        yield f"    v{place} = {_given(x, arrays)}"
    for place, called in enumerate(program.calls, len(program.inputs)):
        yield from (f"    {line}" for line in _call(place, called))
    yield "    return [" + ", ".join(map(_result, _outputs(program))) + "]"


def _given(x: Input, arrays: Iterator[int]) -> str:
    if isinstance(x, Number):
        word = _hex(np.array(x.value, x.dtype.numpy))
        one = f'array({x.dtype.numpy.name!r}, (), "{word}").item()'
        return f"full({x.shape}, {one}, {x.dtype!r}, device)"
    return f"leaf[{next(arrays)}]"


def _call(place: int, called: Call) -> Iterator[str]:
    """Write a call; an assignment goes through a handle, which stands for the new value."""
    args = [f"v{a}" for a in called.args]
    if REGISTRY[called.op].kind is Kind.ASSIGN:
        yield f"t{place} = vkml.Tensor({args[0]}).assign_(vkml.Tensor({args[1]}))"
        yield f"v{place} = t{place}.node"
        return
    fields = dataclasses.fields(called.attrs) if called.attrs is not None else ()
    named = [f"{f.name}={getattr(called.attrs, f.name)!r}" for f in fields]
    yield f"v{place} = call({', '.join((repr(called.op), *args, *named))})"


def _outputs(program: Program) -> Iterator[tuple[int, bool]]:
    """Give the place of each output, and whether it is what an assignment has left in a handle."""
    first = len(program.inputs)
    for place in program.outputs:
        made = program.calls[place - first].op if place >= first else "data"
        yield place, REGISTRY[made].kind is Kind.ASSIGN


def _result(output: tuple[int, bool]) -> str:
    place, assigned = output
    return f"t{place}" if assigned else f"vkml.Tensor(v{place})"
