"""Images as they are published: what a reader of files gives, and reading no more than allowed."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np
import numpy.typing as npt

from vkml_core.errors import Error

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]
_PIECE: Final = 1 << 20
_PACKED: Final = (".gz", ".tgz")
UNREADABLE: Final = (EOFError, OSError, zlib.error)
"""What reading or unpacking a file may raise."""


class DataError(Error, ValueError):
    """A file of a data set that is missing, corrupt, truncated, or does not fit the others."""


@dataclass(frozen=True, eq=False)
class Images:
    """Training and test images with their labels.

    `name` is that of the published data set where the files are recognised. Images are uint8
    (N, C, H, W), labels int64 (N,) and index `classes`. Scale the pixels with `ToFloat`.
    """

    name: str
    x_train: Bytes
    y_train: Labels
    x_test: Bytes
    y_test: Labels
    classes: tuple[str, ...]


def open_file(path: Path) -> BinaryIO:
    """Open a file, unpacking it where its name ends with .gz or .tgz."""
    return cast(BinaryIO, gzip.open(path)) if path.suffix in _PACKED else path.open("rb")


def read_up_to(file: BinaryIO, most: int) -> bytearray:
    """Read until the end or until there are `most` bytes; a lie about sizes costs no memory."""
    data = bytearray()
    while len(data) < most and (piece := file.read(min(_PIECE, most - len(data)))):
        data += piece
    return data
