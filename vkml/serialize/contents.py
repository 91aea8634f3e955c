"""An open file: its header, vkml's entry in it, and its tensors one by one."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

from vkml.serialize.atomic import path_arg
from vkml.serialize.decode import Decoder, Reader
from vkml.serialize.document import Document, checksum, read_document
from vkml.serialize.formats import Array
from vkml.serialize.header import Entry, Header, read_entry, read_header
from vkml_core.dtypes import DTYPES
from vkml_core.errors import CheckpointError
from vkml_core.shapes import MAX_ELEMENTS, MAX_RANK, size

FOREIGN: Final = 0
"""The version of files that vkml did not write."""


class Contents:
    """What an open file holds. Every method raises CheckpointError for what is wrong."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.header: Final[Header] = read_header(file)
        self.document: Final[Document | None] = read_document(self.header.metadata)

    @property
    def version(self) -> int:
        """The version of vkml's format, or FOREIGN."""
        return self.document.version if self.document else FOREIGN

    def metadata(self) -> dict[str, Any]:
        """Give the metadata: of a file that vkml did not write, texts by name."""
        if self.document is None:
            return dict(self.header.metadata)
        found = Decoder(_no_leaf, _no_leaf).decode(self.document.metadata)
        if not isinstance(found, dict):
            raise CheckpointError("its metadata is not a dict")
        return found

    def read(self, finish: Callable[[Array], Any]) -> Any:
        """Read all: the object that was saved, or of other files a dict of tensors by name.

        `finish` gets the values of each tensor and gives what stands for it.
        """
        entries = self.header.entries()
        if self.document is None:
            return {name: finish(self._tensor(name, entry)) for name, entry in entries.items()}
        if self.document.checksums.keys() != entries.keys():
            raise CheckpointError("its tensors are not those that its structure names")
        decoder = Decoder(
            tensor=lambda name: finish(self._tensor(name, _named(entries, name))),
            array=lambda name: self._stored(name, _named(entries, name)),
        )
        return decoder.decode(self.document.content)

    def _tensor(self, name: str, entry: Entry) -> Array:
        """Read values in the dtype that vkml has for them."""
        if entry.format.dtype is None:
            has = ", ".join(t.name for t in DTYPES)
            raise CheckpointError(f"tensor {name!r} has dtype {entry.code}, vkml has {has}")
        if len(entry.shape) > MAX_RANK or size(entry.shape) > MAX_ELEMENTS:
            raise CheckpointError(
                f"tensor {name!r} has shape {entry.shape}; vkml has at most {MAX_RANK} dimensions "
                f"and {MAX_ELEMENTS} elements"
            )
        return entry.format.tensor_values(self._stored(name, entry))

    def _stored(self, name: str, entry: Entry) -> Array:
        """Read values as they are stored, and compare their checksum if there is one."""
        array = read_entry(self._file, self.header, name, entry)
        if self.document and self.document.checksums[name] != checksum(entry.code, array):
            raise CheckpointError(f"tensor {name!r} is damaged: its checksum differs")
        return array


@contextmanager
def opened(path: object, what: str) -> Iterator[Contents]:
    """Open a file; a CheckpointError that comes up while it is read names it."""
    name = path_arg(path, what)
    try:
        kind = name.stat().st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise CheckpointError("not a regular file")
        with name.open("rb") as file:  # says of a folder that it is one
            yield Contents(file)
    except CheckpointError as error:
        raise CheckpointError(f"{name}: {error}") from None


def _named(entries: dict[str, Entry], name: str) -> Entry:
    if name not in entries:
        raise CheckpointError(f"its structure names a tensor {name!r} that is not there")
    return entries[name]


def _no_leaf(name: str) -> Reader:
    raise CheckpointError(f"its metadata names a tensor {name!r}")
