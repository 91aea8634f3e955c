"""Times training steps of the MLP and the CNN: `python benchmarks/step.py [mlp|cnn] [--batch N]`.

Forward, cross-entropy, backward and SGD with momentum 0.9; one plan a step, data on the device.
"""

from __future__ import annotations

import argparse
import statistics
import time

import vkml
from vkml import nn, optim


def mlp() -> tuple[nn.Module, tuple[int, ...], int]:
    """Give the MLP 784-128-10, the shape of a sample and the number of classes."""
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), (784,), 10


def cnn() -> tuple[nn.Module, tuple[int, ...], int]:
    """Give three blocks of convolution, ReLU and pooling, then a linear layer."""
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 100)), (3, 32, 32), 100


def times(name: str, batch: int, steps: int, device: str) -> list[float]:
    """Give the seconds of each step after two to warm up."""
    vkml.manual_seed(0)
    model, sample, classes = {"mlp": mlp, "cnn": cnn}[name]()
    model.to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x = vkml.randn(batch, *sample, seed=1, device=device)
    y = vkml.randint(0, classes, (batch,), seed=2, device=device)
    vkml.realize(x, y)
    seconds = []
    for _ in range(steps + 2):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = vkml.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    return seconds[2:]


def main() -> None:
    """Print minimum and median milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["mlp", "cnn"])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    for name in args.models:
        found = [t * 1e3 for t in times(name, args.batch, args.steps, args.device)]
        print(
            f"{name} batch {args.batch} on {args.device}: "
            f"min {min(found):.2f} ms, median {statistics.median(found):.2f} ms a step"
        )


if __name__ == "__main__":
    main()
