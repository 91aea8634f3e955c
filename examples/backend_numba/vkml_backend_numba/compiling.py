"""How kernels are compiled: flags that keep the contract, and a cache keyed by the sources.

Numba's own cache looks at the file of the outermost function only. So the folder's name is a hash
of every kernel's source: a change anywhere compiles anew, and nothing stale is ever loaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from vkml_core.backend import API_VERSION

Function = TypeVar("Function", bound=Callable[..., Any])
config: Any = numba.config
"""Numba's settings, which have no types."""


@cache
def folder() -> Path:
    """Give the folder of compiled kernels: VKML_NUMBA_CACHE, else the user's cache folder."""
    digest = hashlib.sha256(f"{numba.__version__} {API_VERSION}".encode())
    here = Path(__file__)
    for source in (here, *sorted((here.parent / "kernels").glob("*.py"))):
        digest.update(source.read_bytes())
    chosen = os.environ.get("VKML_NUMBA_CACHE")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(chosen) if chosen else user / "vkml-numba") / digest.hexdigest()[:16]


def kernel(function: Function) -> Function:
    """Compile a function that kernels call: no fast math, division as IEEE 754 has it."""
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)


def program(function: Function) -> Function:
    """Compile the outermost function: parallel, and kept on disk."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder())
    try:
        compile_ = numba.njit(nogil=True, error_model="numpy", parallel=True, cache=True)
        compiled: Any = compile_(function)
    finally:
        config.CACHE_DIR = before
    return cast(Function, compiled)
