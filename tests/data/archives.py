"""Writes small data sets in their published formats: IDX files, CIFAR-100's pickles and archive.

CIFAR-100's files were pickled by Python 2, whose strings are bytes; Python 3 cannot write such
pickles, so the instructions are put together here.
"""

from __future__ import annotations

import gzip
import io
import itertools
import struct
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

FOLDER: Final = "cifar-100-python"
BATCH: Final = 1000
"""How many items Python adds to a list or a dict at once."""


def encode_idx(array: np.ndarray) -> bytes:
    """Write an array of bytes in the IDX format."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_idx(
    folder: Path,
    train: int = 900,
    test: int = 200,
    *,
    shape: tuple[int, int] = (10, 8),
    seed: int = 0,
    packed: bool = False,
) -> list[np.ndarray]:
    """Write the four IDX files, of noise with a bright row where the label says; give them."""
    rng, arrays = np.random.default_rng(seed), []
    for part, count in (("train", train), ("t10k", test)):
        labels = rng.integers(0, 10, count).astype(np.uint8)
        images = rng.integers(0, 200, (count, *shape)).astype(np.uint8)
        images[np.arange(count), labels % shape[0]] = 255
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            data = encode_idx(array)
            path = folder / f"{part}-{name}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
            arrays.append(array)
    return arrays


class Python2Pickler:
    """Pickles bytes, ints, lists, dicts and uint8 arrays by protocol 2 as Python 2 does."""

    def __init__(self) -> None:
        self.kept = itertools.count(1)

    def pickle(self, value: Any) -> bytes:
        return b"\x80\x02" + self.save(value) + b"."

    def save(self, value: Any) -> bytes:
        writers: dict[type, Callable[[Any], bytes]] = {
            bytes: self.string,
            int: self.number,
            list: self.list_,
            dict: self.dict_,
            np.ndarray: self.array,
        }
        return writers[type(value)](value)

    def put(self) -> bytes:
        index = next(self.kept)
        return b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index)

    def string(self, value: bytes) -> bytes:
        head = (
            b"U" + bytes([len(value)]) if len(value) < 256 else b"T" + struct.pack("<i", len(value))
        )
        return head + value + self.put()

    def number(self, value: int) -> bytes:
        if 0 <= value < 256:
            return b"K" + bytes([value])
        return (
            b"M" + struct.pack("<H", value)
            if 0 <= value < 2**16
            else b"J" + struct.pack("<i", value)
        )

    def list_(self, values: list[Any]) -> bytes:
        return b"]" + self.put() + b"".join(self.filled(values, b"a", b"e"))

    def dict_(self, values: dict[Any, Any]) -> bytes:
        return b"}" + self.put() + b"".join(self.filled(list(values.items()), b"s", b"u"))

    def filled(self, items: Sequence[Any], one: bytes, many: bytes) -> Iterator[bytes]:
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            saved = [b"".join(map(self.save, i if isinstance(i, tuple) else (i,))) for i in part]
            yield saved[0] + one if len(part) == 1 else b"(" + b"".join(saved) + many

    def array(self, value: np.ndarray) -> bytes:
        assert value.dtype == np.uint8
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        shape = b"".join(map(self.number, value.shape)) + bytes([0x84 + value.ndim]) + self.put()
        return b"".join(
            [
                b"cnumpy.core.multiarray\n_reconstruct\n" + self.put(),
                b"cnumpy\nndarray\n" + self.put() + b"K\x00\x85" + self.put() + self.string(b"b"),
                b"\x87" + self.put() + b"R" + self.put() + b"(K\x01" + shape,
                b"cnumpy\ndtype\n" + self.put() + self.string(b"u1"),
                b"K\x00K\x01\x87" + self.put() + b"R" + self.put() + b"(K\x03" + self.string(b"|"),
                b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t" + self.put() + b"b",
                b"\x88" if fortran else b"\x89",
                self.string(value.tobytes("F" if fortran else "C")) + b"t" + self.put() + b"b",
            ]
        )


def striped(count: int, seed: int, classes: int) -> tuple[np.ndarray, list[int]]:
    """Give noisy images (N, 3072) with a bright row and a colour that tell their label."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    images = rng.integers(0, 150, (count, 3, 32, 32)).astype(np.uint8)
    images[np.arange(count), labels % 3, labels % 32] = 255
    return images.reshape(count, 3072), [int(label) for label in labels]


def cifar100(train: int = 200, test: int = 100, seed: int = 0, classes: int = 10) -> dict[str, Any]:
    """Give what the three files hold; of the 100 fine labels only the first `classes` occur."""
    parts: dict[str, Any] = {}
    for part, count in (("train", train), ("test", test)):
        data, labels = striped(count, seed + len(parts), classes)
        parts[part] = {
            b"data": data,
            b"batch_label": b"%sing batch 1 of 1" % part.encode(),
            b"fine_labels": labels,
            b"coarse_labels": [label // 5 for label in labels],
            b"filenames": [b"image_s_%06d.png" % i for i in range(count)],
        }
    parts["meta"] = {
        b"fine_label_names": [b"fine_%02d" % i for i in range(100)],
        b"coarse_label_names": [b"coarse_%02d" % i for i in range(20)],
    }
    return parts


def pickled(parts: dict[str, Any]) -> dict[str, bytes]:
    """Pickle what each file holds."""
    return {name: Python2Pickler().pickle(value) for name, value in parts.items()}


def write_cifar100(
    folder: Path, files: dict[str, bytes] | None = None, *, packed: bool = True
) -> Path:
    """Write the archive, or the files as it unpacks; give the path to be read."""
    files = pickled(cifar100()) if files is None else files
    if packed:
        path = folder / f"{FOLDER}.tar.gz"
        path.write_bytes(
            gzip.compress(tar({f"{FOLDER}/{n}": d for n, d in files.items()}), mtime=0)
        )
        return path
    where = folder / FOLDER
    where.mkdir()
    for name, data in files.items():
        (where / name).write_bytes(data)
    return where


def tar(files: dict[str, bytes]) -> bytes:
    """Pack files, after their folder and a stray file, as the authors' archive has them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        folder = tarfile.TarInfo(f"{FOLDER}/")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in ({f"{FOLDER}/file.txt~": b"stray\n"} | files).items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()
