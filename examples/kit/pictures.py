"""Pictures of a run: how the loss fell, and which class was taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kit.options import fail
from kit.task import Counts

INK, OURS, THEIRS = "#222222", "#0b6e99", "#d9730d"


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        fail("--pictures needs matplotlib: pip install 'vkml[examples]' or pip install matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def smooth(losses: Sequence[float]) -> np.ndarray:
    """Give the mean of each loss and those before it, at most a fiftieth of the run."""
    width = max(1, len(losses) // 50)
    sums = np.cumsum(np.concatenate([[0.0], losses]))
    ends = np.arange(1, len(losses) + 1)
    starts = np.maximum(ends - width, 0)
    means: np.ndarray = (sums[ends] - sums[starts]) / (ends - starts)
    return means


def loss_curve(
    path: Path, title: str, losses: Sequence[float], twin: Sequence[float], line: float | None
) -> None:
    """Draw the loss of each step, its running mean, PyTorch's, and a loss to compare with."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    steps = np.arange(1, len(losses) + 1)
    axes.plot(steps, losses, color=OURS, alpha=0.25, linewidth=0.8)
    axes.plot(steps, smooth(losses), color=OURS, label="vkml, running mean")
    if twin:
        late = np.arange(len(losses) - len(twin) + 1, len(losses) + 1)
        axes.plot(late, smooth(twin), color=THEIRS, linestyle="--", label="PyTorch, running mean")
    if line is not None:
        axes.axhline(line, color=INK, linestyle=":", label=f"baseline {line:.3f}")
    axes.set(title=title, xlabel="training step", ylabel="loss", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def confusion_matrix(path: Path, title: str, counts: Counts, names: Sequence[str]) -> None:
    """Draw the share of each class (row) that was taken for each class (column)."""
    pyplot = _pyplot()
    classes = len(counts)
    side = min(4.5 + 0.28 * classes, 14)
    figure, axes = pyplot.subplots(figsize=(side + 1, side), layout="constrained")
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    shown = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(shown, ax=axes, label="share of the row", fraction=0.046)
    labels = list(names) or [str(i) for i in range(classes)]
    small = 9 if classes <= 20 else 4
    axes.set_xticks(range(classes), labels, rotation=90 if classes > 10 else 45, fontsize=small)
    axes.set_yticks(range(classes), labels, fontsize=small)
    axes.set(title=title, xlabel="answer", ylabel="label")
    if classes <= 20:
        for i, j in np.ndindex(classes, classes):
            if counts[i, j]:
                ink = "white" if shares[i, j] > 0.5 else INK
                axes.text(j, i, counts[i, j], ha="center", va="center", color=ink, fontsize=7)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
