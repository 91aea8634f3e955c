"""Settings of hypothesis that keep runs short and the same every time."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings


def quick(examples: int) -> Any:
    """Run so many examples, derandomised, without a deadline."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
