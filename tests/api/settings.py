"""Settings of hypothesis that keep runs short."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings


def quick(examples: int) -> Any:
    """Run so many examples, slow ones too."""
    return settings(
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
