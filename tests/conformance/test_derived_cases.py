"""The cases follow from the registry: every row, dtype, layout, domain and rank is among them."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from vkml_conformance.cases import Case, cases_of, derive, takes
from vkml_conformance.domains import DOMAINS, LINE_STARTS
from vkml_conformance.layouts import LAYOUTS
from vkml_conformance.normal import subnormal
from vkml_conformance.rows import RowSubject

import vkml
from vkml_core.dtypes import ALL, FLOATS
from vkml_core.ops.spec import REGISTRY, Form, Kind

FIXED = (Kind.GENERATE,)
"""Kinds whose operands are numbers of rank 0, which have no layout but an offset."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(derive())


def test_every_row_and_dtype(cases: list[Case]) -> None:
    found = {(c.spec.name, c.dtype) for c in cases}
    assert found == {(s.name, t) for s in REGISTRY.values() for t in takes(s)}
    assert set(takes(REGISTRY["where"])) == ALL
    floats = {(s.name, t) for s in REGISTRY.values() if s.differentiable for t in FLOATS}
    assert {(c.spec.name, c.dtype) for c in cases if c.differentiable} == floats


def test_every_layout_with_every_domain(cases: list[Case]) -> None:
    for (spec, dtype), some in groupby(cases, lambda c: (c.spec, c.dtype)):
        if spec.kind in FIXED:
            continue
        seen = {(lay.name, c.domain.name) for c in some for lay in c.layouts}
        domains = DOMAINS[dtype.category]
        assert seen >= {(lay.name, d.name) for lay in LAYOUTS for d in domains}, spec


def test_large_cases_tell_what_is_read_beyond_a_line(cases: list[Case]) -> None:
    large = [c for c in cases if c.domain is LINE_STARTS]
    assert {c.spec.kind for c in large} == {Kind.MATMUL, Kind.CONV}
    assert {c.dtype for c in large} == FLOATS
    for case in large:
        plain = all(layout.name != "broadcast" for layout in case.layouts)
        for x in case.arrays if plain else ():
            strange = ~np.isfinite(x)
            assert 0 < strange.sum() < 0.01 * x.size
            begins = np.zeros(x.shape, bool)
            begins[..., 0] = begins[..., 0, :] = True
            assert not strange[~begins].any()
        if case.spec.name == "matmul" and plain:
            result = RowSubject(case, "forward").wanted()[0]
            assert np.isfinite(result).mean() > 0.9, case.name


def test_every_rank_and_nothing_at_all(cases: list[Case]) -> None:
    shapes: dict[str, set[tuple[int, ...]]] = {}
    for case in cases:
        shapes.setdefault(case.spec.name, set()).update(case.sample.shapes)
    for name, found in shapes.items():
        spec = REGISTRY[name]
        if spec.kind is Kind.ELEMENTWISE:
            assert {len(shape) for shape in found} == set(range(5)), name
        if spec.kind not in FIXED:
            assert any(0 in shape for shape in found), name
        if spec.form in (Form.SUM, Form.CUMSUM, Form.PROD, Form.MATMUL):
            sizes = {d for shape in found for d in shape}
            assert sizes >= {31, 32, 33, 511, 512, 513, 1023, 1024, 1025}, name


def test_names_tell_cases_apart(cases: list[Case]) -> None:
    assert len({c.name for c in cases}) == len(cases)


def test_operands_are_what_their_layouts_hold() -> None:
    arrays = np.arange(24.0).reshape(2, 3, 4), np.arange(5) > 2, np.zeros((2, 0)), np.array(7)
    for x in arrays:
        for lay in LAYOUTS:
            if x.ndim not in lay.ranks:
                continue
            want = lay.logical(x.astype(np.float32))
            view = lay.view(vkml.tensor(lay.memory(want)), x.shape)
            if x.size > 1 and lay.name != "contiguous":
                assert not view.is_contiguous
            assert np.array_equal(view.numpy(), want), lay.name


def test_usual_numbers_and_what_becomes_of_them_are_normal() -> None:
    """Or a device of level exact-normal would have nothing to show."""
    for spec in REGISTRY.values():
        for dtype in takes(spec):
            usual = [c for c in cases_of(spec, dtype) if c.domain.normal and c.sample.full]
            for case in usual:
                results = RowSubject(case, "forward").wanted()
                results += RowSubject(case, "gradient").wanted() if case.differentiable else []
                hidden = [x for x in (*case.arrays, *results) if subnormal(x).any()]
                assert not hidden, case.name
