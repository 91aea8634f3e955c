"""Times this backend, the oracle and PyTorch in turns, so that what disturbs one disturbs all.

Prints one JSON line a row: milliseconds (minimum, median) of each library, ratios of the
minima, and the load of the machine before and after.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import vkml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from steps import torch_training, vkml_training

Step = Callable[[], object]


def product(size: int) -> dict[str, Step]:
    """Make matrix products of each library."""
    import torch

    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    made: dict[str, Step] = {}
    for device in ("numba", "cpu"):
        x, y = vkml.tensor(a, device=device), vkml.tensor(b, device=device)
        made[device] = lambda x=x, y=y: vkml.realize(x @ y)
    x_, y_ = torch.from_numpy(a), torch.from_numpy(b)
    made["torch"] = lambda: x_ @ y_
    return made


def training(model: str, batch: int) -> dict[str, Step]:
    """Make training steps of each library."""
    return {
        "numba": vkml_training(model, batch, "numba", "compiled").step,
        "cpu": vkml_training(model, batch, "cpu", "compiled").step,
        "torch": torch_training(model, batch, "eager").step,
    }


def timed(made: Mapping[str, Step], seconds: float, rounds: int) -> dict[str, tuple[float, float]]:
    """Time libraries in turns, each for a while, so that what disturbs one disturbs all."""
    found: dict[str, list[float]] = {name: [] for name in made}
    for step in made.values():
        for _ in range(4):
            step()
    for _ in range(rounds):
        for name, step in made.items():
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                start = time.perf_counter()
                step()
                found[name].append((time.perf_counter() - start) * 1e3)
    return {name: (min(t), statistics.median(t)) for name, t in found.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args(argv)
    rows = {
        "matmul 1024": lambda: product(1024),
        "mlp step, batch 64": lambda: training("mlp", 64),
        "cnn step, batch 64": lambda: training("cnn", 64),
    }
    for name, make in rows.items():
        before = os.getloadavg()[0]
        found = timed(make(), args.seconds, args.rounds)
        least = {library: t[0] for library, t in found.items()}
        row = {
            "row": name,
            **{library: [round(t, 3) for t in times] for library, times in found.items()},
            "numba/torch": round(least["numba"] / least["torch"], 3),
            "cpu/numba": round(least["cpu"] / least["numba"], 1),
            "load": [round(before, 1), round(os.getloadavg()[0], 1)],
            "cpus": len(os.sched_getaffinity(0)),
            "machine": platform.machine(),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
