"""Finds and reads images of digits or clothes: IDX files, or scikit-learn's bundled digits."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # from the package dataset-fashion-mnist
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
FIRST_LABELS = {  # of the 60,000 training images, by which the data set is recognised
    "MNIST": "50419213143536172869",
    "Fashion-MNIST": "90030272550955791064",
}


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
    return digits() if folder is None else read_folder(folder)


def read_folder(folder: Path) -> Images:
    """Read the four IDX files of MNIST, Fashion-MNIST or a data set of the same form."""
    x_train, y_train, x_test, y_test = (read_idx(_find(folder, stem)) for stem in FILES)
    if x_train.shape[1:] != x_test.shape[1:]:
        raise ValueError(f"{folder}: images of {x_train.shape[1:]} and {x_test.shape[1:]} pixels")
    for x, y in ((x_train, y_train), (x_test, y_test)):
        if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not len(x):
            raise ValueError(f"{folder}: images {x.shape} and labels {y.shape} do not fit")
        if y.max() > 9:
            raise ValueError(f"{folder}: label {y.max()}, expected 0 to 9")
    return Images(
        recognise(y_train) or f"IDX files in {folder}",
        _scaled(x_train),
        y_train.astype(np.int64),
        _scaled(x_test),
        y_test.astype(np.int64),
    )


def _scaled(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    return pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(255)


def _find(folder: Path, stem: str) -> Path:
    for path in (folder / stem, folder / f"{stem}.gz"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{folder}: has neither {stem} nor {stem}.gz")


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """Read one IDX file of bytes, plain or gzip: 0, 0, 8, rank, big-endian sizes, elements."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path}: cannot be unpacked: {error}") from error
    if len(data) < 4 or data[:3] != b"\0\0\x08" or not 1 <= data[3] <= 3:
        raise ValueError(f"{path}: is not an IDX file of bytes, it starts with {data[:4]!r}")
    start = 4 + 4 * data[3]
    if len(data) < start:
        raise ValueError(f"{path}: is truncated inside its header, {len(data)} bytes")
    shape = struct.unpack(f">{data[3]}I", data[4:start])
    if len(data) - start != math.prod(shape):
        raise ValueError(
            f"{path}: has {len(data) - start} bytes of data, shape {shape} needs "
            f"{math.prod(shape)}; it is truncated or corrupt"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def recognise(labels: npt.NDArray[np.uint8]) -> str | None:
    """Name the data set that has these training labels, or None if it is not a known one."""
    first = "".join(str(label) for label in labels[:20])
    names = [name for name, known in FIRST_LABELS.items() if known == first]
    return names[0] if names and len(labels) == 60_000 else None


def digits() -> Images:
    """Give scikit-learn's 1,797 digits of 8 x 8 pixels; the last 360 are the test set."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    x, y = x.astype(np.float32) / np.float32(16), y.astype(np.int64)
    return Images("scikit-learn digits (8x8)", x[:-360], y[:-360], x[-360:], y[-360:])
