"""The replay run goes through a compiled function, and finds what an earlier run left behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from vkml_conformance import donation, failing, graphs
from vkml_conformance.cases import cases_of
from vkml_conformance.engine import judge
from vkml_conformance.rows import check_of

import vkml
from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_cpu.table import TABLE
from vkml_core import plugins
from vkml_core.backend import Available, DeviceInfo
from vkml_core.dtypes import float32
from vkml_core.ops.spec import REGISTRY
from vkml_core.plan import Plan
from vkml_core.stepwise import StepwiseDevice, StepwiseExecutable


class Stale(StepwiseDevice):
    """A device whose executables give the results of their first run for ever."""

    def compile(self, plan: Plan) -> Any:
        return First(self, plan)


class First(StepwiseExecutable):
    """Runs once."""

    _kept: Any = None

    def run(self, inputs: Sequence[Any], scalars: Sequence[Any]) -> Any:
        self._kept = self._kept or super().run(inputs, scalars)
        return self._kept


class Late(StepwiseExecutable):
    """Gives the results of its first run from its third run on."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._runs: list[Any] = []

    def run(self, inputs: Sequence[Any], scalars: Sequence[Any]) -> Any:
        self._runs.append(super().run(inputs, scalars))
        return self._runs[-1 if len(self._runs) < 3 else 0]


class Backend:
    """Offers it."""

    NAME, API_VERSION = "stale", (1, 0)

    def probe(self) -> Available:
        return Available()

    def devices(self) -> list[DeviceInfo]:
        return [DeviceInfo(0, "stale", "cpu")]

    def open(self, index: int) -> StepwiseDevice:
        conversions = oracle.open(0).conversions
        return Stale("stale", "cpu", TABLE, backend="stale", conversions=conversions)


@pytest.fixture
def stale() -> Iterator[str]:
    plugins.register_backend(Backend())
    yield "stale"
    plugins.unregister_backend("stale")


def test_stale_results_are_found_by_the_replay_alone(stale: str) -> None:
    case = next(iter(cases_of(REGISTRY["exp"], float32, 0)))
    check = check_of(case, "forward")
    assert judge(check, stale, "exact", ("first",)).status == "equal"
    found = judge(check, stale, "exact", ("replay",))
    assert found.status == "differs" and found.difference is not None
    assert "stale read" in found.difference.cause


def test_what_changes_when_a_plan_goes_on_is_found_by_the_often_run_alone(
    stale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stale, "compile", lambda self, plan: Late(self, plan))
    case = next(iter(cases_of(REGISTRY["exp"], float32, 0)))
    check = check_of(case, "forward")
    assert judge(check, stale, "exact").status == "equal"
    found = judge(check, stale, "exact", ("often",))
    assert found.status == "differs" and found.difference is not None
    assert found.difference.run == "often"


def test_one_graph_in_eight_runs_often() -> None:
    often = [n for n in range(40) if "often" in graphs.graph_check(n).runs]
    assert often == [0, 8, 16, 24, 32]


def test_the_replay_is_one_of_a_compiled_function(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    compile_ = vkml.compile

    def kept(fn: Any) -> Any:
        made.append(compile_(fn))
        return made[-1]

    monkeypatch.setattr(vkml, "compile", kept)
    for number in range(8):
        assert judge(graphs.graph_check(number), "cpu", "exact", ("replay",)).status == "equal"
    assert [tuple(m.cache_info())[:2] for m in made] == [(1, 1)] * 8


def test_what_computes_by_itself_is_run_through_kept_plans() -> None:
    for check in (next(failing.derive()), next(donation.derive())):
        assert judge(check, "cpu", "exact", ("replay",)).status == "equal"
