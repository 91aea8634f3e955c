"""Makes any text fit to be shown: no control characters, nothing that an encoding lacks."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""All but tab and newline; those that turn the direction of writing hide what is said, too."""
_ILLEGAL: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f]")
"""What XML 1.0 forbids or discourages, and the carriage return, which its readers change."""


def _escape(found: re.Match[str]) -> str:
    return (
        found[0].encode("ascii", "backslashreplace").decode()
        if found[0] > "\x7f"
        else (f"\\x{ord(found[0]):02x}")
    )


def shown(text: str, encoding: str = "utf-8") -> str:
    """Write out, as Python does, what a terminal would obey or its encoding cannot hold."""
    safe = _CONTROL.sub(_escape, text)
    return safe.encode(encoding, "backslashreplace").decode(encoding)


def legal(text: str) -> str:
    """Write out, as Python does, what XML cannot hold."""
    return _ILLEGAL.sub(_escape, text)
