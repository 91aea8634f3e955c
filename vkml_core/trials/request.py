"""What a process is asked to try, as its argument."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Self

from vkml_core.trials.trial import LIMIT, Reach, Trial


@dataclass(frozen=True, slots=True)
class Request:
    """A backend by its entry point, how far to go, and what a process before has found."""

    name: str
    distribution: str
    version: str
    target: str
    reach: Reach = "all"
    limit: float = LIMIT
    trial: Trial = field(default_factory=Trial)

    def to_json(self) -> str:
        """Write it on one line."""
        return json.dumps({**asdict(self), "trial": self.trial.to_json()})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        data = json.loads(text)
        return cls(**{**data, "trial": Trial.from_json(data["trial"])})
