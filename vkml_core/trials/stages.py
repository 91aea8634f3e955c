"""Takes one backend through its stages, telling each before it begins."""

from __future__ import annotations

from collections.abc import Callable, Collection

from vkml_core.checks import serves_all
from vkml_core.discovery import Refused, Source, guard
from vkml_core.errors import DeviceError
from vkml_core.plugins import Devices
from vkml_core.trials.trial import Opened, Reach, Trial

Tell = Callable[[Trial], None]


def go(devices: Devices, source: Source, trial: Trial, reach: Reach, tell: Tell) -> None:
    """List the backend's devices and open those within reach that the trial has not tried yet."""
    found = devices.status(source)
    trial.devices = found.devices
    if found.failure:
        trial.failures[found.failure.name] = found.failure
    for name in _wanted(trial, reach, {*trial.opened, *trial.failures}):
        trial.stage, trial.at = "open", name
        tell(trial)
        try:
            trial.opened[name] = opened(devices, name)
        except DeviceError:
            trial.failures |= {f.name: f for f in devices.failures() if f.name == name}
    trial.finished = True
    tell(trial)


def _wanted(trial: Trial, reach: Reach, tried: Collection[str]) -> list[str]:
    if reach == "list":
        return []
    kinds = trial.devices.items()
    within = [name for name, info in kinds if reach == "all" or info.kind != "software"]
    return [name for name in within if name not in tried]


def opened(devices: Devices, name: str) -> Opened:
    """Open a device and ask it for all that is shown of it. Raises DeviceError."""
    device = devices.open(name)
    capabilities = device.capabilities()
    try:
        report = guard("open", lambda: [f"{k}: {v}" for k, v in device.report().items()])
    except Refused as refused:
        report = [f"report() failed: {refused.error}"]
    return Opened(device.name, device.kind, capabilities.level, serves_all(capabilities), report)
