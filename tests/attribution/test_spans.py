"""Phases of a thread: what is noted, what is not, and that nothing is while nobody collects."""

from __future__ import annotations

import threading

import pytest

import vkml
from vkml_core import spans
from vkml_core.spans import Collector, Phase, span


def counter() -> object:
    return iter(range(0, 10_000, 10)).__next__


@pytest.fixture
def collector() -> object:
    found = Collector(counter())  # type: ignore[arg-type]
    spans.collect(found)
    yield found
    spans.stop()


def test_inner_phases_cut_outer_ones(collector: Collector) -> None:
    with span(Phase.PLAN):
        with span(Phase.SUBMIT):
            pass
        with span(Phase.WAIT):
            pass
    assert collector.moments == [
        (0, Phase.PYTHON),
        (10, Phase.PLAN),
        (20, Phase.SUBMIT),
        (30, Phase.PLAN),
        (40, Phase.WAIT),
        (50, Phase.PLAN),
        (60, Phase.PYTHON),
    ]


def test_an_exception_ends_all_phases_inside(collector: Collector) -> None:
    with pytest.raises(ZeroDivisionError), span(Phase.PLAN):
        collector.enter(Phase.SUBMIT)  # and never left
        _ = 1 / 0
    assert [phase for _, phase in collector.moments][-1] is Phase.PYTHON


def test_other_threads_are_not_heard(collector: Collector) -> None:
    def work() -> None:
        with span(Phase.READ):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert collector.moments == [(0, Phase.PYTHON)]


def test_no_more_is_kept_than_was_said() -> None:
    found = Collector(counter(), most=3)  # type: ignore[arg-type]
    for _ in range(4):
        found.leave(found.enter(Phase.READ))
    assert len(found.moments) == 3
    assert found.full_since == 30  # the first clock reading that was not kept


def test_nothing_is_kept_while_nobody_collects() -> None:
    assert spans.active is None
    assert span(Phase.READ) is span(Phase.WAIT)


def test_the_core_tells_its_phases(collector: Collector) -> None:
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None
    x.grad.numpy()
    seen = {phase for _, phase in collector.moments}
    assert seen == {Phase.PYTHON, Phase.RECORD, Phase.PLAN, Phase.SUBMIT, Phase.READ}
    assert collector.moments[-1][1] is Phase.PYTHON
