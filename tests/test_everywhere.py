"""The comparison of devices passes what is equal, and fails for a single bit on one device."""

import pytest

import vkml
from tests.everywhere import devices, same_everywhere


def test_equal_bits_pass() -> None:
    same_everywhere(lambda device: {"x": vkml.rand(300, device=device).exp()})


@pytest.mark.parametrize("way", ["device", "mode", "name"])
def test_one_bit_fails(way: str) -> None:
    devices()

    def program(device: str) -> dict[str, vkml.Tensor]:
        odd = {"device": device == "vulkan", "mode": vkml.is_eager(), "name": False}[way]
        value = vkml.tensor(1.0 + 2.0**-23 * odd, device=device)
        return {f"x on {device}" if way == "name" else "x": value}

    with pytest.raises(AssertionError):
        same_everywhere(program)
