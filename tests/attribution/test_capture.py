"""Captures on a simulated device: every nanosecond is known beforehand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vkml
from tests.attribution.simulated import (
    GAP,
    KERNEL,
    LATENCY,
    READING,
    SUBMIT,
    WAKE,
    Clock,
    SimulatedBackend,
    SimulatedDevice,
    tick,
)
from vkml import attribution
from vkml.attribution import capturing as module
from vkml.attribution.account import CATEGORIES
from vkml.attribution.ceilings import Ceilings
from vkml_core import plugins

NAME = "simulated"
KNOWN = Ceilings(1e9, 1e9, 1, 1)
WORK = 1_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(module, "raised", lambda device, rate: KNOWN)
    return tick(monkeypatch)


@pytest.fixture
def device(clock: Clock) -> Iterator[SimulatedDevice]:
    made = SimulatedDevice(clock)
    plugins.register_backend(SimulatedBackend(lambda: made))
    yield made
    plugins.unregister_backend(NAME)


def leaf() -> vkml.Tensor:
    return vkml.tensor([[1.0, 2.0], [3.0, 4.0]], device=NAME)


def expected(**some: int) -> dict[str, int]:
    return dict.fromkeys(CATEGORIES, 0) | some


def test_a_step_that_is_waited_for(device: SimulatedDevice, clock: Clock) -> None:
    x = leaf()
    with attribution.capture(NAME) as c:
        clock.advance(WORK)
        (x @ x).relu().numpy()
    report = c.report()
    assert report.categories == expected(
        Python=WORK,
        submit=SUBMIT,
        wait=LATENCY - SUBMIT + WAKE,
        kernels=2 * KERNEL,
        idle=GAP,
        read=READING,
    )
    assert report.wall == WORK + LATENCY + 2 * KERNEL + GAP + WAKE + READING
    assert [(r.ops, r.kernel, r.busy, r.dispatches) for r in report.kernels] == [
        (("matmul",), "kernel of matmul", KERNEL, 1),
        (("relu",), "kernel of relu", KERNEL, 1),
    ]
    assert (report.submissions, report.dispatches, report.attributed) == (1, 2, 1.0)
    assert report.devices == {NAME: "simulated"}


def test_what_runs_while_the_host_works_is_hidden(device: SimulatedDevice, clock: Clock) -> None:
    x = leaf()
    with attribution.capture(NAME) as c:
        y = (x @ x).relu().realize()
        clock.advance(WORK)  # longer than both kernels
        y.numpy()
    report = c.report()
    assert report.categories == expected(Python=WORK, submit=SUBMIT, read=READING)
    assert report.busy == 2 * KERNEL == report.account.hidden


def test_a_round_waits_for_its_own_work(device: SimulatedDevice, clock: Clock) -> None:
    x = leaf()
    with attribution.capture(NAME) as c:
        for i in c.rounds(3):
            clock.advance(10 * (3 - i))
            (-x).realize()
    report = c.report(steps=2)
    round_ = LATENCY + KERNEL + WAKE
    assert [r.wall for r in report.rounds] == [30 + round_, 20 + round_, 10 + round_]
    assert (report.best, report.wall, report.median) == (2, 10 + round_, 20 + round_)
    assert report.noise == 10  # the best of rounds 0 and 2, and round 1
    assert (report.submissions, report.dispatches) == (1, 1)
    assert report.categories["kernels"] == KERNEL


def test_marks_cut_a_loop_of_ones_own(device: SimulatedDevice, clock: Clock) -> None:
    with attribution.capture(NAME) as c:
        for work in (5, 9):
            clock.advance(work)
            c.mark()
    assert [r.wall for r in c.report().rounds] == [5, 9]
    assert c.report().categories == expected(Python=5)
    assert "No kernel was timed." in c.report().notes


def test_a_measurement_has_a_control(device: SimulatedDevice, clock: Clock) -> None:
    x = leaf()
    calls = []

    def step() -> None:
        calls.append(device.on)
        clock.advance(WORK)
        (-x).realize()

    report = attribution.measure(step, rounds=4, steps=3, warmup=2)
    assert len(report.rounds) == len(report.control) == 4
    assert calls == [False] * (3 * (2 + 4)) + [True] * (3 * (1 + 4))
    assert report.cost == 0 == report.noise  # a simulated clock has no noise
    assert report.steps == 3 and report.dispatches == 3
    assert not device.on


def test_devices_that_are_opened_meanwhile_are_profiled(clock: Clock) -> None:
    plugins.register_backend(SimulatedBackend(lambda: SimulatedDevice(clock)))
    try:
        with attribution.capture() as c:
            (-leaf()).realize()
    finally:
        plugins.unregister_backend(NAME)
    assert c.report().devices == {NAME: "simulated"}


def test_without_timestamps_it_is_said(clock: Clock) -> None:
    plugins.register_backend(SimulatedBackend(lambda: SimulatedDevice(clock, timestamps=False)))
    try:
        x = leaf()
        assert not vkml.device(NAME).timestamps_supported
        with attribution.capture(NAME) as c:
            (-x).numpy()
    finally:
        plugins.unregister_backend(NAME)
    report = c.report()
    assert report.categories["wait"] == LATENCY - SUBMIT + KERNEL + WAKE
    assert report.kernels == () and report.submissions == 1
    assert any("has no timestamps" in note for note in report.notes)


def test_more_submissions_than_are_kept(
    device: SimulatedDevice, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SUBMISSIONS", 2)
    x = leaf()
    with attribution.capture(NAME) as c:
        for _ in range(4):
            (-x).numpy()
    report = c.report()
    each = LATENCY + KERNEL + WAKE + READING
    assert report.categories["unattributed"] == 2 * each
    assert report.wall == 4 * each == sum(report.categories.values())
    assert any("More than 2 submissions" in note for note in report.notes)


def test_more_submissions_than_are_kept_leave_the_last_rounds(
    device: SimulatedDevice, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SUBMISSIONS", 2)
    x = leaf()
    with attribution.capture(NAME) as c:
        for i in c.rounds(4):
            clock.advance(i)  # the first rounds are the shortest
            (-x).numpy()
    report = c.report()
    assert report.best == 3 and report.attributed == 1.0 and not report.notes


def test_a_failure_inside_is_the_callers(device: SimulatedDevice) -> None:
    c = attribution.capture(NAME)
    with pytest.raises(ZeroDivisionError), c:
        for _ in c.rounds(2):
            _ = 1 / 0
    assert not device.on
    with attribution.capture(NAME):
        pass  # another one can begin


def test_nothing_to_report() -> None:
    c = attribution.capture("cpu")
    with pytest.raises(vkml.ArgumentError, match="has not ended"):
        c.report()
    with c, pytest.raises(vkml.ArgumentError, match="has not ended"):
        c.report()
    assert c.report().wall > 0


def test_captures_do_not_nest() -> None:
    with attribution.capture("cpu") as c:
        with pytest.raises(vkml.ArgumentError, match="do not nest"), attribution.capture("cpu"):
            raise AssertionError
        with pytest.raises(vkml.ArgumentError, match="do not nest"):
            attribution.measure(lambda: None, rounds=1)
    with pytest.raises(vkml.ArgumentError, match="used before"), c:
        raise AssertionError
    with pytest.raises(vkml.ArgumentError, match="not running"):
        c.mark()


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
def test_counts_are_checked(count: object) -> None:
    with pytest.raises(vkml.ArgumentError, match="whole number from 1"):
        attribution.measure(lambda: None, rounds=count)  # type: ignore[arg-type]
    wrong = pytest.raises(vkml.ArgumentError, match="whole number from 1")
    with attribution.capture("cpu") as c, wrong:
        next(c.rounds(count))  # type: ignore[arg-type]
    with pytest.raises(vkml.ArgumentError, match="whole number from 1"):
        c.report(steps=count)  # type: ignore[arg-type]


def test_an_unknown_device() -> None:
    with pytest.raises(vkml.DeviceError, match="nobody"):
        attribution.capture("nobody")
