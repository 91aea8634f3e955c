"""What a certificate says of one device, taken from its report."""

from __future__ import annotations

import os
from pathlib import Path

from vkml_conformance.account import Counts
from vkml_conformance.schema import DeviceReport, Model, Verdict


class Held(Model):
    """A device, what it was found to be, and what it was held to."""

    backend: str
    device: str
    verdict: Verdict
    level: str
    distribution: str
    hardware: str
    kind: str
    details: dict[str, str]
    equal: int
    """Checks with the oracle's bits."""
    unsupported: int
    """Checks of operations that the device does not have: not part of what is certified."""
    left_out: int
    """Checks of what its level does not promise: not part of what is certified."""
    results: str
    """As in `schema.DeviceReport`."""


def held(device: DeviceReport) -> Held:
    """Take over what a certificate says."""
    counts = Counts.of(device.lines)
    same = set(Held.model_fields) & set(DeviceReport.model_fields) - {"details"}
    return Held(
        **{name: getattr(device, name) for name in same},
        details={name: _without_home(value) for name, value in device.details.items()},
        equal=counts.equal,
        unsupported=counts.unsupported,
        left_out=counts.left_out,
    )


def _without_home(text: str) -> str:
    """Leave out where the user's files are: a certificate is shown to others."""
    return text.replace(f"{Path.home()}{os.sep}", f"~{os.sep}")
