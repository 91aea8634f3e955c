"""Training steps have as many levels as their results need, one after the other, and no more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, cast

import needs_vulkan  # noqa: F401
import pytest
from vkml_conformance.training import digest

import vkml
from vkml_backend_vulkan import order, recording
from vkml_backend_vulkan.boundaries import boundaries
from vkml_backend_vulkan.commands import prepared
from vkml_backend_vulkan.dispatch import ERRORS
from vkml_backend_vulkan.order import flatten
from vkml_backend_vulkan.recording import ordered
from vkml_core import runtime
from vkml_core.plan import Plan, SlotKind
from vkml_core.plugins import open_device
from vkml_core.schedule.hazards import add_barriers

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice


def levels(plan: Plan, device: VulkanDevice) -> int:
    ready, _, lowered = prepared(device, plan)
    return 1 + sum(flat.barrier for flat in flatten(ready, lowered))


def longest() -> Plan:
    return max(runtime.cached_plans(), key=lambda plan: len(plan.steps))


def without_an_arena(plan: Plan) -> Plan:
    """Give every TEMP slot bytes of its own, however large."""
    ends = list(accumulate(-(-s.nbytes // 64) * 64 for s in plan.slots))
    slots = tuple(
        replace(s, offset=end - -(-s.nbytes // 64) * 64) if s.kind is SlotKind.TEMP else s
        for s, end in zip(plan.slots, ends, strict=True)
    )
    return add_barriers(replace(plan, slots=slots, arena=ends[-1]))


@pytest.mark.parametrize("model", ["mlp", "transformer"])
def test_nothing_waits_for_memory(name: str, device: VulkanDevice, model: str) -> None:
    runtime.clear_cache()
    digest(model, name, 2)
    plan = longest()
    assert levels(plan, device) <= levels(without_an_arena(plan), device)


def placed(plan: Plan, device: VulkanDevice) -> dict[tuple[int, bytes, str], int]:
    """Give the level of each dispatch."""
    ready, _, lowered = prepared(device, plan)
    level, found = 0, {}
    for f in flatten(ready, lowered):
        level += f.barrier
        found[f.step, f.dispatch.push, f.dispatch.module] = level
    return found


def test_small_dispatches_run_beside_large_ones_later(
    name: str, device: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a network's backward pass the last layer's gradients are done beside the first layer's."""
    vkml.manual_seed(0)
    net = vkml.nn.Sequential(vkml.nn.Linear(64, 128), vkml.nn.ReLU(), vkml.nn.Linear(128, 8))
    net.to(name)
    optimizer = vkml.optim.SGD(net.parameters(), lr=0.1)
    x = vkml.randn(512, 64, seed=1, device=name).realize()

    def step() -> vkml.Tensor:
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    runtime.clear_cache()
    vkml.compile(step)().item()
    plan = longest()
    late = placed(plan, device)
    groups = {
        (f.step, f.dispatch.push, f.dispatch.module): math.prod(f.dispatch.groups)
        for f in flatten(*prepared(device, plan)[::2])
    }
    monkeypatch.setattr(order, "FEW", 0)
    early = placed(plan, device)
    assert late.keys() == early.keys() and len(groups) == len(late)
    moved = {key for key in late if late[key] != early[key]}
    assert moved and all(late[key] > early[key] and groups[key] < 128 for key in moved)
    assert max(late.values()) == max(early.values()), "no level more"
    last = {key for key in late if "matmul" in key[2] and late[key] == max(late.values())}
    assert len(last) == 2, "the gradients of both layers' weights"


def test_the_labels_part_of_a_loss_is_beside_the_network(name: str, device: VulkanDevice) -> None:
    """A step of two layers: the labels add no level to one with a loss that has none."""
    runtime.clear_cache()
    vkml.manual_seed(0)
    net = vkml.nn.Sequential(vkml.nn.Linear(20, 8), vkml.nn.ReLU(), vkml.nn.Linear(8, 5)).to(name)
    optimizer = vkml.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x = vkml.randn(16, 20, seed=1, device=name).realize()
    y = vkml.randint(0, 5, (16,), seed=2, device=name).realize()
    target = vkml.eye(5, device=name)[y].realize()

    def step(labelled: bool) -> vkml.Tensor:
        optimizer.zero_grad()
        logs = vkml.log_softmax(net(x), 1)
        loss = vkml.nll_loss(logs, y) if labelled else -(logs * target).sum() / 16.0
        loss.backward()
        optimizer.step()
        return loss

    found = []
    for labelled in (False, True):
        runtime.clear_cache()
        vkml.compile(step)(labelled).item()
        found.append(levels(longest(), device))
    assert found[1] <= found[0] + 1  # a label is looked up by a kernel of its own


@pytest.fixture
def telling(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[VulkanDevice]:
    """A device that tells its host what it has checked, as a GPU does."""
    opened = cast("VulkanDevice", open_device(name))
    monkeypatch.setattr(opened.queue, "spin", 10.0)
    runtime.clear_cache()
    yield opened
    runtime.clear_cache()


def classifier_step(name: str) -> Plan:
    """Run a compiled step of two layers; give its plan."""
    vkml.manual_seed(0)
    net = vkml.nn.Sequential(vkml.nn.Linear(20, 8), vkml.nn.ReLU(), vkml.nn.Linear(8, 5)).to(name)
    x = vkml.randn(16, 20, seed=1, device=name).realize()
    y = vkml.randint(0, 5, (16,), seed=2, device=name).realize()
    vkml.compile(lambda: vkml.cross_entropy(net(x), y))().item()
    return longest()


def test_labels_are_checked_before_a_short_network(
    name: str, telling: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready, _, lowered = prepared(telling, classifier_step(name))
    flat = list(ordered(telling, ready, lowered))
    checks = [i for i, f in enumerate(flat) if f.dispatch.pointers[-1].slot == ERRORS]
    assert checks == [1], "the labels, then their check, then all else"
    assert boundaries(flat, (), has_numbers=False, tells=True).settles == 2
    monkeypatch.setattr(recording, "SHORT", 0.0)
    assert list(ordered(telling, ready, lowered)) == list(flatten(ready, lowered)) != flat


@pytest.mark.parametrize("model", ["mlp", "cnn", "transformer"])
def test_training_with_checks_first(
    name: str, telling: VulkanDevice, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "CHECK_LEVELS", 10**9)
    assert digest(model, name, 2) == digest(model, "cpu", 2)
