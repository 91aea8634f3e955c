"""Plans of small arrays run by shared kernels twice, then by their own: the bits are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest

import vkml
from tests.oracle.run import assert_same_bits
from vkml_backend_vulkan import warming
from vkml_backend_vulkan.dispatch import Pointer
from vkml_backend_vulkan.lower.elementwise import launch
from vkml_core.errors import DivisionError, OutOfMemoryError
from vkml_core.plugins import open_device
from vkml_core.shapes import View

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

SHAPE = (5, 7)
Step = Callable[[Sequence[vkml.Tensor]], list[vkml.Tensor]]


def _opened(name: str) -> VulkanDevice:
    found: Any = open_device(name)
    return found  # type: ignore[no-any-return]


def _given(seed: int, device: str, shape: tuple[int, ...] = SHAPE) -> list[vkml.Tensor]:
    made = np.random.default_rng(seed).standard_normal((2, *shape)).astype(np.float32)
    return [vkml.tensor(x, device=device) for x in made]


def _dispatches(name: str, step: Step, given: Sequence[vkml.Tensor]) -> tuple[int, list[Any]]:
    """Give the dispatches of one run, and the results."""
    opened = _opened(name)
    before = opened.dispatches
    results = step(given)
    vkml.realize(*results)
    return opened.dispatches - before, [r.numpy() for r in results]


def _program(given: Sequence[vkml.Tensor]) -> list[vkml.Tensor]:
    x, y = given
    z = (x * y + x).exp()
    return [z, (z - y).sum(0) * 0.5]


def test_the_third_run_has_fewer_dispatches_and_the_same_bits(name: str) -> None:
    counts = []
    for seed in range(4):
        want = [r.numpy() for r in _program(_given(seed, "cpu"))]
        count, got = _dispatches(name, _program, _given(seed, name))
        counts.append(count)
        for g, w in zip(got, want, strict=True):
            assert_same_bits(g, w)
    assert counts[0] == counts[1] > counts[2] == counts[3]


def test_a_compiled_step_goes_over_too(name: str) -> None:
    step = vkml.compile(lambda x, y: _program([x, y]))
    opened, counts = _opened(name), []
    for seed in range(4):
        given = _given(seed + 10, name)
        vkml.realize(*given)
        before = opened.dispatches
        got = [r.numpy() for r in step(*given)]
        counts.append(opened.dispatches - before)
        for g, w in zip(got, _program(_given(seed + 10, "cpu")), strict=True):
            assert_same_bits(g, w.numpy())
    assert counts[0] == counts[1] > counts[2] == counts[3]


def test_large_arrays_are_linked_at_once(name: str) -> None:
    side = warming.SMALL + 1
    (first, _), (second, _) = (
        _dispatches(name, lambda g: [g[0] * g[1] + g[0]], _given(seed, name, (side,)))
        for seed in range(2)
    )
    assert first == second == 1


@pytest.mark.parametrize("runs", range(5))
def test_state_is_as_it_was_after_a_failure_before_and_after(name: str, runs: int) -> None:
    """The step fails in run number `runs`, by shared or by linked kernels."""
    w = vkml.ones(SHAPE, device=name)
    n = vkml.full(SHAPE, 6, dtype=vkml.int32, device=name)

    def step(divisor: int) -> None:
        by = vkml.full(SHAPE, divisor, dtype=vkml.int32, device=name)
        vkml.assign([w], [(w * 0.5 + 1.0) * (n // by).to(vkml.float32)])
        vkml.realize(w)

    want = np.ones(SHAPE, np.float32)
    for _ in range(runs):
        step(3)
        want = (want * np.float32(0.5) + np.float32(1)) * np.float32(2)
    with pytest.raises(DivisionError):
        step(0)
    assert_same_bits(w.numpy(), want)
    step(3)
    assert_same_bits(w.numpy(), (want * np.float32(0.5) + np.float32(1)) * np.float32(2))


def test_linking_that_fails_is_tried_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(given: Sequence[vkml.Tensor]) -> list[vkml.Tensor]:
        return [(given[0] * given[1]).abs() - given[0]]

    want = program(_given(0, "cpu"))[0].numpy()
    for _ in range(warming.SHARED_RUNS):
        _dispatches(name, program, _given(0, name))

    def full(*_: object) -> None:
        raise OutOfMemoryError("no memory for kernels")

    monkeypatch.setattr(warming, "VulkanExecutable", full)
    with pytest.raises(OutOfMemoryError, match="no memory for kernels"):
        _dispatches(name, program, _given(0, name))
    monkeypatch.undo()
    count, (got,) = _dispatches(name, program, _given(0, name))
    assert count == 1
    assert_same_bits(got, want)


@pytest.mark.parametrize(("side", "variants"), [(16, 1), (17, 3)])
def test_few_elements_have_one_variant_for_all_layouts(
    device: VulkanDevice, side: int, variants: int
) -> None:
    shape, whole = (side, side), View.of((side, side))
    views = whole, View(shape, (1, side)), View(shape, (0, 0)), View(shape, (side, 1), 3)
    out, limits = Pointer(0, 0), device.physical.limits
    made = {
        launch("elementwise.add.f32", shape, out, [(out, whole), (out, view)], limits)[0].constants
        for view in views
    }
    assert len(made) == variants
