"""Programs as JSON, with the exact bits of every array and number."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any, Final

import numpy as np

from vkml_conformance.program import Call, Input, Number, Program
from vkml_core.dtypes import DType, to_dtype
from vkml_core.graph import make_attrs
from vkml_core.ops.spec import REGISTRY

VERSION: Final = 1


def to_json(program: Program) -> str:
    """Write a program on one line."""
    said = {
        "version": VERSION,
        "inputs": [_input(x) for x in program.inputs],
        "calls": [
            {"op": c.op, "attrs": attributes(c.attrs), "args": c.args} for c in program.calls
        ],
        "outputs": program.outputs,
    }
    return json.dumps(said)


def from_json(text: str) -> Program:
    """Read a program. Raises ValueError telling what is wrong, ArgumentTypeError for attributes."""
    said = json.loads(text)
    if not isinstance(said, dict) or said.get("version") != VERSION:
        found = said.get("version") if isinstance(said, dict) else type(said).__name__
        raise ValueError(f"program: expected version {VERSION}, got {found!r}; write it anew")
    try:
        inputs = tuple(map(_read_input, said["inputs"]))
        calls = tuple(map(_read_call, said["calls"]))
        return Program(inputs, calls, tuple(map(int, said["outputs"])))
    except KeyError as error:
        raise ValueError(f"program: the field {error} is missing; write it anew") from None


def attributes(attrs: Any) -> dict[str, Any]:
    """Give the fields of an attribute object; a dtype is given by its name."""
    fields = dataclasses.fields(attrs) if attrs is not None else ()
    values = {f.name: getattr(attrs, f.name) for f in fields}
    return {k: v.name if isinstance(v, DType) else v for k, v in values.items()}


def _input(x: Input) -> dict[str, Any]:
    """Describe an input; of a number one element is kept."""
    array = np.array(x.value, x.dtype.numpy) if isinstance(x, Number) else np.ascontiguousarray(x)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "dtype": to_dtype(array.dtype).name,
        "shape": x.shape,
        "number": isinstance(x, Number),
        "data": base64.b64encode(little.tobytes()).decode(),
    }


def _read_input(said: dict[str, Any]) -> Input:
    dtype, shape = to_dtype(said["dtype"]), tuple(map(int, said["shape"]))
    little = np.frombuffer(base64.b64decode(said["data"]), dtype.numpy.newbyteorder("<"))
    array = little.astype(dtype.numpy)
    return Number(shape, dtype, array[0].item()) if said["number"] else array.reshape(shape)


def _read_call(said: dict[str, Any]) -> Call:
    """Rows have no attribute that is a text but dtypes, and no list but tuples."""
    attrs = {name: _read_value(value) for name, value in said["attrs"].items()}
    return Call(said["op"], make_attrs(REGISTRY[said["op"]], attrs), tuple(map(int, said["args"])))


def _read_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return to_dtype(value) if isinstance(value, str) else value
