"""How long steps take by estimate, and where plans are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from single import Source, plan_of

from vkml_backend_vulkan import estimate
from vkml_backend_vulkan.lower import OPS
from vkml_core.ops.spec import REGISTRY

if TYPE_CHECKING:
    pass


@given(st.lists(st.floats(0, 2 * estimate.SECONDS), max_size=60))
def test_parts_are_all_dispatches_in_order_and_none_is_too_long(times: list[float]) -> None:
    parts = estimate.cut(times)
    assert [i for part in parts for i in part] == list(range(len(times))) and parts
    assert all(parts) or not times
    for part in parts:
        assert len(part) <= 1 or sum(times[i] for i in part) <= estimate.SECONDS * (1 + 1e-9)


def test_parts_have_a_number_of_dispatches_at_most() -> None:
    most = estimate.MOST_DISPATCHES
    found = [len(part) for part in estimate.cut([0.0] * (2 * most + 3))]
    assert found == [most, most, 3]
    assert estimate.cut([]) == [range(0)]


def _terms(op: str, attrs: dict[str, Any], *shapes: tuple[int, ...]) -> int:
    made = REGISTRY[op].attrs
    dtypes = [np.float32 if i == 0 or op not in _INDEXED else np.int64 for i in range(len(shapes))]
    sources = [Source.plain(np.zeros(s, d)) for s, d in zip(shapes, dtypes, strict=True)]
    (step,) = plan_of(op, made(**attrs) if made else None, sources).steps
    return estimate.terms(step)


_INDEXED = {"gather", "scatter_add", "max_unpool2d"}
_PLACE = {"stride": (2, 1), "padding": (1, 1), "dilation": (1, 1)}


@pytest.mark.parametrize(
    ("op", "attrs", "shapes", "want"),
    [
        ("exp", {}, [(5, 7)], 8),
        ("sum", {"axes": (0, 1)}, [(5, 7, 3)], 35),
        ("amax", {"axes": (1,)}, [(5, 7)], 7),
        ("cumsum", {"axis": 0}, [(5, 7)], 1),
        ("argsort", {"axis": 1, "descending": False}, [(5, 7)], 7),
        ("matmul", {}, [(2, 5, 7), (2, 7, 3)], 7),
        ("conv2d", {**_PLACE, "groups": 2}, [(3, 4, 9, 9), (6, 2, 3, 5)], 2 * 15),
        (
            "conv2d_input_grad",
            {**_PLACE, "groups": 2, "image": (9, 9)},
            [(3, 6, 5, 7), (6, 2, 3, 5)],
            3 * 15,
        ),
        (
            "conv2d_weight_grad",
            {**_PLACE, "groups": 2, "kernel": (3, 5)},
            [(3, 4, 9, 9), (3, 6, 5, 7)],
            3 * 35,
        ),
        ("max_pool2d", {**_PLACE, "kernel": (3, 2)}, [(1, 2, 8, 8)], 6),
        ("avg_pool2d", {"kernel": (3, 2), "stride": (1, 1), "padding": (0, 0)}, [(1, 2, 8, 8)], 6),
        ("max_unpool2d", {"image": (8, 8)}, [(1, 2, 4, 3), (1, 2, 4, 3)], 12),
        ("gather", {"axis": 0}, [(9, 2), (4, 2)], 1),
        ("scatter_add", {"axis": 0, "size": 9}, [(4, 2), (4, 2)], 4),
        ("contiguous", {}, [(4, 2)], 1),
    ],
)
def test_terms(op: str, attrs: dict[str, Any], shapes: list[tuple[int, ...]], want: int) -> None:
    assert _terms(op, attrs, *shapes) == want


def test_the_table_names_operations_that_there_are() -> None:
    assert set(estimate._TERMS) <= OPS
    assert set(estimate._KINDS) <= {REGISTRY[op].kind for op in OPS}


def test_seconds_follow_bytes_terms_and_kind() -> None:
    plan = plan_of("matmul", None, [Source.plain(np.zeros((64, 64), np.float32))] * 2)
    (step,) = plan.steps
    assert estimate.moved(step, plan.slots) == 3 * 4 * 64 * 64
    bytes_rate, terms_rate = estimate.RATES["integrated-gpu"]
    want = 3 * 4 * 64**2 / bytes_rate + 64**3 / terms_rate
    assert estimate.seconds(step, plan.slots, "integrated-gpu") == pytest.approx(want)
    assert estimate.seconds(step, plan.slots, "software") == 0
