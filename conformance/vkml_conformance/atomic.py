"""Writes a file whole or not at all: what was there before stays until the new one is complete."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from vkml_core.errors import Error


class WriteError(Error, OSError):
    """A report or certificate that could not be written; what was there before still is."""


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by text in UTF-8.

    Raises
    ------
    WriteError
        Where the folder is missing or may not be written, or the disk is full.

    """
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _fill(draft, text)
        draft.replace(target)
    except OSError as error:
        raise WriteError(
            f"{target}: cannot be written ({error.strerror or error}); expected a file name in "
            "an existing folder that you may write to. Nothing was changed."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _fill(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
