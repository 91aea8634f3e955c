"""Oracles with other kernels for some rows, as devices to be judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_cpu.table import TABLE
from vkml_core import plugins
from vkml_core.stepwise import Conversions
from vkml_core.table_backend import table_backend

NAME = "faulty"


@contextmanager
def faulty(conversions: Conversions | None = None, **rows: Callable[..., Any]) -> Iterator[str]:
    """Register the oracle with other kernels; give the name of the device."""
    how = conversions or oracle.conversions
    made: Any = table_backend(NAME, {**TABLE, **rows}, api_version=(1, 0), conversions=how)
    plugins.register_backend(made)
    try:
        yield NAME
    finally:
        plugins.unregister_backend(NAME)
