"""What a report amounts to: states, exit codes, commands that repeat a finding."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_readers import EVERYTHING, UNRECORDED
from reports import device, finding, line, report
from vkml_conformance.account import (
    EXIT,
    STATES,
    Counts,
    conclusion,
    exit_code,
    reason,
    reproduce,
)

COUNTS = {
    "equal": {"equal": 3, "left_out": 2},
    "in part": {"equal": 3, "unsupported": 1},
    "differs": {"equal": 3, "differing": 1, "unsupported": 1, "not_run": 1},
    "not run": {"equal": 3, "not_run": 1},
    "unsupported": {"unsupported": 1, "left_out": 1},
    "left out": {"left_out": 1},
}


@pytest.mark.parametrize("state", COUNTS)
def test_state_of_counts(state: str) -> None:
    assert Counts.of([line(**COUNTS[state])]).state == state


def test_every_state_is_met_and_has_its_own_signs() -> None:
    assert set(COUNTS) == set(STATES)
    for signs in ([s.sign for s in STATES.values()], [s.ascii for s in STATES.values()]):
        assert len(set(signs)) == len(signs)
    assert all(sign.ascii.isascii() for sign in STATES.values())


def test_nothing_is_not_equal() -> None:
    assert Counts.of([]).state == "not run"
    assert Counts.of([line(equal=3, recorded=False)]).state == "differs"


@pytest.mark.parametrize(("verdict", "code"), EXIT.items())
def test_exit_code_is_the_worst_of_all(verdict: Any, code: int) -> None:
    for devices in ([device(verdict=verdict), device("cpu")], [device(verdict=verdict)]):
        for order in (devices, devices[::-1]):
            found = report(*order)
            assert exit_code(found) == code
            assert f"Exit code {code}: " in conclusion(found)


def test_exit_code_of_nothing_and_of_a_wrong_oracle_is_not_success() -> None:
    assert exit_code(report()) == 3
    assert exit_code(report(device(lines=(line(equal=5, recorded=False),)))) == 1


def test_conclusion_counts_apart_what_was_not_compared() -> None:
    text = conclusion(EVERYTHING)
    assert text.startswith("2 of 5 devices passed; differs: vulkan:1; crashed: crashing; ")
    assert re.search(r"not counted as passed: [\d,]+ unsupported, 288 left out, [\d,]+ not", text)
    assert "not counted" not in conclusion(report(device()))


def test_reason_says_that_nothing_was_compared() -> None:
    assert "nothing is proved" in reason(device(lines=(line(unsupported=4),)))
    assert reason(device()) == ""
    assert "oracle itself" in reason(UNRECORDED.devices[0])


COMMANDS = {
    "vulkan": "vkml-conformance reproduce 'add (2,3)' --backend vulkan",
    "vulkan:1": "vkml-conformance reproduce 'add (2,3)' --device vulkan:1",
    "a.b:c": "vkml-conformance reproduce 'add (2,3)' --backend a.b:c",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_names_the_device_as_the_command_takes_it(name: str) -> None:
    backend = name if name == "a.b:c" else "vulkan"
    assert reproduce(device(name, backend=backend), finding(id="add (2,3)")) == COMMANDS[name]


@given(st.text(min_size=1))
def test_command_holds_any_id_as_one_word(identity: str) -> None:
    assert shlex.split(reproduce(device(), finding(id=identity)))[2] == identity
