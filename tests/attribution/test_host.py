"""The same report where the host runs the kernels itself, with real times."""

from __future__ import annotations

import pytest

import vkml
from vkml import attribution, nn, optim


def training() -> object:
    vkml.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = vkml.randn(5, 12, seed=1), vkml.randint(0, 3, (5,), seed=2)

    def step() -> float:
        optimizer.zero_grad()
        loss = vkml.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


@pytest.mark.parametrize("eager", [False, True])
def test_training_steps_add_up(eager: bool) -> None:
    with vkml.eager_mode(eager):
        report = attribution.measure(training(), rounds=3, device="cpu")  # type: ignore[arg-type]
    assert sum(report.categories.values()) == report.wall
    assert report.categories["unattributed"] == 0 == report.account.hidden
    assert report.busy == report.categories["kernels"]
    assert sum(row.busy for row in report.kernels) == report.busy
    (records,) = report.records.values()
    assert report.submissions == 1 if not eager else report.submissions > 10
    assert report.dispatches == sum(len(r.plan.steps) for r in records)


def test_profiling_changes_no_bits() -> None:
    losses = []
    for on in (False, True):
        vkml.device("cpu").set_profiling(on)
        step = training()
        losses.append([step() for _ in range(3)])  # type: ignore[operator]
    vkml.device("cpu").set_profiling(False)
    assert losses[0] == losses[1]


def test_the_history_is_bounded() -> None:
    device = vkml.device("cpu")
    x = vkml.ones(3).realize()
    device.set_profiling(True)
    device.set_profile_history(2)
    for _ in range(5):
        (x + 1).realize()
    numbers = [record.number for record in device.profile_records()]
    assert len(numbers) == 2 and numbers[1] == numbers[0] + 1
    last = device.last_profile()
    assert last is not None and last.number == numbers[1]
    device.set_profiling(False)
    (x + 1).realize()
    assert [r.number for r in device.profile_records()] == numbers
    device.set_profiling(True)
    assert device.profile_records() == () and device.last_profile() is None
    device.set_profiling(False)
    for wrong in (0, -1, True, "3"):
        with pytest.raises(vkml.ArgumentError, match="set_profile_history"):
            device.set_profile_history(wrong)  # type: ignore[arg-type]
    device.set_profile_history(256)


def test_steps_tell_their_work() -> None:
    device = vkml.device("cpu")
    a = vkml.ones(4, 6).realize()
    device.set_profiling(True)
    (a @ a.T).realize()
    device.set_profiling(False)
    record = device.last_profile()
    assert record is not None and record.clock == "host"
    (step,) = record.steps()
    assert step.work.ops == ("matmul",) and step.work.flops == 2 * 4 * 4 * 6
    assert record.submitted <= step.dispatches[0].start <= step.dispatches[0].end
    assert step.dispatches[0].end <= record.finished and step.kernel == "matmul"
