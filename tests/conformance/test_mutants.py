"""The broken backends are broken where they say so and nowhere else; the suite catches them all."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest
from mutants.base import Altered
from mutants.catalogue import MUTANTS, Mutant
from mutants.witnesses import PAIRS

import vkml
from vkml_backend_cpu.table import TABLE
from vkml_core import plugins, runtime
from vkml_core.errors import IndexError_
from vkml_core.graph import reachable
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.schedule import schedule

CORRECT: Final = [n for n, m in MUTANTS.items() if m.verdict == "passed"]
MISSING: Final = "mutants.missing"
"""The module that cannot be imported."""


def found(mutant: Mutant) -> Altered:
    module, _, attribute = mutant.backend.partition(":")
    backend = getattr(importlib.import_module(module), attribute)
    assert isinstance(backend, Altered)
    return backend


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    backend = found(MUTANTS[request.param])
    plugins.register_backend(backend)
    runtime.clear_cache()
    yield backend.NAME
    plugins.unregister_backend(backend.NAME)


def test_the_catalogue_is_complete() -> None:
    modules = {m.backend.partition(":")[0] for m in MUTANTS.values()} - {MISSING}
    offered = {
        f"{name}:{attribute}"
        for name in modules
        for attribute, value in vars(importlib.import_module(name)).items()
        if isinstance(value, Altered)
    }
    assert offered | {f"{MISSING}:backend"} == {m.backend for m in MUTANTS.values()}
    for name, mutant in MUTANTS.items():
        assert name == "missing" or name == found(mutant).NAME


def test_wrong_ones_have_witnesses() -> None:
    wrong = {name for name, m in MUTANTS.items() if m.verdict == "differs"}
    assert wrong == {*PAIRS, "state"}


@pytest.mark.parametrize("name", [n for n, m in MUTANTS.items() if n != "missing"])
def test_other_rows_are_the_oracle_s(name: str) -> None:
    backend = found(MUTANTS[name])
    same = {op for op, kernel in backend.table.items() if kernel is TABLE[op]}
    assert same == set(TABLE) - set(backend.rows) - backend.lacks


def test_flushing_alters_what_computes_and_nothing_else() -> None:
    moving = {op for op in TABLE if REGISTRY[op].kind in (Kind.MOVE, Kind.INDEX, Kind.GENERATE)}
    assert set(found(MUTANTS["flushing"]).rows) == set(TABLE) - moving


def same(got: Any, want: Any) -> bool:
    """Whether two arrays have the same bits, or name the same error."""
    alike = (got.dtype, got.shape) == (want.dtype, want.shape)
    return alike and bool(got.tobytes() == want.tobytes())


@pytest.mark.parametrize("device", PAIRS, indirect=True)
def test_it_is_wrong(device: str) -> None:
    assert not same(PAIRS[device].wrong(device), PAIRS[device].wrong("cpu"))


@pytest.mark.parametrize("device", PAIRS, indirect=True)
def test_it_is_right_in_what_is_alike(device: str) -> None:
    assert same(PAIRS[device].right(device), PAIRS[device].right("cpu"))


@pytest.mark.parametrize("device", CORRECT, indirect=True)
def test_correct_ones_are_right(device: str, capfd: pytest.CaptureFixture[str]) -> None:
    x = vkml.tensor(np.linspace(-3, 3, 64, dtype=np.float32), device=device)
    assert same(x.abs().numpy(), x.to("cpu").abs().numpy())


def test_state_is_left_behind() -> None:
    assert state_after_a_failure("cpu") == [1.0, 1.0]
    plugins.register_backend(found(MUTANTS["state"]))
    try:
        assert state_after_a_failure("state") == [2.0, 2.0]
    finally:
        plugins.unregister_backend("state")


def state_after_a_failure(name: str) -> list[float]:
    """Run a plan that writes a state and then meets an index out of range; give the state."""
    x, i = vkml.tensor([1.0, 1.0], device=name), vkml.tensor([2], device=name)
    state = vkml.tensor([1.0, 1.0], device=name)
    leaf = state.node
    state.assign_(state + 1.0)
    roots = [state.node, x.gather(0, i).node]
    order = reachable(roots, runtime.pending_inputs)
    opened = plugins.open_device(name)
    planned = schedule(order, roots, donate=[leaf], capabilities=opened.capabilities())
    buffers = [order[k].storage.buffer for k in planned.inputs]
    with pytest.raises(IndexError_):
        opened.compile(planned.plan).run(buffers, [order[k].value for k in planned.scalars])
    kept = leaf.storage
    assert kept is not None
    state.restore(leaf)
    values: list[float] = opened.download(kept.buffer, leaf.shape, leaf.dtype).tolist()
    return values
