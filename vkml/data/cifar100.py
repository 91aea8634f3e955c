"""Reads CIFAR-100 as its authors publish it: a tar archive of pickles that Python 2 wrote.

The format is described at https://www.cs.toronto.edu/~kriz/cifar.html ("Python version").
"""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from vkml.data import unpickle
from vkml.data.published import UNREADABLE, Bytes, DataError, Images, Labels, read_up_to
from vkml.data.tar import read_members

ARCHIVE: Final = "cifar-100-python.tar.gz"
FOLDER: Final = "cifar-100-python"
LIMITS: Final = {"train": 2**28, "test": 2**28, "meta": 2**20}
"""The files, and the most bytes of each: 155 MB, 31 MB and 1.5 kB as published."""
PIXELS: Final = (3, 32, 32)
MD5: Final = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}
"""By which the published files are recognised."""


def load_cifar100(folder: str | PathLike[str]) -> Images:
    """Read CIFAR-100 or a data set of the same form, with its fine labels.

    `folder` has cifar-100-python.tar.gz, or the unpacked files train, test and meta (perhaps in
    a folder cifar-100-python); the archive itself may be named too. Images are uint8
    (N, 3, 32, 32). The pickles cannot run anything. Raises DataError naming the file.
    """
    where, files = _read(Path(folder))
    known = all(hashlib.md5(files[n], usedforsecurity=False).hexdigest() == MD5[n] for n in MD5)
    classes = _names(unpickle.load(files.pop("meta"), f"{where}: meta"), f"{where}: meta")
    parts: list[Any] = []
    for name in ("train", "test"):
        what = f"{where}: {name}"
        parts += _images(unpickle.load(files.pop(name), what), len(classes), what)
    x_train, y_train, x_test, y_test = parts
    title = "CIFAR-100" if known else f"CIFAR-100 files in {where}"
    return Images(title, x_train, y_train, x_test, y_test, classes)


def _read(given: Path) -> tuple[Path, dict[str, bytearray]]:
    """Find the files; give where they are, and their contents by name."""
    archive = given / ARCHIVE
    for folder in (given, given / FOLDER):
        if (folder / "train").is_file():
            return folder, {name: _read_file(folder / name, LIMITS[name]) for name in LIMITS}
    for path in (given, archive):
        if path.is_file():
            found = read_members(path, {f"{FOLDER}/{name}": most for name, most in LIMITS.items()})
            return path, {name: found[f"{FOLDER}/{name}"] for name in LIMITS}
    raise DataError(f"{given}: has neither {ARCHIVE} nor the files {', '.join(LIMITS)}")


def _read_file(path: Path, most: int) -> bytearray:
    if not path.is_file():
        raise DataError(f"{path}: is missing, or not a file")
    try:
        with path.open("rb") as file:
            data = read_up_to(file, most + 1)
    except UNREADABLE as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if len(data) > most:
        raise DataError(f"{path}: has more than {most:,} bytes")
    return data


def _field(found: Any, key: bytes, kind: type, what: str) -> Any:
    """Give a value of the dict that a file has to hold."""
    value = found.get(key) if type(found) is dict else None
    if type(value) is not kind:
        raise DataError(f"{what}: holds no {kind.__name__} {key.decode()!r}")
    return value


def _names(found: Any, what: str) -> tuple[str, ...]:
    names = _field(found, b"fine_label_names", list, what)
    if not names or not all(type(name) in (bytes, str) for name in names):
        raise DataError(f"{what}: fine_label_names are not names")
    return tuple(n.decode("utf-8", "replace") if type(n) is bytes else n for n in names)


def _images(found: Any, classes: int, what: str) -> tuple[Bytes, Labels]:
    """Give images and fine labels of one of the two parts."""
    pixels = _field(found, b"data", np.ndarray, what)
    labels = _field(found, b"fine_labels", list, what)
    if pixels.dtype != np.uint8 or pixels.ndim != 2 or pixels.shape[1] != np.prod(PIXELS):
        raise DataError(f"{what}: data is {pixels.dtype}{pixels.shape}, expected uint8(N, 3072)")
    if not len(pixels) or len(labels) != len(pixels):
        raise DataError(f"{what}: has {len(pixels)} images and {len(labels)} labels")
    for label in labels:
        if type(label) is not int or not 0 <= label < classes:
            shown = label if type(label) is int else type(label).__name__
            raise DataError(f"{what}: label {shown}, expected 0 to {classes - 1}")
    images: Bytes = np.array(pixels.reshape(-1, *PIXELS), order="C")
    return images, np.array(labels, np.int64)
