"""What the self-test found out about a device, and how that is kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Final, Self, get_args

from vkml_backend_vulkan.instance import Physical
from vkml_core.backend import Level
from vkml_core.errors import DeviceError


@dataclass(frozen=True, slots=True)
class Verdict:
    """The level that a device holds, whether its own division and fma are exact, and how that is
    known.
    """

    level: Level
    why: str
    """What the level rests on."""
    hardware_divide: bool
    divide_why: str
    hardware_fma: bool
    fma_why: str
    tested: str
    """When, or that it never was."""

    def applied(self, physical: Physical) -> Physical:
        """Give the device with limits that tell the lowerings what was found."""
        limits = replace(
            physical.limits, hardware_divide=self.hardware_divide, hardware_fma=self.hardware_fma
        )
        return replace(physical, limits=limits)

    def lines(self) -> dict[str, str]:
        """Say it as lines of a report."""
        used = {True: "used", False: "not used"}
        return {
            "level": self.level,
            "why": self.why,
            "hardware divide": f"{used[self.hardware_divide]}: {self.divide_why}",
            "hardware fma": f"{used[self.hardware_fma]}: {self.fma_why}",
            "self-test": self.tested,
        }

    def to_json(self) -> str:
        """Write it down, on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote. Raises ValueError for anything else."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.keys() != _TYPES.keys():
            raise ValueError(f"not a verdict: {text[:80]!r}")
        wrong = [name for name, kind in _TYPES.items() if type(data[name]) is not kind]
        if wrong or data["level"] not in get_args(Level):
            raise ValueError(f"not a verdict: {text[:80]!r}")
        return cls(**data)


_TYPES: Final = {f.name: bool if f.name.startswith("hardware_") else str for f in fields(Verdict)}


def untested(physical: Physical) -> Verdict:
    """Guess, for a device opened without a self-test.

    Without control of rounding a driver may flush subnormals; with it, none was seen to.
    """
    rte = physical.floats.rounding_rte
    why = f"a guess: the driver {'has' if rte else 'lacks'} RoundingModeRTE"
    level: Level = "exact" if rte else "exact-normal"
    not_known = False, "it was not tested"
    return Verdict(level, why, *not_known, *not_known, "not run")


def refusal(physical: Physical, reason: str) -> DeviceError:
    """Make the error of a device that fails the self-test."""
    return DeviceError(
        f"vulkan: {physical.name} ({physical.driver}) is refused by the self-test: {reason}; "
        "update the driver, or choose another device"
    )
