"""Times training steps: `python benchmarks/train_step.py --model mlp cnn --batch 64 512 4096`.

Every process measures all models and batches for one library and mode; processes take turns, so
that what disturbs the machine disturbs all alike. One JSON line a row: minimum and median over the
processes, and `control_ms`, how far the same program is from itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rows import SIZING, noise, rounds, show, spread, torch_place, vkml_place
from steps import Training, prepared, torch_training, vkml_training

MODES: Final = ("lazy", "eager", "compiled")
PEERS: Final = {
    "torch": ("torch-eager", "torch-graph"),
    "torch-eager": ("torch-eager",),
    "torch-graph": ("torch-graph",),
}
Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the rows; as a child, measure one library and mode."""
    args = options().parse_args(argv)
    if args.child:
        for row in measured(args, args.child):
            show(row)
        return
    chosen = [*args.mode, *(mode for peer in args.compare for mode in PEERS[peer])]
    found: dict[tuple[Any, ...], list[Row]] = {}
    for _ in range(args.processes):
        for mode in dict.fromkeys(chosen):
            for row in child(args, mode):
                found.setdefault((mode, row["model"], row["batch"]), []).append(row)
    for runs in found.values():
        show(combined(runs))


def options() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--model", nargs="+", choices=("mlp", "cnn"), default=["mlp", "cnn"])
    add("--batch", nargs="+", type=int, default=[64])
    add("--device", default="vulkan", help="of vkml; PyTorch takes CUDA where there is some")
    add("--mode", nargs="*", choices=MODES, default=["compiled"])
    add("--compare", nargs="*", choices=PEERS, default=[])
    add("--processes", type=int, default=3)
    add("--warmup", type=int, default=3, help="steps after the first one, not measured")
    add("--child", help=argparse.SUPPRESS)
    return parser


def child(args: argparse.Namespace, mode: str) -> list[Row]:
    """Measure in a process of its own; one that fails is a row that says so."""
    own = [sys.executable, __file__, "--child", mode, "--device", args.device]
    own += ["--warmup", str(args.warmup), "--model", *args.model]
    own += ["--batch", *map(str, args.batch)]
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    done = subprocess.run(own, capture_output=True, text=True, env=environment, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        print(f"{mode}: {last}", file=sys.stderr, flush=True)
    return rows


def measured(args: argparse.Namespace, mode: str) -> Iterator[Row]:
    """Measure all models and batches in this process."""
    library, _, kind = mode.rpartition("-")
    for name in args.model:
        for batch in args.batch:
            if library:
                made = torch_training(name, batch, kind)
                import torch

                place = torch_place(torch)
            else:
                made = vkml_training(name, batch, args.device, mode)
                place = vkml_place(args.device)
            yield {
                "bench": "train_step",
                "library": library or "vkml",
                "mode": kind,
                "model": name,
                "batch": batch,
                **timed(prepared(made, args.warmup)),
                **place,
            }


def timed(training: Training) -> Row:
    """Time the rounds, and count what a step of them submits."""
    before = training.facts()
    found, steps = rounds(training.step, training.finish)
    facts = training.facts()
    made = SIZING + steps * len(found)
    for count in ("submissions", "dispatches"):
        if count in facts:
            facts[f"{count}_a_step"] = round((facts.pop(count) - before[count]) / made, 2)
    return {**spread(found), "first_s": round(training.first, 4), "steps": steps, **facts}


def combined(runs: Sequence[Row]) -> Row:
    """Make one row of the processes' rows for the same thing."""
    least = [row["min_ms"] for row in runs]
    medians = [row["median_ms"] for row in runs]
    times = {
        "min_ms": min(least),
        "median_ms": round(statistics.median(medians), 4),
        "control_ms": noise(least),
        "runs_ms": least,
        "first_s": [row["first_s"] for row in runs],
    }
    return {**runs[0], **times, "processes": len(runs)}


if __name__ == "__main__":
    main()
