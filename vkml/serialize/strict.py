"""JSON as checkpoints take it: no name twice, no NaN, no text that is not Unicode, no depth."""

from __future__ import annotations

import json
from typing import Any

from vkml_core.errors import CheckpointError


def read_json(text: str | bytes, what: str) -> Any:
    """Read JSON, or raise CheckpointError that says what is wrong with `what`."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(decoded, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise CheckpointError(f"{what} is nested too deeply") from None
    except CheckpointError as error:
        raise CheckpointError(f"{what}: {error}") from None
    except ValueError as error:
        raise CheckpointError(f"{what} is not JSON: {error}") from None


def write_json(value: Any) -> str:
    """Write JSON in ASCII without spaces; `read_json` and this give the same text again."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise CheckpointError(f"the name {name!r} is there twice")
        found[name] = value
    return found


def _no_constant(text: str) -> None:
    raise CheckpointError(f"{text} is not a number of JSON")
