"""Times this backend, PyTorch and the oracle in turns and tells which wanted speeds it has.

Prints a table, or with `--json` one JSON line a row: milliseconds (minimum, median) of each
library, ratios of minima and of medians. A target is met where the ratio of the minima meets it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

# Threads that spin while they wait cost tens of milliseconds where other work needs the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numba
import numpy as np
import torch
import vkml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from steps import torch_training, vkml_training

Step = Callable[[], object]
Clock = Callable[[], float]
LIBRARIES: Final = {"numba": "numba", "torch": "PyTorch", "cpu": "oracle"}
THREADS: Final = os.environ.get("VKML_CPU_THREADS")
AGAINST_ORACLE: Final = 10.0
"""The oracle's time divided by this backend's is to be at least this."""


def product(size: int) -> dict[str, Step]:
    """Make matrix products of each library."""
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


class Row(NamedTuple):
    """Something to be timed, and how long it may take at most: PyTorch's time times this."""

    name: str
    make: Callable[[], dict[str, Step]]
    most: float


ROWS: Final = (
    Row("matmul 1024", lambda: product(1024), 1 / 0.65),
    Row("MLP step, batch 64", lambda: training("mlp", 64), 1.25),
    Row("CNN step, batch 64", lambda: training("cnn", 64), 1.25),
)


def timed(
    made: Mapping[str, Step], seconds: float, rounds: int, clock: Clock
) -> dict[str, tuple[float, float]]:
    """Time libraries in turns, each for a while, so that what disturbs one disturbs all."""
    found: dict[str, list[float]] = {name: [] for name in made}
    for step in made.values():
        for _ in range(4):
            step()
    for _ in range(rounds):
        for name, step in made.items():
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                start = clock()
                step()
                found[name].append((clock() - start) * 1e3)
    return {name: (min(t), statistics.median(t)) for name, t in found.items()}


def measured(row: Row, seconds: float, rounds: int, clock: Clock) -> dict[str, Any]:
    """Time a row and compare."""
    before = os.getloadavg()[0]
    found = timed(row.make(), seconds, rounds, clock)
    to_torch = [n / t for n, t in zip(found["numba"], found["torch"], strict=True)]
    to_oracle = [c / n for c, n in zip(found["cpu"], found["numba"], strict=True)]
    return {
        "row": row.name,
        **{name: [round(t, 3) for t in found[name]] for name in LIBRARIES},
        "numba/torch": [round(r, 3) for r in to_torch],
        "at most": round(row.most, 3),
        "oracle/numba": [round(r, 1) for r in to_oracle],
        "at least": AGAINST_ORACLE,
        "met": [to_torch[0] <= row.most, to_oracle[0] >= AGAINST_ORACLE],
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
    }


def conditions() -> dict[str, Any]:
    """Tell what the times depend on."""
    return {
        "numba": numba.__version__,
        "torch": torch.__version__,
        "cpus": len(os.sched_getaffinity(0)),
        "threads": {
            "numba": int(vkml.device("numba").report()["threads"]),
            "torch": torch.get_num_threads(),
            "oracle": int(THREADS or min(os.cpu_count() or 1, 2)),
        },
        "OMP_WAIT_POLICY": os.environ["OMP_WAIT_POLICY"],
    }


def line(row: Mapping[str, Any]) -> str:
    """Write a row of the table."""
    times = " | ".join(f"{least:.2f}, {median:.2f}" for least, median in map(row.get, LIBRARIES))
    met = ["met" if m else "missed" for m in row["met"]]
    against = [
        f"{row[ratio][0]}, {row[ratio][1]} ({word} {row[word]:g}: {m})"
        for ratio, word, m in zip(
            ("numba/torch", "oracle/numba"), ("at most", "at least"), met, strict=True
        )
    ]
    return f"| {row['row']} | {times} | {' | '.join(against)} | {row['load'][0]}–{row['load'][1]} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a library in a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--cpu-time", action="store_true", help="of all threads, for a busy machine"
    )
    args = parser.parse_args(argv)
    clock = time.process_time if args.cpu_time else time.perf_counter
    if THREADS:
        torch.set_num_threads(int(THREADS))
    print(json.dumps(conditions()))
    if not args.json:
        print("Milliseconds, minimum and median; ratios of minima and of medians.")
        heads = ["", *LIBRARIES.values(), "numba ÷ PyTorch", "oracle ÷ numba", "load"]
        print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for row in ROWS:
        found = measured(row, args.seconds, args.rounds, clock)
        print(json.dumps(found) if args.json else line(found), flush=True)


if __name__ == "__main__":
    main()
