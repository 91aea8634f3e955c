"""Tells where the time of a training step goes: `python benchmarks/attribute.py --model cnn`.

Prints the report of `attribution.measure`; `--trace FILE` writes what a trace viewer opens, and
`--chart FILE` a picture of the bars.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rows import validation, vkml_place
from steps import prepared, vkml_training

from vkml import attribution


def main() -> None:
    """Print the report of one model, batch and mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=("mlp", "cnn"), default="cnn")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--mode", choices=("lazy", "eager", "compiled"), default="compiled")
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="of a round")
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--chart", type=Path)
    args = parser.parse_args()
    training = prepared(vkml_training(args.model, args.batch, args.device, args.mode), warmup=10)
    report = attribution.measure(training.step, rounds=args.rounds, steps=args.steps)
    print(f"{args.model}, batch {args.batch}, {args.mode}; validation {validation()}")
    print(", ".join(vkml_place(args.device).values()))
    print(report.text())
    if args.trace:
        report.chrome_trace(args.trace)
    if args.chart:
        report.png(args.chart)


if __name__ == "__main__":
    main()
