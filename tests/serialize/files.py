"""Files that are made by hand, what comes of loading them, and what it may take."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import vkml

F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
SUMS = {"w": f"{zlib.crc32(bytes([0, 0, 128, 63]), zlib.crc32(b'F32[1]')):08x}"}
NONE: dict[str, Any] = {"dict": []}


def same(a: Any, b: Any) -> bool:
    """Whether two objects are of the same types and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return same([*a], [*b]) and same([*a.values()], [*b.values()])
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, vkml.Tensor):
        return same(a.numpy(), b.numpy())
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    return bool(a == b)


def build(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def loads(content: bytes, path: Path) -> Any:
    """What a file with this content gives; None for a CheckpointError, which names the file."""
    path.write_bytes(content)
    try:
        return vkml.load(path)
    except vkml.CheckpointError as error:
        assert str(error).startswith(f"{path}: ")
        return None


def document(body: list[Any], version: object = 1, crc: str | None = None) -> bytes:
    """A file whose entry of vkml's says this, with the right checksum unless one is given."""
    text = json.dumps(body, separators=(",", ":"))
    found = f"{zlib.crc32(text.encode()):08x}" if crc is None else crc
    names = ("content", "metadata", "checksums")
    entry = {"vkml": version, "crc32": found} | dict(zip(names, body, strict=True))
    return build({"__metadata__": {"vkml": json.dumps(entry)}, "w": F32}, b"\0\0\x80?")


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()
