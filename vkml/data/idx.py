"""Reads IDX files: MNIST, Fashion-MNIST and data sets of the same form.

The format is described at http://yann.lecun.com/exdb/mnist: two zeros, the type of the elements
(8: bytes), the rank, a big-endian size for each dimension, the elements.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from vkml.data.published import UNREADABLE, Bytes, DataError, Images, open_file, read_up_to

FILES: Final = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
MOST_BYTES: Final = 2**31
"""Elements that a file may hold."""


@dataclass(frozen=True)
class Known:
    """How a published data set is recognised, and its classes."""

    first_labels: str
    """Of the 60,000 training images."""
    classes: tuple[str, ...]


DIGITS: Final = tuple("0123456789")
KNOWN: Final = {
    "MNIST": Known("50419213143536172869", DIGITS),
    "Fashion-MNIST": Known(
        "90030272550955791064",
        (
            *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
            *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ),
    ),
}


def load_idx(folder: str | PathLike[str]) -> Images:
    """Read the four IDX files of MNIST, Fashion-MNIST or a data set of the same form.

    They may be plain or end in .gz; labels are 0 to 9. Images are uint8 (N, 1, H, W). Raises
    DataError naming the file or the folder.
    """
    where = Path(folder)
    x_train, y_train, x_test, y_test = (read_idx(_find(where, stem)) for stem in FILES)
    if x_train.shape[1:] != x_test.shape[1:]:
        raise DataError(f"{where}: images of {x_train.shape[1:]} and {x_test.shape[1:]} pixels")
    for x, y in ((x_train, y_train), (x_test, y_test)):
        if x.ndim != 3 or y.ndim != 1 or len(x) != len(y) or not x.size:
            raise DataError(f"{where}: images {x.shape} and labels {y.shape} do not fit")
        if y.max() > 9:
            raise DataError(f"{where}: label {y.max()}, expected 0 to 9")
    name = recognise(y_train)
    return Images(
        name or f"IDX files in {where}",
        x_train[:, None],
        y_train.astype(np.int64),
        x_test[:, None],
        y_test.astype(np.int64),
        KNOWN[name].classes if name else DIGITS,
    )


def _find(folder: Path, stem: str) -> Path:
    for path in (folder / stem, folder / f"{stem}.gz"):
        if path.is_file():
            return path
    raise DataError(f"{folder}: has neither {stem} nor {stem}.gz")


def read_idx(path: Path) -> Bytes:
    """Read one IDX file of bytes, plain or gzip, of rank 1 to 3. Raises DataError."""
    try:
        with open_file(path) as file:
            shape = _read_header(path, file)
            count = math.prod(shape)
            data = read_up_to(file, count + 1)
    except UNREADABLE as error:
        raise DataError(f"{path}: cannot be unpacked: {error}") from error
    if len(data) != count:
        more = " or more" if len(data) > count else ""
        raise DataError(
            f"{path}: has {len(data)} bytes of data{more}, shape {shape} needs {count}; "
            "it is truncated or corrupt"
        )
    return np.frombuffer(data, np.uint8).reshape(shape)


def _read_header(path: Path, file: BinaryIO) -> tuple[int, ...]:
    start = bytes(read_up_to(file, 4))
    if len(start) < 4 or start[:3] != b"\0\0\x08" or not 1 <= start[3] <= 3:
        raise DataError(f"{path}: is not an IDX file of bytes, it starts with {start!r}")
    sizes = read_up_to(file, 4 * start[3])
    if len(sizes) < 4 * start[3]:
        raise DataError(f"{path}: is truncated inside its header, {4 + len(sizes)} bytes")
    shape: tuple[int, ...] = struct.unpack(f">{start[3]}I", sizes)
    if math.prod(shape) > MOST_BYTES:
        raise DataError(f"{path}: shape {shape} has more than {MOST_BYTES:,} elements")
    return shape


def recognise(labels: Bytes) -> str | None:
    """Name the data set that has these training labels, or None if it is not a known one."""
    first = "".join(str(label) for label in labels[:20])
    names = [name for name, known in KNOWN.items() if known.first_labels == first]
    return names[0] if names and len(labels) == 60_000 else None
