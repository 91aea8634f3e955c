"""The header of a safetensors file: names, types, shapes and places, all checked before any use.

The library writes our files. It does not read them: its NumPy reader cannot give BF16, takes the
last of two tensors of one name, and maps the file, so that one cut short meanwhile ends the
process. The tests hold both readers together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import numpy as np

from vkml.serialize.formats import FORMATS, Array, Format
from vkml.serialize.strict import read_json
from vkml_core.dtypes import DTYPES
from vkml_core.errors import CheckpointError
from vkml_core.shapes import Shape, size

MAX_HEADER: Final = 100_000_000
"""Bytes of the longest header that the format allows."""
MAX_ARRAY_RANK: Final = 64
"""Dimensions that a NumPy array may have."""
METADATA: Final = "__metadata__"
"""The name in the header that is no tensor's."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of a file: its type by the format's name, its shape, and its bytes' place."""

    code: str
    shape: Shape
    begin: int
    end: int

    @property
    def format(self) -> Format:
        """The element type."""
        return FORMATS[self.code]


@dataclass(frozen=True, slots=True)
class Header:
    """What stands in front of the values: text by name, and the raw descriptions of tensors."""

    metadata: dict[str, str]
    tensors: dict[str, Any]
    start: int
    length: int
    """Where the values begin, and how many bytes of them the file has."""

    def entries(self) -> dict[str, Entry]:
        """Check all tensors and give them by name, in the order of names.

        Raises CheckpointError for types that vkml cannot read, for sizes that do not fit shapes,
        and unless the tensors fill the file from end to end, each byte used once.
        """
        found = {name: _entry(name, self.tensors[name]) for name in sorted(self.tensors)}
        at = 0
        for name, entry in sorted(found.items(), key=lambda item: (item[1].begin, item[1].end)):
            if entry.begin != at:
                kind = "overlaps the tensor before it" if entry.begin < at else "follows a gap"
                raise CheckpointError(
                    f"tensor {name!r} {kind}: it begins at {entry.begin}, not {at}"
                )
            at = entry.end
        if at != self.length:
            raise CheckpointError(f"the tensors take {at} bytes, the file has {self.length}")
        return found


def read_header(file: BinaryIO) -> Header:
    """Read and check the header of an open file; nothing larger than the file is allocated."""
    total = os.fstat(file.fileno()).st_size
    first = file.read(8)
    if len(first) < 8:
        raise CheckpointError(f"{total} bytes are too few for a safetensors file")
    length = int.from_bytes(first, "little")
    if length > MAX_HEADER or 8 + length > total:
        raise CheckpointError(
            f"the header should have {length} bytes, but the file has {total} and the format "
            f"allows {MAX_HEADER}; it is cut short or not a safetensors file"
        )
    return _header(file.read(length), 8 + length, total)


def _header(text: bytes, start: int, total: int) -> Header:
    content = read_json(text, "the header")
    if not isinstance(content, dict):
        raise CheckpointError("the header is not a JSON object")
    metadata = content.pop(METADATA, None)
    metadata = {} if metadata is None else metadata
    if not isinstance(metadata, dict) or not all(map(is_text, metadata.values())):
        raise CheckpointError(f"{METADATA} does not map names to text")
    wrong = [name for name in (*content, *metadata) if not is_text(name)]
    if wrong:
        raise CheckpointError(f"the name {wrong[0]!r} is not Unicode text")
    return Header(metadata, content, start, total - start)


def is_text(value: object) -> bool:
    """Whether a value is a string without lone surrogates, as the format wants it."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _entry(name: str, given: Any) -> Entry:
    described = isinstance(given, Mapping) and {"dtype", "shape", "data_offsets"} <= given.keys()
    if not described or not isinstance(given["dtype"], str):
        raise CheckpointError(f"tensor {name!r} lacks a dtype, a shape or data_offsets")
    shape = _naturals(given["shape"], f"tensor {name!r}: shape")
    offsets = _naturals(given["data_offsets"], f"tensor {name!r}: data_offsets")
    if given["dtype"] not in FORMATS:
        has = ", ".join(t.name for t in DTYPES)
        raise CheckpointError(
            f"tensor {name!r} has dtype {given['dtype']!r}; vkml has {has}, and reads "
            f"{', '.join(FORMATS)}"
        )
    itemsize = FORMATS[given["dtype"]].stored.itemsize
    if size(d for d in shape if d) * itemsize >= 2**63 or len(shape) > MAX_ARRAY_RANK:
        raise CheckpointError(f"tensor {name!r}: NumPy cannot have shape {shape}")
    need = size(shape) * itemsize
    if len(offsets) != 2 or offsets[1] - offsets[0] != need:
        raise CheckpointError(
            f"tensor {name!r}: {given['dtype']} of shape {shape} takes {need} bytes, but its "
            f"data_offsets are {list(offsets)}"
        )
    return Entry(given["dtype"], shape, *offsets)


def _naturals(value: Any, what: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(v) is int and 0 <= v < 2**63 for v in value):
        raise CheckpointError(f"{what} is not a list of sizes")
    return tuple(value)


def read_entry(file: BinaryIO, header: Header, name: str, entry: Entry) -> Array:
    """Read the elements of a tensor as they are stored."""
    file.seek(header.start + entry.begin)
    raw = np.fromfile(file, np.uint8, entry.end - entry.begin)
    if raw.nbytes != entry.end - entry.begin:
        raise CheckpointError(f"tensor {name!r}: the file was cut short while it was read")
    if entry.code == "BOOL":
        raw = raw != 0
    return raw.view(entry.format.stored).reshape(entry.shape)
