"""Runs one kernel of the oracle as its executor does, and compares bits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from vkml_backend_cpu.convert import NAN_BITS
from vkml_backend_cpu.table import TABLE
from vkml_core.dtypes import to_dtype
from vkml_core.graph import Node
from vkml_core.ops.spec import REGISTRY

from .values import Array

BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def canonical(x: Array) -> Array:
    """Copy, with the contract's NaN."""
    out = np.array(x, order="C")
    if out.dtype in NAN_BITS:
        out.view(BITS[out.dtype.itemsize])[np.isnan(out)] = NAN_BITS[out.dtype]
    return out


def read_only(x: Array) -> Array:
    view = x.view()
    view.flags.writeable = False
    return view


def run(op: str, attrs: Any, *arrays: Array) -> Array:
    """Give the kernel's result; its shape and dtype are what the registry's row says."""
    with np.errstate(all="ignore"):
        result = np.asarray(TABLE[op](attrs, *map(read_only, arrays)))
    typed = [cast(Node, SimpleNamespace(shape=a.shape, dtype=to_dtype(a.dtype))) for a in arrays]
    shape, dtype = REGISTRY[op].infer(typed, attrs)
    assert (result.shape, result.dtype) == (shape, dtype.numpy)
    return canonical(result)


def attributes(op: str, **values: Any) -> Any:
    """Make the attribute object of a row."""
    made = REGISTRY[op].attrs
    return made(**values) if made else None


def assert_same_bits(got: Array, want: Array) -> None:
    """Compare shape, dtype and every bit."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    a, b = (x.ravel().view(BITS[x.dtype.itemsize]) for x in (got, want))
    wrong = np.flatnonzero(a != b)
    shown = [f"{got.flat[i]!r} ({a[i]:x}) at {i}, not {want.flat[i]!r} ({b[i]:x})" for i in wrong]
    assert not wrong.size, f"{wrong.size} of {a.size} wrong: {shown[:5]}"
