"""Times epochs with and without prefetch: `python benchmarks/loader.py [--device NAME]`.

CIFAR-shaped images with RandomCrop, flip and scaling. Each round runs every kind once, so that
what else the machine does falls on all of them. `step` trains a model; `device` stands for an
accelerator: it waits without holding the interpreter, as long as --wait says.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from steps import model as network

import vkml
from vkml import nn, optim
from vkml.data import ArrayDataset, Compose, DataLoader, RandomCrop, RandomHorizontalFlip, ToFloat

Step = Callable[[vkml.Tensor, vkml.Tensor], object]


def loader(batch: int, steps: int, prefetch: int, device: str) -> DataLoader:
    """Give a loader of so many batches."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (batch * steps, 3, 32, 32)).astype(np.uint8)
    labels = rng.integers(0, 100, batch * steps)
    transform = Compose([RandomCrop(32, padding=4), RandomHorizontalFlip(), ToFloat()])
    return DataLoader(
        ArrayDataset(images, labels),
        batch,
        shuffle=True,
        device=device,
        transform=transform,
        prefetch=prefetch,
    )


def mlp() -> nn.Module:
    """Give an MLP 3072-128-100."""
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 128), nn.ReLU(), nn.Linear(128, 100))


def training(name: str, device: str) -> Step:
    """Give a step of training."""
    vkml.manual_seed(0)
    model = mlp() if name == "mlp" else network(vkml, name)
    model.to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(x: vkml.Tensor, y: vkml.Tensor) -> object:
        optimizer.zero_grad()
        loss = vkml.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def epoch(data: DataLoader, step: Step) -> float:
    """Give the milliseconds of a batch, and so of an epoch, beginning included."""
    start = time.perf_counter()
    for x, y in data:
        step(x, y)
    return (time.perf_counter() - start) * 1e3 / len(data)


def waiting(milliseconds: float) -> Step:
    """Give a step of the stand-in."""
    return lambda x, y: time.sleep(milliseconds / 1e3)


def show(what: str, found: dict[int, list[float]]) -> None:
    """Print minimum and median of each kind, and the paired difference from no prefetch."""
    for prefetch, times in found.items():
        saved = [a - b for a, b in zip(found[0], times, strict=True)]
        print(
            f"{what}, prefetch {prefetch}: min {min(times):.2f} ms, "
            f"median {statistics.median(times):.2f} ms a batch"
            + (f", saves {statistics.median(saved):.2f} ms (median of pairs)" if prefetch else "")
        )


def compare(what: str, step: Step, args: argparse.Namespace, batch: int, steps: int) -> None:
    """Run the kinds in turn and print what they took."""
    kinds = {p: loader(batch, steps, p, args.device) for p in (0, *args.prefetch)}
    found: dict[int, list[float]] = {p: [] for p in kinds}
    for data in kinds.values():
        epoch(data, step)  # to warm up
    for _ in range(args.rounds):
        for p, data in kinds.items():
            found[p].append(epoch(data, step))
    show(what, found)


def main() -> None:
    """Print the times of the host's part alone, beside a stand-in, and beside training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--prefetch", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20, help="batches of an epoch")
    parser.add_argument("--train-steps", type=int, default=10, help="the same, of training")
    parser.add_argument("--model", choices=["mlp", "cnn"], default="mlp")
    parser.add_argument("--wait", type=float, nargs="+", default=[5.0, 20.0], help="ms")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    for batch in args.batch:
        nothing: Any = lambda x, y: None  # noqa: E731
        compare(f"batch {batch}, host alone", nothing, args, batch, args.steps)
        for wait in args.wait:
            what = f"batch {batch}, device of {wait:g} ms"
            compare(what, waiting(wait), args, batch, args.steps)
        if args.train_steps:
            what = f"batch {batch}, {args.model} on {args.device}"
            compare(what, training(args.model, args.device), args, batch, args.train_steps)


if __name__ == "__main__":
    main()
