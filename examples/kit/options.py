"""The options that all training examples have, and errors of one line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

import vkml


def positive(text: str) -> int:
    """Read a whole number from 1."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def natural(text: str) -> int:
    """Read a whole number from 0."""
    if (number := int(text)) < 0:
        raise ValueError
    return number


def common_options(
    description: str | None, *, epochs: int, batch: int, lr: float
) -> argparse.ArgumentParser:
    """Make a parser with the options that all share; an example adds its own."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def add(name: str, text: str, **how: Any) -> None:
        default = f" (default: {how['default']})" if "default" in how else ""
        parser.add_argument(name, help=text + default, **how)

    add("--device", "cpu, vulkan, vulkan:1, …; without it the best one")
    add("--epochs", "how often to go through the data", type=positive, default=epochs)
    add("--batch", "samples in a training step", type=positive, default=batch)
    add("--lr", "learning rate", type=float, default=lr)
    add("--seed", "decides start weights and the order of the data", type=natural, default=0)
    add("--limit", "use only the first so many training samples", type=positive, metavar="N")
    add("--prefetch", "batches to prepare ahead in a thread", type=natural, default=2)
    add("--eager", "compute every operation at once; the same bits", action="store_true")
    add("--checkpoint", "save everything here after each epoch", type=Path, metavar="FILE")
    add("--every", "save it every so many steps, too", type=positive, metavar="STEPS")
    add("--resume", "go on from this checkpoint; the same bits", type=Path, metavar="FILE")
    add("--compare", "train PyTorch beside it: same start, same batches", choices=["torch"])
    add("--attribute", "say where the time of so many steps goes", type=positive, metavar="STEPS")
    add("--json", "write a summary", type=Path, metavar="FILE")
    add("--pictures", "draw loss.png and confusion.png", type=Path, metavar="FOLDER")
    return parser


def fail(message: object) -> NoReturn:
    """End the program with an error of one line."""
    raise SystemExit(f"error: {message}")


def open_device(name: str | None) -> tuple[str, str]:
    """Open the device asked for, or the best one; give its name and why it was taken."""
    device, why = (name, "asked for") if name else vkml.best_device()
    try:
        vkml.device(device).synchronize()
    except vkml.DeviceError as error:
        fail(error)
    return device, why
