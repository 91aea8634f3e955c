"""An object and its metadata → a safetensors file, through the safetensors library."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from vkml.serialize.document import KEY, Document, checksum
from vkml.serialize.encode import Encoder, Leaf
from vkml.serialize.formats import STORABLE, Array
from vkml.serialize.header import is_text, read_header
from vkml_core.errors import ArgumentError, ArgumentTypeError, CheckpointError
from vkml_core.functional.execution import realize
from vkml_core.tensor import Tensor

_ERRNO: Final = re.compile(r"\(os error (\d+)\)")


class Prepared:
    """What will be in the file, ready before the file is touched."""

    def __init__(self, content: Any, metadata: Mapping[str, Any]) -> None:
        encoder = Encoder("obj")
        encoded = encoder.encode(content)
        described = _metadata(metadata)
        self.arrays: Final = _arrays(encoder.leaves)
        sums = {k: checksum(STORABLE[a.dtype], a) for k, a in self.arrays.items()}
        self.entries: Final = _plain(metadata) | {KEY: Document(encoded, described, sums).write()}

    def write(self, path: Path) -> None:
        """Write the file and see that it is whole; the library's OSErrors become Python's."""
        from safetensors import SafetensorError
        from safetensors.numpy import save_file  # late: only saving needs it

        try:
            save_file(self.arrays, path, metadata=self.entries)
        except SafetensorError as error:
            number = _ERRNO.search(str(error))
            if number is None:
                raise ArgumentError(f"save: {error}; put long lists into arrays") from None
            code = int(number[1])
            raise OSError(code, os.strerror(code), str(path)) from None
        _check(path)


def _check(path: Path) -> None:
    """Read what was written as far as its end shows: some versions of the library hide errors."""
    try:
        with path.open("rb") as file:
            read_header(file).entries()
    except CheckpointError as error:
        raise CheckpointError(f"save: what was written is not whole: {error}") from None


def _metadata(metadata: Mapping[str, Any]) -> Any:
    """Check and encode metadata: what can be saved, but no tensors, by names."""
    if not isinstance(metadata, Mapping) or not all(isinstance(k, str) for k in metadata):
        raise ArgumentTypeError("save: metadata: expected a dict with names as keys")
    if KEY in metadata:
        raise ArgumentError(f"save: metadata: the name {KEY!r} is taken")
    encoder = Encoder("metadata")
    encoded = encoder.encode(metadata)
    if encoder.leaves:
        raise ArgumentTypeError(f"save: metadata: {next(iter(encoder.leaves))} is a tensor")
    return encoded


def _plain(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Give the texts among the metadata, which other programs find under their own names."""
    texts = {k: v for k, v in metadata.items() if isinstance(v, str)}
    return {k: v for k, v in texts.items() if is_text(k) and is_text(v)}


def _arrays(leaves: Mapping[str, Leaf]) -> dict[str, Array]:
    """Read all tensors, after one submission a device; arrays as little-endian and contiguous."""
    realize(*(t for t in leaves.values() if isinstance(t, Tensor)))
    found = {k: v.numpy() if isinstance(v, Tensor) else v for k, v in leaves.items()}
    return {k: np.asarray(a, a.dtype.newbyteorder("<"), order="C") for k, a in found.items()}
