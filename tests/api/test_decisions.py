"""The recorder of decisions: off by default, bounded, counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vkml
from vkml_core.decisions import Decision, publish

ONE = Decision("here", "add", "this", ("that",), "it is shorter")


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    vkml.stop_recording_decisions()


def test_nothing_is_kept_unless_recorded() -> None:
    publish((ONE,), "submission 1")
    assert vkml.decisions() == []


def test_the_newest_are_kept_and_all_are_counted() -> None:
    vkml.record_decisions(capacity=2)
    for i in range(5):
        publish((ONE,), f"submission {i}")
    assert [d.dispatch for d in vkml.decisions()] == ["submission 3", "submission 4"]
    assert vkml.decisions_published() == 5
    vkml.record_decisions()
    assert (vkml.decisions(), vkml.decisions_published()) == ([], 0)


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, None, "9"])
def test_bad_capacities(capacity: object) -> None:
    with pytest.raises(vkml.ArgumentError, match="capacity must be a positive whole number"):
        vkml.record_decisions(capacity)  # type: ignore[arg-type]
