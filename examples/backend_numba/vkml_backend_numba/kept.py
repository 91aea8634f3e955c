"""Compiled functions on disk, one file each, in a folder named by a hash of all that made them.

Numba's own cache asks whether the file of one function changed, not what that function calls, and a
damaged file is an error. Here a change anywhere is another folder, so nothing stale is ever loaded;
a file that is damaged is as good as none; and where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from vkml_backend_cpu import elementary

_DIGEST: Final = hashlib.sha256().digest_size


@cache
def folder() -> Path:
    """Give the folder of compiled functions: in VKML_NUMBA_CACHE, else the user's cache folder.

    For a user without a home it is one that cannot be: nothing is found there, nothing kept.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}".encode())
    here = Path(__file__).parent
    sources = [*here.glob("*.py"), *(here / "kernels").glob("*.py")]
    constants = [p for place in elementary.__path__ for p in Path(place).glob("*.py")]
    for source in (*sorted(sources), *sorted(constants)):
        digest.update(source.read_bytes())
    return _place() / digest.hexdigest()[:16]


def _place() -> Path:
    chosen = os.environ.get("VKML_NUMBA_CACHE")
    if chosen:
        return Path(chosen)
    try:
        user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        user = Path(os.devnull)
    return user / "vkml-numba"


class Kept:
    """The cache of one function with one signature, as Numba's compiler wants a cache."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _path(self, codegen: Any) -> Path:
        """Give the function's file for this CPU."""
        cpu = hashlib.sha256(repr(codegen.magic_tuple()).encode()).hexdigest()[:16]
        return folder() / f"{self._name}-{cpu}"

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load the function, or give None."""
        context.refresh()
        try:
            found = self._path(context.codegen()).read_bytes()
        except OSError:
            return None
        digest, data = found[:_DIGEST], found[_DIGEST:]
        if hashlib.sha256(data).digest() != digest:
            return None
        return CompileResult._rebuild(context, *pickle.loads(data))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the function where that can be done."""
        assert not result.library.has_dynamic_globals, "addresses of this process in the code"
        data = dumps(result._reduce())
        with suppress(OSError):
            folder().mkdir(parents=True, exist_ok=True)
            _write(self._path(result.codegen), hashlib.sha256(data).digest() + data)


def _write(path: Path, data: bytes) -> None:
    """Write a file at once or not at all, whatever other processes do."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
