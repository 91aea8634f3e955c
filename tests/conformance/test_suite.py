"""Which checks a selection means: the same on every machine, all rows first, filters, ids."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import chain

import pytest
from vkml_conformance import suite
from vkml_conformance.cases import takes
from vkml_conformance.check import Check
from vkml_conformance.schema import Selection

from vkml_core.errors import ArgumentError
from vkml_core.ops.spec import REGISTRY

_DIGEST = """
from vkml_conformance import suite
from vkml_conformance.schema import Selection
print(suite.digest(c for b in suite.bundles(Selection(mode="quick", seed=3)) for c in b))
"""


def flat(**chosen: object) -> list[Check]:
    return list(chain.from_iterable(suite.bundles(Selection.model_validate(chosen))))


@pytest.fixture(scope="module")
def default() -> list[Check]:
    return flat()


def test_the_same_seed_gives_the_same_list_in_another_process() -> None:
    command = [sys.executable, "-c", _DIGEST]
    outputs = {
        subprocess.run(
            command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {suite.digest(flat(mode="quick", seed=3)) + "\n"}
    assert suite.digest(flat(mode="quick", seed=4)) + "\n" not in outputs


def test_ids_are_unique_and_name_the_seed(default: list[Check]) -> None:
    ids = [check.id for check in default]
    assert len(set(ids)) == len(ids)
    seeded = [check.id for check in flat(mode="quick", seed=7)]
    assert all(name.endswith("@7") for name in seeded)


def test_every_row_and_dtype_comes_before_anything_twice(default: list[Check]) -> None:
    groups = {(spec.name, dtype.name) for spec in REGISTRY.values() for dtype in takes(spec)}
    first = suite.bundles(Selection())[: len(groups)]
    assert {(b[0].op, b[0].dtype) for b in first} == groups
    parts = Counter(check.part for check in default)
    assert parts.keys() == set(suite.PARTS)


def test_operation_dtype_and_part_tell_lines_apart(default: list[Check]) -> None:
    """The recorded digests are kept by these three."""
    families = {(c.family, c.op, c.dtype, c.part) for c in default}
    assert len({key[1:] for key in families}) == len(families)


def test_quick_reaches_every_row_dtype_and_part(default: list[Check]) -> None:
    def reached(checks: list[Check]) -> set[tuple[str, str, str]]:
        return {(c.op, c.dtype, c.part) for c in checks if c.op in REGISTRY and c.part in suite.ROW}

    quick = flat(mode="quick")
    assert reached(quick) == reached(default)
    assert len(quick) < len(default) / 5


def test_filters_narrow() -> None:
    found = flat(ops=("conv*", "sum"), dtypes=("float16",), families=("conv",))
    assert {check.op for check in found} >= {"conv2d", "conv2d_weight_grad"}
    assert {(check.family, check.dtype) for check in found} == {("conv", "float16")}
    assert not flat(ops=("no_such_operation",))


def test_cases_limits_each_row_dtype_and_part() -> None:
    found = Counter((c.op, c.dtype, c.part) for c in flat(ops=("add", "gather"), cases=3))
    rows = {key: n for key, n in found.items() if key[2] in suite.ROW}
    assert max(rows.values()) == 3


@pytest.mark.parametrize("mode", ["quick", "default"])
def test_ids_lead_back_to_their_checks(mode: str) -> None:
    checks = flat(mode=mode, seed=2)
    for check in checks[:: len(checks) // 40]:
        again = suite.find(check.id)
        assert (again.id, again.about) == (check.id, check.about)
        assert flat(only=check.id) == [again] or flat(only=check.id)[0].id == check.id


@pytest.mark.parametrize("name", ["", "sum", "sum/float32/forward/0123456789", "graph/x", "no/id"])
def test_an_unknown_id_is_told(name: str) -> None:
    with pytest.raises(ArgumentError, match="no check has the id"):
        suite.find(name)
