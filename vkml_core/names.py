"""Names of devices: `backend` or `backend:index`; index 0 is left out of the canonical name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from typing import Final

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*(:(0|[1-9][0-9]{0,8}))?")


def split(name: str) -> tuple[str, int]:
    """Take the name of a device apart: its backend and its index there."""
    backend, _, index = name.partition(":")
    return backend, int(index or 0)


def join(backend: str, index: int) -> str:
    """Give the canonical name of a backend's device."""
    return f"{backend}:{index}" if index else backend


def fault(name: object, backends: Collection[str]) -> str:
    """Say what is wrong with a name where there are these backends; "" if nothing is."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return (
            f"{name!r} is not a device name; expected backend or backend:index, "
            "such as 'cpu' or 'vulkan:1'"
        )
    backend, _ = split(name)
    if backend in backends:
        return ""
    close = difflib.get_close_matches(backend, backends, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"no backend is called {backend!r}{hint}"
