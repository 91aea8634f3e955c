"""What the rows of the benchmarks share: rounds of a step, where they ran, one JSON line a row."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

ROUND: Final = 0.2
"""Seconds of a round, at least one step and at most 2,000."""
ROUNDS: Final = 7
SIZING: Final = 2
"""Steps from which the length of a round is chosen."""
LAYERS: Final = ("VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE")


def rounds(step: Callable[[], object], finish: Callable[[], object]) -> tuple[list[float], int]:
    """Give the milliseconds of a step in each round, and the steps in one.

    A round ends when its work on the device has ended; its length is chosen from a first round.
    """

    def round_of(steps: int) -> float:
        start = time.perf_counter()
        for _ in range(steps):
            step()
        finish()
        return (time.perf_counter() - start) / steps

    steps = min(max(round(ROUND / round_of(SIZING)), 1), 2000)
    return [round_of(steps) * 1e3 for _ in range(ROUNDS)], steps


def spread(found: Sequence[float], digits: int = 4) -> dict[str, float]:
    """Give minimum and median."""
    return {
        "min_ms": round(min(found), digits),
        "median_ms": round(statistics.median(found), digits),
    }


def noise(found: Sequence[float]) -> float | None:
    """Give how far the best of every other run is from the best of the rest: a control."""
    return round(abs(min(found[::2]) - min(found[1::2])), 4) if len(found) > 1 else None


def validation() -> str:
    """Tell which layers stand between the program and the driver."""
    return " ".join(os.environ[name] for name in LAYERS if os.environ.get(name)) or "off"


def vkml_place(device: str) -> dict[str, Any]:
    """Tell what a device of vkml is."""
    import vkml

    opened = vkml.device(device)
    driver = opened.report().get("driver", f"numpy, {platform.machine()}")
    return {"device": device, "hardware": opened.name, "driver": driver}


def torch_place(torch: Any) -> dict[str, Any]:
    """Tell where PyTorch runs: on the GPU if it has one."""
    found = {"driver": f"torch {torch.__version__}"}
    if torch.cuda.is_available():
        return found | {"device": "cuda", "hardware": torch.cuda.get_device_name(0)}
    return found | {"device": "cpu", "hardware": f"{torch.get_num_threads()} threads"}


def show(row: dict[str, Any]) -> None:
    """Print a row, with the state of validation and the date."""
    when = {"validation": validation(), "date": time.strftime("%Y-%m-%d")}
    print(json.dumps(row | when), flush=True)
