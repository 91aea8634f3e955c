"""Checkpoint, save and load: an object and its metadata to one safetensors file and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from vkml.serialize.atomic import path_arg, replace
from vkml.serialize.contents import opened
from vkml.serialize.document import VERSION
from vkml.serialize.write import Prepared
from vkml_core.functional.creation import device_name, tensor

PathLike = str | os.PathLike[str]


@dataclass(eq=False)
class Checkpoint:
    """What a file holds: `tensors`, `metadata` about them, and the `version` of the format.

    `tensors` maps names to tensors, or is any object that `vkml.save` takes. `version` tells what
    a loaded file had, 0 if vkml did not write it; `save` writes the newest.
    """

    tensors: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    def save(self, path: PathLike) -> None:
        """Write the file, as `vkml.save` does."""
        name = path_arg(path, "save: path")
        replace(name, Prepared(self.tensors, self.metadata).write)

    @classmethod
    def load(cls, path: PathLike, device: str | None = None) -> Self:
        """Read a file, as `vkml.load` does."""
        on = device_name(device)
        with opened(path, "load: path") as contents:
            metadata = contents.metadata()
            tensors = contents.read(lambda values: tensor(values, device=on))
            return cls(tensors, metadata, contents.version)

    @staticmethod
    def read_metadata(path: PathLike) -> dict[str, Any]:
        """Read the metadata alone, whatever the tensors are; their values are not read.

        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import vkml
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "model.safetensors")
        ...     vkml.save({"w": vkml.zeros(2)}, path, metadata={"epoch": 3})
        ...     vkml.Checkpoint.read_metadata(path)
        {'epoch': 3}
        """
        with opened(path, "read_metadata: path") as contents:
            return contents.metadata()


def save(obj: Any, path: PathLike, metadata: Mapping[str, Any] | None = None) -> None:
    """Save tensors, and what belongs to them, in a safetensors file.

    `obj` is a dict of tensors by name, or dicts, lists and tuples in one another that hold tensors,
    NumPy arrays, str, int, float, bool and None. Tensors are saved by value (bits, shape, dtype);
    one that is there several times is saved once. Lazy tensors are computed in one submission a
    device. The path stands for the old file or for the whole new one at any moment.

    Raises ArgumentTypeError for anything else in `obj`, naming its place; ArgumentError for what
    contains itself; OSError from the file system. Then the old file is untouched.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import vkml
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "run.safetensors")
    ...     vkml.save({"model": {"w": vkml.ones(2)}, "epoch": 3}, path)
    ...     vkml.load(path)
    {'model': {'w': tensor([1., 1.])}, 'epoch': 3}
    """
    Checkpoint(obj, {} if metadata is None else metadata).save(path)


def load(path: PathLike, device: str | None = None) -> Any:
    """Give back what `save` wrote, its tensors on `device`.

    A safetensors file from elsewhere gives a dict of tensors in the order of their names: BF16
    becomes float32, I8 U8 I16 U16 int32, U32 int64, all exactly; F64 is narrowed to float32.

    Raises CheckpointError for a file that is damaged, of a newer version or holds what vkml does
    not have (other types, more than 4 dimensions); OSError if it cannot be opened.
    """
    return Checkpoint.load(path, device).tensors
