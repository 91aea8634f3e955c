"""JSON that shows an edit: one object, no name twice, and the SHA-256 of all else in `sha256`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest(fields: Mapping[str, Any]) -> str:
    """Give the SHA-256 of the canonical JSON of all fields but `sha256`, 64 hex digits."""
    kept = {name: value for name, value in fields.items() if name != "sha256"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def parse(text: str) -> dict[str, Any]:
    """Read one object.

    Raises
    ------
    ValueError
        Where it is no JSON, no object, holds NaN or infinity, or holds a name twice: a reader
        would see the first and a program the last.

    """
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} comes twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
