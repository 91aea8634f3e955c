"""Schedules: PyTorch's learning rates, resumed with the same floats, and clear errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler

import vkml
from tests.optim.configurations import batches, bits, model, train
from vkml import nn, optim


def warmup_then(lib_after: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make(optimizer: Any) -> Any:
        first = lr_scheduler.LinearLR(optimizer, 0.2, total_iters=6)
        return lr_scheduler.SequentialLR(optimizer, [first, lib_after(optimizer)], milestones=[6])

    return make


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "StepLR": (lambda o: optim.StepLR(o, 7, 0.3), lambda o: lr_scheduler.StepLR(o, 7, 0.3)),
    "StepLR, default": (lambda o: optim.StepLR(o, 1), lambda o: lr_scheduler.StepLR(o, 1)),
    "CosineAnnealing": (
        lambda o: optim.CosineAnnealing(o, 50),
        lambda o: lr_scheduler.CosineAnnealingLR(o, 50),
    ),
    "CosineAnnealing, up again": (
        lambda o: optim.CosineAnnealingLR(o, T_max=9, eta_min=1e-3),
        lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=9, eta_min=1e-3),
    ),
    "LinearWarmup": (
        lambda o: optim.LinearWarmup(o, 20),
        lambda o: lr_scheduler.LinearLR(o, total_iters=20),
    ),
    "LinearWarmup, StepLR": (
        lambda o: optim.LinearWarmup(o, 6, 0.2, after=optim.StepLR(o, 5, 0.5)),
        warmup_then(lambda o: lr_scheduler.StepLR(o, 5, 0.5)),
    ),
    "LinearWarmup, CosineAnnealing": (
        lambda o: optim.LinearWarmup(o, 6, 0.2, after=optim.CosineAnnealing(o, 60, 1e-4)),
        warmup_then(lambda o: lr_scheduler.CosineAnnealingLR(o, 60, 1e-4)),
    ),
}
ours = pytest.mark.parametrize("make", [case[0] for case in CASES.values()], ids=CASES)
both = pytest.mark.parametrize(("make", "make_theirs"), CASES.values(), ids=CASES)


def ours_and_theirs() -> tuple[Any, Any]:
    groups = [[(lib.ones(1)).requires_grad_() for _ in range(3)] for lib in (vkml, torch)]
    made = []
    for lib, params in zip((optim, torch.optim), groups, strict=True):
        a, b, c = params
        many = [{"params": [a]}, {"params": [b], "lr": 0.7}, {"params": [c], "lr": 0.003}]
        made.append(lib.SGD(many, lr=0.1))
    return made[0], made[1]


def lrs(optimizer: Any) -> list[float]:
    return [group["lr"] for group in optimizer.param_groups]


@both
@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*:UserWarning")
def test_fifty_steps_agree_with_pytorch(
    make: Callable[[Any], Any], make_theirs: Callable[[Any], Any]
) -> None:
    a, b = ours_and_theirs()
    schedule, reference = make(a), make_theirs(b)
    for i in range(51):
        assert lrs(a) == pytest.approx(lrs(b), rel=1e-12, abs=1e-18), i
        assert schedule.get_last_lr() == lrs(a)
        assert [g["initial_lr"] for g in a.param_groups] == [0.1, 0.7, 0.003]
        b.step()
        schedule.step()
        reference.step()


@ours
@pytest.mark.parametrize("when", [0, 1, 5, 6, 7, 13])
@pytest.mark.parametrize("load_first", ["optimizer", "schedule"])
def test_resuming_gives_the_same_floats(
    make: Callable[[Any], Any], when: int, load_first: str
) -> None:
    a, b = ours_and_theirs()[0], ours_and_theirs()[0]
    for group in b.param_groups:
        group["lr"] = 0.9  # what another run started from does not matter
    one, other = make(a), make(b)
    for _ in range(when):
        one.step()
    saved = [("optimizer", b, a.state_dict()), ("schedule", other, one.state_dict())]
    for _, target, state in sorted(saved, key=lambda s: s[0] != load_first):
        target.load_state_dict(state)
    for _ in range(20):
        assert lrs(a) == lrs(b) and one.get_last_lr() == other.get_last_lr()
        assert one.state_dict() == other.state_dict()
        one.step()
        other.step()


def test_a_resumed_run_has_the_same_bits() -> None:
    def make(net: nn.Module) -> tuple[optim.Optimizer, optim.Schedule]:
        optimizer = optim.AdamW(net.parameters(), lr=0.05)
        after = optim.CosineAnnealing(optimizer, 12)
        return optimizer, optim.LinearWarmup(optimizer, 4, after=after)

    def run(net: nn.Module, made: Any, data: Any) -> None:
        train(net, made[0], data, before_step=lambda i: made[1].step())

    whole, first, second = model(), model(), model()
    uninterrupted, one = make(whole), make(first)
    run(whole, uninterrupted, batches(12))
    run(first, one, batches(6))
    second.load_state_dict(first.state_dict())
    other = make(second)
    for mine, theirs in zip(other, one, strict=True):
        mine.load_state_dict(theirs.state_dict())
    run(second, other, batches(12)[6:])
    assert bits(second, other[0]) == bits(whole, uninterrupted[0])


@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealing", "LinearWarmup"])
@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*:UserWarning")
def test_states_move_to_and_from_pytorch(name: str) -> None:
    make, make_theirs = CASES[name]
    a, b = ours_and_theirs()
    schedule, reference = make(a), make_theirs(b)
    for _ in range(5):
        b.step()
        reference.step()
    schedule.load_state_dict(reference.state_dict())
    assert lrs(a) == pytest.approx(lrs(b), rel=1e-12)
    _, d = ours_and_theirs()
    again = make_theirs(d)
    again.load_state_dict(schedule.state_dict())
    assert again.get_last_lr() == lrs(a) and again.last_epoch == 5
    for group, lr in zip(d.param_groups, lrs(a), strict=True):
        group["lr"] = lr
    for _ in range(8):
        schedule.step()
        again.step()
    assert lrs(a) == pytest.approx(lrs(d), rel=1e-12)


def test_a_group_that_is_added_later_starts_from_its_own_rate() -> None:
    optimizer = ours_and_theirs()[0]
    schedule = optim.StepLR(optimizer, 2, 0.5)
    schedule.step()
    optimizer.add_param_group({"params": [vkml.ones(1).requires_grad_()], "lr": 8.0})
    schedule.step()
    assert lrs(optimizer) == [0.05, 0.35, 0.0015, 4.0]


def test_a_schedule_made_after_loading_starts_from_the_initial_rates() -> None:
    a, b = ours_and_theirs()[0], ours_and_theirs()[0]
    one = optim.StepLR(a, 1, 0.5)
    one.step()
    b.load_state_dict(a.state_dict())
    other = optim.StepLR(b, 1, 0.5)
    other.load_state_dict(one.state_dict())
    assert lrs(b) == lrs(a) == [0.05, 0.35, 0.0015]


def test_no_warmup_and_the_end_of_one() -> None:
    optimizer = ours_and_theirs()[0]
    assert optim.LinearWarmup(optimizer, 0).get_last_lr() == [0.1, 0.7, 0.003]
    schedule = optim.LinearWarmup(optimizer, 2, 0.5)
    assert schedule.get_last_lr() == [0.05, 0.35, 0.0015]
    for _ in range(5):
        schedule.step()
    assert schedule.get_last_lr() == [0.1, 0.7, 0.003]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda o: optim.StepLR(3, 1), TypeError, "StepLR: expected Optimizer, got int"),
        (lambda o: optim.StepLR(o, 0), ValueError, "StepLR: step_size: expected an int ≥ 1, got 0"),
        (lambda o: optim.StepLR(o, 1.5), TypeError, "step_size: expected an int, got float"),
        (lambda o: optim.StepLR(o, 1, -1.0), ValueError, "gamma: expected a number ≥ 0"),
        (lambda o: optim.StepLR(o, 1, math.nan), ValueError, "gamma: expected a number ≥ 0"),
        (lambda o: optim.CosineAnnealing(o, 0), ValueError, "T_max: expected an int ≥ 1"),
        (lambda o: optim.CosineAnnealing(o, 5, "x"), TypeError, "eta_min: expected a number"),
        (lambda o: optim.LinearWarmup(o, -1), ValueError, "total_iters: expected an int ≥ 0"),
        (lambda o: optim.LinearWarmup(o, 5, 0.0), ValueError, "start_factor: expected 0 < number"),
        (lambda o: optim.LinearWarmup(o, 5, 1.5), ValueError, "start_factor: expected 0 < number"),
        (lambda o: optim.LinearWarmup(o, 5, after=3), TypeError, "after: expected Schedule"),
    ],
)
def test_bad_arguments(make: Callable[[Any], Any], kind: type[Exception], message: str) -> None:
    optimizer = ours_and_theirs()[0]
    with pytest.raises(kind, match=message):
        make(optimizer)
    assert lrs(optimizer) == [0.1, 0.7, 0.003]
    assert "initial_lr" not in optimizer.param_groups[0]


def test_after_has_to_be_of_the_same_optimiser() -> None:
    a, b = ours_and_theirs()[0], ours_and_theirs()[0]
    with pytest.raises(ValueError, match="the schedule of another optimiser"):
        optim.LinearWarmup(a, 5, after=optim.StepLR(b, 1))


@ours
def test_a_state_that_does_not_fit_changes_nothing(make: Callable[[Any], Any]) -> None:
    optimizer = ours_and_theirs()[0]
    schedule = make(optimizer)
    schedule.step()
    good, rates = schedule.state_dict(), lrs(optimizer)
    missing = {k: v for k, v in good.items() if k != "last_epoch"}
    other = {"after": optim.StepLR(ours_and_theirs()[0], 1).state_dict()}
    bad: list[Any] = [
        None,
        {},
        missing,
        {**good, "last_epoch": -1},
        {**good, "last_epoch": 1.5},
        {**good, "base_lrs": [0.1]},
        {**good, "base_lrs": [0.1, 0.7, "x"]},
        {**good, "base_lrs": 0.1},
        {**good, "nonsense": 1},
        {**good, "after": {} if good.get("after") else other["after"]},
        *({**good, name: "x"} for name in schedule.checks),
        *({k: v for k, v in good.items() if k != name} for name in schedule.checks),
    ]
    for state in bad:
        with pytest.raises(vkml.Error, match="load_state_dict"):
            schedule.load_state_dict(state)
        assert schedule.state_dict() == good and lrs(optimizer) == rates
