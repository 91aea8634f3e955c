"""A device that is opened anew gets plans of its own; values of the old one stay its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import vkml
from vkml_backend_cpu.backend import backend as cpu
from vkml_core import plugins
from vkml_core.backend import Available, Device, DeviceInfo
from vkml_core.errors import DeviceError

NAME = "twin"


class Twin:
    """The oracle under another name; counts how often it was opened."""

    NAME, API_VERSION = NAME, (1, 0)

    def __init__(self) -> None:
        self.opened: list[Device] = []

    def probe(self) -> Available:
        return Available()

    def devices(self) -> Sequence[DeviceInfo]:
        return [DeviceInfo(0, "twin", "other")]

    def open(self, index: int) -> Device:
        self.opened.append(cpu.open(index))
        return self.opened[-1]


@pytest.fixture
def twin() -> Iterator[Twin]:
    made = Twin()
    plugins.register_backend(made)
    yield made
    plugins.unregister_backend(NAME)


def doubled() -> Any:
    x = vkml.tensor([1.0, 2.0], device=NAME)
    return (x + x).numpy()


def submissions(device: Device) -> float:
    return device.stats()["submissions"]


def test_plans_are_made_again_for_a_registered_backend_of_the_same_name(twin: Twin) -> None:
    doubled()
    plugins.unregister_backend(NAME)
    again = Twin()
    plugins.register_backend(again)
    before = submissions(twin.opened[0])
    np.testing.assert_array_equal(doubled(), [2.0, 4.0])
    assert submissions(twin.opened[0]) == before
    assert submissions(again.opened[0]) == 1


def test_reopen(twin: Twin) -> None:
    old = vkml.tensor([1.0, 2.0], device=NAME)
    lazy = old * 3
    kept = (old + old).realize()
    vkml.device(NAME).reopen()
    np.testing.assert_array_equal(doubled(), [2.0, 4.0])
    assert [submissions(d) for d in twin.opened] == [1, 1]
    np.testing.assert_array_equal(kept.numpy(), [2.0, 4.0])
    with pytest.raises(DeviceError, match=r"float32\(2,\) tensor was made before the device was"):
        lazy.numpy()


def test_an_index_names_the_same_device(twin: Twin) -> None:
    first = plugins.open_device(f"{NAME}:0")
    vkml.device(f"{NAME}:0").reopen()
    assert plugins.open_device(NAME) is plugins.open_device(f"{NAME}:0") is not first


def test_reopening_an_unknown_device() -> None:
    with pytest.raises(DeviceError, match="no backend is called 'nobody'"):
        plugins.reopen_device("nobody")
