"""JSON for a structure → what was saved: the reverse of `encode.py`, which trusts nothing."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any, Final

from vkml.serialize.encode import MAX_DEPTH
from vkml_core.errors import CheckpointError

Reader = Callable[[str], Any]
"""Takes a name in the file; gives the tensor or array."""


class Decoder:
    """Turns JSON into an object; a tensor that is named twice is one object in two places."""

    def __init__(self, tensor: Reader, array: Reader) -> None:
        self._found: dict[tuple[str, str], Any] = {}
        self._readers = {"tensor": tensor, "array": array}
        self._kinds: dict[str, Callable[[str, Any, int], Any]] = {
            "int": lambda kind, given, depth: _int(given),
            "float": lambda kind, given, depth: _float(given),
            "tuple": lambda kind, given, depth: tuple(self._list(given, depth)),
            "dict": lambda kind, given, depth: self._dict(given, depth),
            **dict.fromkeys(self._readers, lambda kind, given, depth: self._leaf(kind, given)),
        }

    def decode(self, given: Any, depth: int = 0) -> Any:
        """Give the object, or raise CheckpointError where the JSON is not what `encode` writes."""
        if not isinstance(given, list | dict):
            return given
        if depth > MAX_DEPTH:
            raise CheckpointError(f"its structure is nested deeper than {MAX_DEPTH} levels")
        if isinstance(given, list):
            return self._list(given, depth)
        kind = next(iter(given), "")
        if len(given) != 1 or kind not in self._kinds:
            raise CheckpointError(f"its structure has the unknown type {', '.join(given)!r}")
        return self._kinds[kind](kind, given[kind], depth)

    def _list(self, given: Any, depth: int) -> list[Any]:
        if not isinstance(given, list):
            raise CheckpointError("its structure has a sequence that is not a list")
        return [self.decode(v, depth + 1) for v in given]

    def _dict(self, given: Any, depth: int) -> dict[Any, Any]:
        pairs = [self._list(pair, depth) for pair in given] if isinstance(given, list) else [[]]
        if any(len(pair) != 2 for pair in pairs):
            raise CheckpointError("its structure has a dict that is not a list of pairs")
        try:
            found = dict(pairs)
        except TypeError as error:
            raise CheckpointError(f"its structure has a dict with a wrong key: {error}") from None
        if len(found) != len(pairs):
            raise CheckpointError("its structure has a dict with a key twice")
        return found

    def _leaf(self, kind: str, given: Any) -> Any:
        if not isinstance(given, str):
            raise CheckpointError(f"its structure names a {kind} {given!r}")
        if (kind, given) not in self._found:
            self._found[kind, given] = self._readers[kind](given)
        return self._found[kind, given]


_HEX: Final = re.compile(r"-?0x[0-9a-f]+")
_BITS: Final = re.compile(r"[0-9a-f]{16}")


def _int(given: Any) -> int:
    if not isinstance(given, str) or not _HEX.fullmatch(given):
        raise CheckpointError(f"its structure has the wrong int {given!r}")
    return int(given, 16)


def _float(given: Any) -> float:
    if not isinstance(given, str) or not _BITS.fullmatch(given):
        raise CheckpointError(f"its structure has the wrong float {given!r}")
    value: float = struct.unpack(">d", bytes.fromhex(given))[0]
    return value
