"""Probes of shipped kernels on edge operands, run as plans through their lowerings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from vkml_backend_vulkan.selftest.literals import NORMAL, SUBNORMAL
from vkml_backend_vulkan.selftest.operands import EDGES, is_tiny, near, pairs
from vkml_backend_vulkan.selftest.probe import Kernel, Probe
from vkml_core.backend import Array, Level
from vkml_core.dtypes import to_dtype
from vkml_core.ops.spec import REGISTRY

_CHUNK: Final = 512
_SUM_CHUNK: Final = 1024
_LANES: Final = 32


def probes() -> Iterator[Probe]:
    """Give all of them, shipped kernel by shipped kernel."""
    yield from _literals("exact-normal", NORMAL)
    yield from _literals("exact", SUBNORMAL)
    yield from _arithmetic()
    yield from _casts()
    yield from _sums()


def attributes(op: str, **values: Any) -> Any:
    """Make the attribute object of a row."""
    made = REGISTRY[op].attrs
    return made(**values) if made else None


def _literals(level: Level, table: dict[str, str]) -> Iterator[Probe]:
    for op, text in table.items():
        cases = [row.replace(":", ",").split(",") for row in text.split()]
        bits = np.array([[int(word, 16) for word in case] for case in cases], np.uint32)
        *operands, result = np.ascontiguousarray(bits.T).view(np.float32)
        yield Probe(f"kernel {op}", level, Kernel(op), tuple(operands), result)


def _arithmetic() -> Iterator[Probe]:
    """Give division and roots, and sums and products of float16, all exact in NumPy."""
    rows = np.concatenate([pairs(EDGES, EDGES), near(np.random.default_rng(3), 512)])
    a, b = (np.ascontiguousarray(rows[:, k]).view(np.float32) for k in (0, 1))
    yield from _split("div", lambda x, y: x / y, a, b)
    yield from _split("reciprocal", lambda x: 1 / x, a)
    yield from _split("sqrt", np.sqrt, a)
    with np.errstate(all="ignore"):
        c, d = _canonical(a.astype(np.float16)), _canonical(np.sqrt(abs(b)).astype(np.float16))
    yield from _split("add", lambda x, y: x + y, c, d)
    yield from _split("mul", lambda x, y: x * y, c, d)


def _split(op: str, reference: Callable[..., Array], *operands: Array) -> Iterator[Probe]:
    """Give a probe of what is normal, which every device must hold, and one of the rest.

    float16 widens to normal numbers and is narrowed by integers, so all of it is normal.
    """
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float32) for x in operands]
        wanted = _canonical(reference(*wide).astype(operands[0].dtype))
    tiny = np.zeros(len(wanted), np.bool_)
    for x in (*wide, wanted.astype(np.float32)):
        tiny |= is_tiny(x.view(np.uint32))
    rest: list[tuple[Level, Array]] = [("exact-normal", ~tiny), ("exact", tiny)]
    for level, chosen in rest:
        if chosen.any():
            arrays = tuple(x[chosen] for x in operands)
            name = f"kernel {op} {wanted.dtype}"
            yield Probe(name, level, Kernel(op), arrays, wanted[chosen])


def _canonical(x: Array) -> Array:
    x[np.isnan(x)] = np.nan
    return x


def _casts() -> Iterator[Probe]:
    """Give conversions that round or widen, with their ties: all is done by integers."""
    rng = np.random.default_rng(4)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    singles = _canonical(halves.astype(np.float32))
    units = np.ascontiguousarray(near(rng, 1024)[:, 0]).view(np.float32)
    integers = np.concatenate([rng.integers(-(1 << 63), 1 << 63, 512), [0, (1 << 24) + 1, -1]])
    between = (singles[:-1].astype(np.float64) + singles[1:]) / 2  # ties of float16
    with np.errstate(all="ignore"):
        ties = _canonical(np.concatenate([between.astype(np.float32), units, singles]))
        yield _cast(singles, halves.copy())
        yield _cast(_canonical(ties.astype(np.float16)), ties)
        yield _cast(np.trunc(singles).clip(-65504, 65504).astype(np.int32), singles, np.isfinite)
    yield _cast(integers.astype(np.float32), integers)


def _cast(wanted: Array, x: Array, where: Callable[[Array], Array] | None = None) -> Probe:
    if where is not None:
        wanted, x = wanted[where(x)], x[where(x)]
    if x.dtype.kind == "f":
        x = _canonical(x)
    target = Kernel("cast", attributes("cast", dtype=to_dtype(wanted.dtype)))
    return Probe(f"kernel cast {x.dtype} to {wanted.dtype}", "exact-normal", target, (x,), wanted)


def _sums() -> Iterator[Probe]:
    """Give a sum of several chunks, and products of matrices by each of the kernels."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal(2 * _SUM_CHUNK + 77).astype(np.float32)
    target = Kernel("sum", attributes("sum", axes=(0,)))
    yield Probe("kernel sum", "exact-normal", target, (x,), _sum(x).reshape(()))
    for dtype, rows in ((np.float32, 3), (np.float32, 33), (np.float16, 3)):
        a = rng.standard_normal((rows, 2 * _CHUNK + 11)).astype(dtype)
        b = rng.standard_normal((2 * _CHUNK + 11, 24)).astype(dtype)
        name = f"kernel matmul {np.dtype(dtype)} of {rows} rows"
        yield Probe(name, "exact-normal", Kernel("matmul"), (a, b), _matmul(a, b))


def _sum(x: Array) -> Array:
    """Add up as the contract says (rule 16)."""
    chunks = []
    for at in range(0, len(x), _SUM_CHUNK):
        part = x[at : at + _SUM_CHUNK]
        steps = np.pad(part, (0, -len(part) % _LANES)).reshape(-1, _LANES)
        lanes = np.zeros(_LANES, np.float32)
        for step in steps:
            lanes = lanes + step
        while len(lanes) > 1:
            lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
        chunks.append(lanes)
    return chunks[0] if len(chunks) == 1 else _sum(np.concatenate(chunks))


def _matmul(a: Array, b: Array) -> Array:
    """Multiply as the contract says (rule 19)."""
    left, right = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((len(left), right.shape[1]), np.float32)
    for at in range(0, len(right), _CHUNK):
        chunk = np.zeros_like(total)
        for k in range(at, min(at + _CHUNK, len(right))):
            chunk = chunk + left[:, k, None] * right[k]
        total = total + chunk
    return total.astype(a.dtype)
