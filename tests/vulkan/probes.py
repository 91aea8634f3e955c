"""Probes of the self-test that are not what they were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vkml_backend_vulkan.selftest.probe import Probe


def spoilt(probe: Probe) -> Probe:
    """Want one bit otherwise."""
    wanted = probe.wanted.copy()
    wanted.reshape(-1)[4] ^= 1
    return replace(probe, wanted=wanted)
