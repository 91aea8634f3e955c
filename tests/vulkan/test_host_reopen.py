"""A device that was lost is opened anew in the same process, through the public functions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import pytest
from host_faults import LOST, Faults, faults
from host_leaks import no_objects_left, offered

import vkml
from tests.oracle.digests import TRAINING
from tests.oracle.training import RUNS
from vkml_core.errors import DeviceError, DeviceLost

if TYPE_CHECKING:
    from vkml_backend_vulkan.instance import Physical


@pytest.fixture
def driver(physical: Physical) -> Iterator[Faults]:
    with no_objects_left(), faults() as made:
        yield made


@pytest.fixture
def public(physical: Physical, driver: Faults, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The device as users open it; every tensor that names none is there."""
    with offered():
        monkeypatch.setenv("VKML_DEVICE", "vulkan")
        yield


def _lose(driver: Faults, x: vkml.Tensor) -> None:
    for call in ("vkQueueSubmit", "vkWaitForFences", "vkGetFenceStatus"):
        driver.fail(call, LOST)
    with pytest.raises(DeviceLost, match="reopen"):
        (x * 3).numpy()
    driver.heal()


def test_it_is_reopened_in_the_same_process(public: None, driver: Faults) -> None:
    x = vkml.tensor([1.0, 2.0])
    assert (x + 1).numpy().tolist() == [2.0, 3.0]
    _lose(driver, x)
    with pytest.raises(DeviceLost, match="this device was lost"):
        vkml.tensor([1.0])
    vkml.device("vulkan").reopen()
    y = vkml.tensor([1.0, 2.0])
    assert (y + 1).numpy().tolist() == [2.0, 3.0]
    with pytest.raises(DeviceLost, match="this device was lost"):
        x.numpy()
    with pytest.raises(DeviceError, match="was made before the device was opened anew"):
        (x + y).numpy()
    assert (y + 1).numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("name", RUNS)
def test_training_after_reopening_has_the_oracles_bits(
    public: None, driver: Faults, name: str
) -> None:
    _lose(driver, vkml.tensor([1.0]))
    vkml.device("vulkan").reopen()
    assert hashlib.sha256(RUNS[name]()).hexdigest() == TRAINING[name]


def test_what_was_pending_when_it_was_lost_spoils_nothing(public: None, driver: Faults) -> None:
    p, x = vkml.tensor([1.0], requires_grad=True), vkml.tensor([2.0])
    with vkml.eager_mode():
        _unread = x * 3
    loss = (p * x).sum()
    gradients: Any = vkml.grad(loss, [p])
    with vkml.no_grad():
        vkml.assign([p], [p - gradients[0]])
    driver.fail("vkWaitForFences", LOST)
    with pytest.raises(DeviceLost):
        vkml.device("vulkan").synchronize()
    driver.heal()
    vkml.device("vulkan").reopen()
    y = vkml.tensor([1.0, 2.0])
    assert (y + 1).numpy().tolist() == [2.0, 3.0]
    with pytest.raises(DeviceError, match="was made before the device was opened anew"):
        p.numpy()


def test_a_step_that_was_lost_is_taken_back(public: None, driver: Faults) -> None:
    p = vkml.tensor([1.0])
    before = p.node
    vkml.assign([p], [p + 1])
    driver.fail("vkQueueSubmit", LOST)
    with pytest.raises(DeviceLost):
        p.numpy()
    assert p.node is before
