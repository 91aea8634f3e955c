"""What is saved → JSON for its structure, and tensors and arrays by readable names."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from vkml.serialize.formats import STORABLE, Array
from vkml.serialize.header import METADATA
from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.tensor import Tensor

Leaf = Tensor | Array
MAX_DEPTH: Final = 100
"""Containers that may stand in each other."""
EXACT_INTS: Final = 2**53
"""Below, every reader of JSON gives an int back as it was."""
KEYS: Final = (str, int, float, bool, tuple, type(None))


class Encoder:
    """Turns one object into JSON and collects its tensors and arrays.

    JSON has lists, strings, finite numbers, true, false and null for themselves; what it lacks is
    an object of one name: int float tuple dict tensor array.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.leaves: dict[str, Leaf] = {}
        self._names: dict[int, str] = {}
        self._open: list[int] = []
        self._kinds: dict[type, Callable[[Any, str, str | None], Any]] = {
            **dict.fromkeys((type(None), bool, str), lambda value, where, name: value),
            int: lambda value, where, name: _int(value),
            float: lambda value, where, name: _float(value),
            list: self._list,
            tuple: lambda value, where, name: {"tuple": self._list(value, where, name)},
        }

    def encode(self, value: Any) -> Any:
        """Give the JSON of an object.

        Raises ArgumentTypeError for what cannot be saved and ArgumentError for what contains
        itself or is nested too deeply; both name the place.
        """
        return self._encode(value, self.root, None)

    def _encode(self, value: Any, where: str, name: str | None) -> Any:
        kind = self._kinds.get(type(value))
        if kind is None and isinstance(value, Mapping):
            kind = self._dict
        if kind is None and (isinstance(value, Tensor) or type(value) is np.ndarray):
            kind = self._leaf
        if kind is None:
            raise ArgumentTypeError(f"save: {where}: {_refusal(value)}")
        if not isinstance(value, Mapping | list | tuple):
            return kind(value, where, name)
        if id(value) in self._open:
            raise ArgumentError(f"save: {where} contains itself")
        if len(self._open) == MAX_DEPTH:
            raise ArgumentError(f"save: {where} is nested deeper than {MAX_DEPTH} levels")
        self._open.append(id(value))
        found = kind(value, where, name)
        self._open.pop()
        return found

    def _list(self, value: list[Any] | tuple[Any, ...], where: str, name: str | None) -> Any:
        return [self._encode(v, f"{where}[{i}]", _join(name, str(i))) for i, v in enumerate(value)]

    def _dict(self, value: Mapping[Any, Any], where: str, name: str | None) -> Any:
        pairs = []
        for key, held in value.items():
            if type(key) not in KEYS:
                raise ArgumentTypeError(f"save: {where}: the key {key!r} is {_refusal(key)}")
            shown = _shown(key)
            encoded = self._encode(key, f"{where}: the key {shown}", None)
            part = key if isinstance(key, str) else shown
            pairs.append([encoded, self._encode(held, f"{where}[{shown}]", _join(name, part))])
        return {"dict": pairs}

    def _leaf(self, value: Leaf, where: str, name: str | None) -> Any:
        kind = "tensor" if isinstance(value, Tensor) else "array"
        if not isinstance(value, Tensor) and value.dtype.newbyteorder("<") not in STORABLE:
            raise ArgumentTypeError(
                f"save: {where}: an array of {value.dtype} cannot be stored; safetensors has "
                f"{', '.join(str(t.name) for t in STORABLE)}"
            )
        if id(value) not in self._names:
            free = self._free(kind if name is None else name)
            self._names[id(value)], self.leaves[free] = free, value
        return {kind: self._names[id(value)]}

    def _free(self, wanted: str) -> str:
        """Give a name that the format allows and no other leaf has."""
        name = wanted = wanted.encode("utf-8", "replace").decode()
        number = 2
        while name in self.leaves or name == METADATA:
            name, number = f"{wanted}~{number}", number + 1
        return name


def _join(name: str | None, part: str) -> str:
    return part if name is None else f"{name}.{part}"


def _shown(key: object) -> str:
    try:
        return repr(key)
    except ValueError:  # Python does not print ints of thousands of digits
        return f"a {type(key).__name__}"


def _int(value: int) -> Any:
    return value if abs(value) < EXACT_INTS else {"int": hex(value)}


def _float(value: float) -> Any:
    return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}


def _refusal(value: object) -> str:
    hint = "; use .item()" if isinstance(value, np.generic) else ""
    hint = "; use its state_dict()" if hasattr(value, "state_dict") else hint
    return (
        f"a {type(value).__name__}, which cannot be saved; a checkpoint holds tensors, arrays, "
        f"dict, list, tuple, str, int, float, bool and None{hint}"
    )
