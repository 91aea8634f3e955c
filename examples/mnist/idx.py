"""Finds images of digits or clothes: IDX files, or scikit-learn's bundled digits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vkml.data.idx import KNOWN, load_idx, read_idx, recognise

__all__ = ["DEBIAN", "FIRST_LABELS", "Images", "digits", "load", "read_idx", "recognise"]

DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # from the package dataset-fashion-mnist
FIRST_LABELS = {name: known.first_labels for name, known in KNOWN.items()}


@dataclass(frozen=True)
class Images:
    """Images scaled to [0, 1] as float32 (N, pixels), labels as int64 (N,), and their name."""

    name: str
    x_train: npt.NDArray[np.float32]
    y_train: npt.NDArray[np.int64]
    x_test: npt.NDArray[np.float32]
    y_test: npt.NDArray[np.int64]


def load(folder: Path | None) -> Images:
    """Read `folder`; without one Debian's Fashion-MNIST if installed, else small digits."""
    if folder is None and DEBIAN.is_dir():
        folder = DEBIAN
    if folder is None:
        return digits()
    data = load_idx(folder)
    return Images(data.name, _scaled(data.x_train), data.y_train, _scaled(data.x_test), data.y_test)


def _scaled(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    return pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(255)


def digits() -> Images:
    """Give scikit-learn's 1,797 digits of 8 x 8 pixels; the last 360 are the test set."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x, y = x.astype(np.float32) / np.float32(16), y.astype(np.int64)
    return Images("scikit-learn digits (8x8)", x[:-360], y[:-360], x[-360:], y[-360:])
