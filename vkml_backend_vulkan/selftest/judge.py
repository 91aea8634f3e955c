"""Judges a device by all probes: the level that it holds, and which instructions are exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.kernels import shipped
from vkml_backend_vulkan.selftest import divide, forms, fuse, kernels
from vkml_backend_vulkan.selftest.probe import Probe
from vkml_backend_vulkan.selftest.run import (
    hardware_fma,
    quotients,
    quotients_among_others,
    run,
)
from vkml_backend_vulkan.selftest.verdict import Verdict, refusal
from vkml_core.backend import Level


def probes() -> Iterator[Probe]:
    """Give every probe that decides the level."""
    return chain(forms.probes(), kernels.probes())


def judge(physical: Physical, cache: Path) -> Verdict:
    """Run the self-test in this process; pipelines are cached in the directory `cache`.

    Raises DeviceError with probe, operands, wanted and computed bits where a device holds no
    level, and whatever the driver's failures raise.
    """
    device = VulkanDevice(physical, shipped(), cache)
    divides = replace(physical.limits, hardware_divide=True)
    fuses = replace(physical.limits, hardware_fma=True)
    try:
        level, why = _level(device)
        alone, others, fused = divide.probe(), divide.among_others(), fuse.probe()
        wrong = _wrong_quotients(device, divides, alone, others)
        twice = fused.failure(hardware_fma(device, fused))
        kept = others if level == "exact" else None
        twice = twice or _wrong_quotients(device, fuses, alone, kept)
    finally:
        device.close()
    return Verdict(
        level=level,
        why=why,
        hardware_divide=not wrong,
        divide_why=wrong or f"correctly rounded in {len(alone.wanted):,} hard cases",
        hardware_fma=not twice,
        fma_why=twice or f"rounded once in {len(fused.wanted):,} hard cases",
        tested=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _wrong_quotients(
    device: VulkanDevice, limits: Limits, alone: Probe, others: Probe | None
) -> str:
    """Tell the first quotient that is wrong where the instructions that `limits` allow are used,
    or the first wrong result of a kernel that goes on with quotients; that is not asked of a
    device that keeps no subnormal product anyhow.
    """
    wrong = alone.failure(quotients(device, alone, limits))
    if others is not None:
        wrong = wrong or others.failure(quotients_among_others(device, others, limits))
    return wrong


def _level(device: VulkanDevice) -> tuple[Level, str]:
    """Run the probes: any may cost a device the level exact, but only those with subnormals may
    fail on one that is accepted.
    """
    count, lost = 0, ""
    for probe in probes():
        count += 1
        failure = probe.failure(run(device, probe))
        if failure and probe.level == "exact-normal":
            raise refusal(device.physical, failure)
        lost = lost or failure
    if lost:
        return "exact-normal", f"other bits, but only where numbers are subnormal: {lost}"
    return "exact", f"all {count} probes gave the wanted bits"
