"""Writes a file or a folder whole or not at all: what was there stays until the new is complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vkml_core.errors import Error


class WriteError(Error, OSError):
    """A report, certificate or project that could not be written; what was there still is."""


@contextmanager
def whole(target: Path, expected: str) -> Iterator[Path]:
    """Give a place beside the target for what becomes the target when the block ends well.

    Raises
    ------
    WriteError
        Saying what was expected, where the folder is missing or may not be written, or the disk is
        full.

    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield draft
        draft.replace(target)
    except OSError as error:
        raise WriteError(
            f"{target}: cannot be written ({error.strerror or error}); expected {expected}. "
            "Nothing was changed."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        with suppress(OSError):
            draft.unlink()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by text in UTF-8. Raises WriteError."""
    expected = "a file name in an existing folder that you may write to"
    with (
        whole(Path(path), expected) as draft,
        draft.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
