"""Replays training steps and tells what grew: `python benchmarks/steady.py --steps 100000`.

One JSON line for each model and batch: the device's counts and the process's memory after a few
steps and after all of them. What is held must not grow; what is counted (submissions, dispatches)
grows by the same number with each step.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from rows import show, vkml_place
from steps import prepared, vkml_training

import vkml

WARMUP: Final = 100
"""Steps after which everything that is kept has been made."""
COUNTED: Final = ("submissions", "dispatches", "total_allocations")
"""What counts events, where all else tells what is held."""


def resident() -> int | None:
    """Give the bytes of memory that this process holds, where the system tells."""
    if not sys.platform.startswith("linux"):
        return None
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def state(device: str) -> dict[str, Any]:
    """Tell what the device and the process hold now."""
    place = vkml.device(device)
    place.synchronize()
    return {**place.stats(), "resident_bytes": resident()}


def row(model: str, batch: int, device: str, steps: int) -> dict[str, Any]:
    """Run the steps; compare the end with the state after the first ones."""
    training = prepared(vkml_training(model, batch, device, "compiled"), WARMUP)
    first, start = state(device), time.perf_counter()
    for _ in range(steps):
        training.step()
    last = state(device)
    changed = {k: (first[k], last[k]) for k in first if first[k] != last[k]}
    return {
        "bench": "steady",
        "model": model,
        "batch": batch,
        "steps": steps,
        "step_ms": round((time.perf_counter() - start) / steps * 1e3, 4),
        "a_step": {k: (last[k] - first[k]) / steps for k in COUNTED},
        "changed": {k: v for k, v in changed.items() if k not in COUNTED},
        "held": {k: v for k, v in last.items() if k not in COUNTED},
        "loss": training.facts()["loss"],
    }


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", nargs="+", choices=("mlp", "cnn"), default=["mlp"])
    parser.add_argument("--batch", nargs="+", type=int, default=[64])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--device", default="vulkan")
    args = parser.parse_args()
    for model in args.model:
        for batch in args.batch:
            show({**row(model, batch, args.device, args.steps), **vkml_place(args.device)})


if __name__ == "__main__":
    main()
