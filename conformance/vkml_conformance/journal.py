"""The journal of a worker: JSON lines that it appends and its parent reads while it grows.

It is a file, so nothing that was written is lost, however the worker or its parent ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

Entry = dict[str, Any]
STAGE: Final = "stage"
"""`load`: the backend is imported, probed and opened; `check`: a sign of life."""
OPENED: Final = "opened"
FAILED: Final = "failed"
"""The backend could not be opened: why."""
AT: Final = "at"
"""A check begins: its number."""
DONE: Final = "done"
"""A check ended: its number, with what came of it."""
SCRIPT: Final = "script"
"""The script for the finding of that number."""
LOST: Final = "lost"
"""The process is gone; its parent says so, no worker writes it."""
END: Final = "end"


class Writer:
    """Appends entries, each by one system call."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, **entry: Any) -> None:
        """Append an entry."""
        os.write(self._file, (json.dumps(entry) + "\n").encode())


class Reader:
    """Reads the entries that are complete, and later those that came since."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0

    def read(self) -> Iterator[Entry]:
        """Give what came since the last time; an entry that is half written waits."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data.rpartition(b"\n")[0]
        self._place += len(whole) + 1 if whole else 0
        for line in whole.splitlines():
            if line:
                yield json.loads(line)
