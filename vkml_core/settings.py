"""Settings from the environment: every `VKML_*` variable that the core reads, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vkml_core.backend import Level
from vkml_core.errors import ArgumentError


class Settings(BaseModel):
    """What the user set; a field is None or False where nothing is set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str | None = Field(
        None, min_length=1, description="a device name such as cpu or vulkan:1"
    )
    """`VKML_DEVICE`: the device of tensors that name none."""
    eager: bool = Field(False, description="0 or 1")
    """`VKML_EAGER`: compute every operation at once."""
    require_level: Level | None = Field(None, description="exact or exact-normal")
    """`VKML_REQUIRE_LEVEL`: the least level of the numerics contract that a device must hold."""
    cpu_threads: int | None = Field(
        None, ge=1, le=4096, description="a whole number from 1 to 4096"
    )
    """`VKML_CPU_THREADS`: threads of the CPU backend."""


_VARIABLES: Final = {field: f"VKML_{field.upper()}" for field in Settings.model_fields}


def settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings as they are now (`os.environ` unless another mapping is given).

    An unset or empty variable is as good as none. Raises ArgumentError naming each bad variable,
    its value and what it may be.
    """
    source = os.environ if environ is None else environ
    return _parse(tuple(source.get(name, "").strip() for name in _VARIABLES.values()))


@lru_cache(maxsize=16)
def _parse(values: tuple[str, ...]) -> Settings:
    given = {field: v for field, v in zip(_VARIABLES, values, strict=True) if v}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        bad = dict.fromkeys(str(e["loc"][0]) for e in error.errors())
        wrong = (
            f"{_VARIABLES[f]}: expected {Settings.model_fields[f].description}, got {given[f]!r}"
            for f in bad
        )
        raise ArgumentError("; ".join(wrong)) from None


def excluded(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Give the backends of `VKML_EXCLUDE`, names with commas between them.

    They are tried only where a device of theirs is named.
    """
    source = os.environ if environ is None else environ
    return frozenset(filter(None, map(str.strip, source.get("VKML_EXCLUDE", "").split(","))))
