"""Train an MLP on Fashion-MNIST, MNIST or small digits; the weights' hash is the same everywhere.

Run `python examples/mnist/train.py --help` for the options.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import idx
import numpy as np
from rich.console import Console
from rich.progress import track

import vkml
from vkml import nn
from vkml.data import ArrayDataset, DataLoader

console = Console(soft_wrap=True, highlight=False)


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: vkml.optim.SGD) -> float:
    """Take one step a batch; give the mean loss."""
    losses = []
    quiet = not console.is_terminal
    for x, y in track(loader, "training", console=console, transient=True, disable=quiet):
        loss = vkml.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def accuracy(model: nn.Module, loader: DataLoader) -> float:
    """Give the share of images whose largest output is that of their label."""
    with vkml.no_grad():
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in loader)
    return right / len(loader.dataset)


def weights_sha256(model: nn.Module) -> str:
    """Hash every weight: name, dtype, shape and little-endian bytes, sorted by name."""
    digest = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        array = weight.numpy()
        array = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"{name} {weight.dtype.name} {weight.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def train(args: argparse.Namespace, data: idx.Images) -> dict[str, Any]:
    """Train as asked and give the summary."""
    device, why = (args.device, "asked for") if args.device else vkml.best_device()
    x, y = data.x_train[: args.limit], data.y_train[: args.limit]
    console.print(f"data    {data.name}: {len(x)} training and {len(data.x_test)} test images")
    console.print(f"device  {device}: {why}")

    vkml.manual_seed(args.seed)
    model = nn.Sequential(
        nn.Linear(x.shape[1], 128, device=device),
        nn.ReLU(),
        nn.Linear(128, 10, device=device),
    )
    optimizer = vkml.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    batches = DataLoader(
        ArrayDataset(x, y), args.batch, shuffle=True, seed=args.seed, device=device
    )
    tests = DataLoader(ArrayDataset(data.x_test, data.y_test), batch_size=1000, device=device)

    epochs = []
    start = time.perf_counter()
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, batches, optimizer)
        share = accuracy(model, tests)
        seconds = round(time.perf_counter() - start, 3)
        epochs.append({"epoch": epoch, "loss": loss, "accuracy": share, "seconds": seconds})
        console.print(f"epoch {epoch}  loss {loss:.4f}  accuracy {share:.2%}  {seconds:.1f} s")
    digest = weights_sha256(model)
    console.print(f"weights {digest}")
    return {
        "dataset": data.name,
        "device": device,
        "device_reason": why,
        "eager": args.eager,
        "epochs": epochs,
        "weights_sha256": digest,
        "versions": {
            "vkml": vkml.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def positive(text: str) -> int:
    """Read a whole number from 1."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, train, and write the summary if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of IDX files (plain or .gz)")
    parser.add_argument("--device", help="cpu, vulkan, vulkan:1, …; by default the best one")
    parser.add_argument("--epochs", type=positive, default=1)
    parser.add_argument("--batch", type=positive, default=64)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=positive, help="use only so many training images")
    parser.add_argument("--eager", action="store_true", help="compute every operation at once")
    parser.add_argument("--json", type=Path, help="write a summary to this file")
    args = parser.parse_args(argv)
    try:
        data = idx.load(args.data)
        if args.device:
            vkml.device(args.device).synchronize()  # opens it
    except (OSError, ValueError, vkml.DeviceError) as error:
        parser.exit(1, f"error: {error}\n")
    with vkml.eager_mode(args.eager):
        summary = train(args, data)
    if args.json:
        args.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
