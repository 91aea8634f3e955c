"""Probes of the forms of the self-test's own modules: operands, and what the references want."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from vkml_backend_vulkan.selftest import floats, integers
from vkml_backend_vulkan.selftest.operands import EDGES, is_tiny, near, pairs, words
from vkml_backend_vulkan.selftest.probe import Form, Probe, Words
from vkml_backend_vulkan.shaders.tables.selftest import FAMILIES
from vkml_core.backend import Level

Rows = np.ndarray[Any, np.dtype[np.intp]]
_NORMAL_FOLDED: Final[Words] = np.array(
    [
        [0x3F800001, 0x3F800001, 0xBF800002, 0x3F800003],  # a b + c differs if it rounds once
        [0x3F800000, 0x33800000, 0x33800001, 0x40490FDB],  # ties
        [0x4B800000, 0x3F800001, 0xCB800000, 0x3EAAAAAB],  # a + b - a is not b
        [0x7F7FFFFF, 0x7F000000, 0xFF7FFFFF, 0x3F7FFFFF],  # overflow
        [0x80000000, 0x00000000, 0x80000000, 0x3F800000],  # signed zeros
        [0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000],  # not numbers
    ],
    np.uint32,
)
_TINY_FOLDED: Final[Words] = np.array(
    [
        [0x00000001, 0x3F000000, 0x00000003, 0x3F800000],
        [0x00800000, 0x3F7FFFFF, 0x80400000, 0x3F800001],
        [0x007FFFFF, 0x00000001, 0x807FFFFF, 0x3F800000],
        [0x1F800000, 0x1F7FFFFF, 0x00000007, 0x40000000],
        [0x80000001, 0x80000001, 0x00000002, 0xBF800000],
        [0x00800001, 0x80800000, 0x3F800000, 0x00000001],
    ],
    np.uint32,
)


def probes() -> Iterator[Probe]:
    """Give all of them, module by module, those that a device must hold first."""
    rng = np.random.default_rng(1)
    edges, random = pairs(EDGES, EDGES), words(rng, 2048)
    numbers = np.concatenate([edges, near(rng, 2048), near(rng, 512, 3)])
    normal = list(_floats("selftest.floats", numbers))
    folded = [p for x in (_NORMAL_FOLDED, _TINY_FOLDED) for p in _floats("selftest.folded", x)]
    yield from sorted(normal + folded, key=lambda p: p.level == "exact")
    yield from _integers("selftest.integers", integers.INTEGERS, random)
    yield from _integers("selftest.compares", integers.COMPARES, numbers)
    yield from _conversions(rng, numbers)


def _floats(module: str, x: Words) -> Iterator[Probe]:
    """Give two probes for each form: rows of normal numbers, and rows with subnormal ones."""
    for name in FAMILIES[module]:
        wanted, tiny = floats.wanted(floats.FLOATS[name], x)
        levels: list[tuple[Level, Rows]] = [
            ("exact-normal", np.flatnonzero(~tiny)),
            ("exact", np.flatnonzero(tiny)),
        ]
        for level, rows in levels:
            if rows.size:
                target = _form(module, name)
                if module == "selftest.folded":
                    target = replace(target, folded=x, rows=tuple(rows.tolist()))
                yield _probe(target, name, level, x[rows], wanted[rows])


def _integers(module: str, references: dict[str, integers.Reference], x: Words) -> Iterator[Probe]:
    for name in FAMILIES[module]:
        wanted = integers.wanted(references[name], x)
        yield _probe(_form(module, name), name, "exact-normal", x, wanted)


def _conversions(rng: np.random.Generator, numbers: Words) -> Iterator[Probe]:
    """Give conversions of whole numbers up to 2^24, which the kernels make, and plain memory.

    Floats are compared as floats in no kernel where they may be subnormal (NVIDIA's driver takes
    subnormal operands of a comparison for 0, even where its sums keep them).
    """
    whole = rng.integers(0, (1 << 24) + 1, (512, 4))
    fractions = (whole / np.float64(2) ** rng.integers(0, 24, whole.shape)).astype(np.float32)
    signed = np.concatenate([fractions, -fractions])
    yield _conversion("from_uint", "exact-normal", whole.astype(np.uint32))
    yield _conversion("to_uint", "exact-normal", fractions.view(np.uint32))
    yield _conversion("to_int", "exact-normal", signed.view(np.uint32))
    twice = np.repeat(numbers, 2, axis=0)  # a neighbour has the same words
    tiny = is_tiny(twice).any(axis=1)
    yield _conversion("equal", "exact-normal", twice[~tiny])
    yield _conversion("through_memory", "exact-normal", twice[~tiny])
    yield _conversion("through_memory", "exact", twice[tiny])


def _conversion(name: str, level: Level, x: Words) -> Probe:
    wanted = integers.wanted(integers.CONVERSIONS[name], x)
    return _probe(_form("selftest.conversions", name), name, level, x, wanted)


def _form(module: str, name: str) -> Form:
    return Form(module, list(FAMILIES[module]).index(name))


def _probe(target: Form, name: str, level: Level, x: Words, wanted: Words) -> Probe:
    family = target.module.removeprefix("selftest.")
    return Probe(f"{family} {name}", level, target, (x,), wanted)
