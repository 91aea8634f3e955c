"""The oracle's cases of some kinds of operations, each once more with float16 operands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest

from tests.oracle.cases import CASES
from tests.oracle.values import Array, anything, bits, bools
from vkml_backend_vulkan.lower import OPS
from vkml_core.ops.spec import REGISTRY, Kind

DTYPES: Final = (np.float32, np.float16, np.int32, np.int64, np.bool_)


def values(name: str, *shape: int, dtype: Any) -> Array:
    if dtype is np.bool_:
        return bools(name, *shape)
    if np.dtype(dtype).kind == "i":
        return bits(name, *shape, dtype=dtype)
    return (
        anything(name, *shape)
        if dtype is np.float32
        else bits(name, *shape, dtype=np.uint16).view(np.float16)
    )


def halved(x: Array) -> Array:
    """Narrow floats, whatever flags that raises; leave the rest."""
    with np.errstate(all="ignore"):
        return x.astype(np.float16) if x.dtype == np.float32 else x


def cases(*kinds: Kind) -> list[Any]:
    """Give pytest parameters (op, attrs, arrays)."""
    return [pytest.param(op, a, x, id=name) for name, op, a, x in _cases(kinds)]


def _cases(kinds: tuple[Kind, ...]) -> Iterator[tuple[str, str, Any, tuple[Array, ...]]]:
    for case in CASES:
        if REGISTRY[case.op].kind not in kinds or case.op not in OPS:
            continue
        yield case.name, case.op, case.attrs, case.arrays
        if any(x.dtype == np.float32 for x in case.arrays):
            yield f"{case.name} half", case.op, case.attrs, tuple(map(halved, case.arrays))
