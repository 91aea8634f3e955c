"""Every check is in one shard; shards are about as long, and keep together what shares kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from vkml_conformance.cases import cases_of
from vkml_conformance.check import Check
from vkml_conformance.rows import check_of
from vkml_conformance.schema import Selection
from vkml_conformance.shards import UNEVEN, shards
from vkml_conformance.suite import bundles

from vkml_core.dtypes import float32
from vkml_core.ops.spec import REGISTRY


@pytest.fixture(scope="module")
def every() -> list[list[Check]]:
    return bundles(Selection(mode="quick"))


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
def test_shards_are_even(every: list[list[Check]], number: int) -> None:
    found = shards(every, number)
    loads: Counter[int] = Counter()
    for bundle, shard in zip(every, found, strict=True):
        loads[shard] += len(bundle)
    assert set(loads) == set(range(number))
    assert max(loads.values()) * number <= UNEVEN * sum(loads.values())
    assert shards(every, number) == found


def test_two_shards_split_no_dtype(every: list[list[Check]]) -> None:
    by_dtype: dict[str, set[int]] = {}
    for bundle, shard in zip(every, shards(every, 2), strict=True):
        by_dtype.setdefault(bundle[0].dtype, set()).add(shard)
    assert all(len(found) == 1 for found in by_dtype.values())


def test_one_operation_and_dtype_is_split_where_it_has_to_be() -> None:
    check = check_of(next(iter(cases_of(REGISTRY["exp"], float32, 0))), "forward")
    many = [[replace(check, id=f"exp/{i}")] for i in range(20)]
    assert Counter(shards(many, 4)) == dict.fromkeys(range(4), 5)
