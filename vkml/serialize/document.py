"""vkml's own entry in the header: version, structure, metadata and checksums, as JSON."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vkml.serialize.formats import Array
from vkml.serialize.strict import read_json, write_json
from vkml_core.errors import CheckpointError

KEY: Final = "vkml"
"""The name of the entry, and the first in its JSON."""
VERSION: Final = 1
"""The version of the format that is written, and the newest that is read."""
_START: Final = f'{{"{KEY}":'


@dataclass(frozen=True, slots=True)
class Document:
    """What the entry says; `content` and `metadata` as `encode` gives them."""

    content: Any
    metadata: Any
    checksums: dict[str, str]
    version: int = VERSION

    def write(self) -> str:
        """Give the text of the entry."""
        body = [self.content, self.metadata, self.checksums]
        return write_json(
            {KEY: VERSION, "crc32": _crc(write_json(body).encode())}
            | dict(zip(_PARTS, body, strict=True))
        )


_PARTS: Final = ("content", "metadata", "checksums")


def read_document(entries: Mapping[str, str]) -> Document | None:
    """Read the entry, or give None for a file that vkml did not write.

    Raises CheckpointError for a newer version and for an entry that is damaged.
    """
    if KEY not in entries:
        if any(text.startswith(_START) for text in entries.values()):
            raise CheckpointError(f"the entry {KEY!r} of the header is damaged")
        return None
    what = f"the entry {KEY!r} of the header"
    given = read_json(entries[KEY], what)
    version = given.get(KEY) if isinstance(given, dict) else None
    if type(version) is not int or version < 1:
        raise CheckpointError(f"{what} has no version")
    if version > VERSION:
        raise CheckpointError(
            f"it has version {version} of the format, this vkml reads up to {VERSION}; update vkml"
        )
    body = [given.get(part) for part in _PARTS]
    if given.get("crc32") != _crc(write_json(body).encode()) or not isinstance(body[2], dict):
        raise CheckpointError(f"{what} is damaged: its checksum differs")
    return Document(body[0], body[1], body[2], version)


def checksum(code: str, array: Array) -> str:
    """Give the checksum of an array as it is stored: of its type, its shape and its bytes."""
    label = f"{code}{list(array.shape)}"
    return _crc(np.ascontiguousarray(array).reshape(-1).view(np.uint8), label)


def _crc(content: Any, label: str = "") -> str:
    return f"{zlib.crc32(content, zlib.crc32(label.encode())):08x}"
