"""What a trial found: how far a backend came, its devices, and what failed; as a line of JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, Self

from vkml_core.backend import DeviceInfo, Level
from vkml_core.choice import Found
from vkml_core.discovery import Failure, Stage

Reach = Literal["list", "hardware", "all"]
"""Which devices a trial opens after it has listed them: none, all but software, all."""
LIMIT: Final = 20.0
"""How many seconds an import, or a probe with its list of devices, may take."""
OPENING: Final = 8
"""Opening a device may take so many times as long: a driver that is new may be tested."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A device that opened: what it holds, and what it reports."""

    name: str
    kind: str
    level: Level
    complete: bool
    report: list[str]

    @property
    def found(self) -> Found:
        """What decides whether it is the best one."""
        return Found(self.level, self.complete)


@dataclass(slots=True)
class Trial:
    """How far a backend came. It grows while the trial runs; each state is told as a whole."""

    stage: Stage = "load"
    at: str = ""
    """The device that is being opened."""
    devices: dict[str, DeviceInfo] = field(default_factory=dict)
    opened: dict[str, Opened] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    """What failed: of the backend, by its name, or of devices, by theirs."""
    finished: bool = False

    def to_json(self) -> str:
        """Write it on one line, in ASCII: a plug-in may say anything."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote."""
        data: dict[str, Any] = json.loads(text)
        for name, kind in (("devices", DeviceInfo), ("opened", Opened), ("failures", Failure)):
            data[name] = {key: kind(**value) for key, value in data[name].items()}
        return cls(**data)


def seconds(stage: Stage, limit: float) -> float:
    """Give the time limit of a stage."""
    return limit * (OPENING if stage == "open" else 1)
