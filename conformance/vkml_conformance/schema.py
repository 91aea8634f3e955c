"""The report as data: what `run` found on every device, as versioned JSON."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

SCHEMA: Final = 1
"""Raised when a field changes its meaning or goes; new optional fields do not raise it."""

Verdict = Literal["passed", "differs", "failed to load", "crashed", "timed out"]
Status = Literal["differs", "error", "crash", "timeout"]


class Model(BaseModel):
    """Frozen, and refusing what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(Model):
    """The first element of a result that differs (see `vkml_conformance.check.Difference`)."""

    what: str
    run: str
    wrong: int
    of: int
    index: tuple[int, ...]
    got: str
    want: str
    got_value: str = ""
    want_value: str = ""
    ulps: int | None = None
    cause: str = ""


class Finding(Model):
    """A check that a device does not pass, with all that is needed to run it again."""

    id: str
    family: str
    op: str
    dtype: str
    part: str
    status: Status
    about: dict[str, str]
    place: Place | None = None
    message: str = ""
    script: str = ""
    """A Python script that shows it and needs vkml alone; kept for the first findings of a row."""


class Line(Model):
    """Counts of one operation, dtype and part. `cases` is the sum of all that follow."""

    family: str
    op: str
    dtype: str
    part: str
    cases: int
    equal: int
    differing: int
    """Differences, errors, crashes and timeouts."""
    unsupported: int
    left_out: int
    """What the device's level does not promise."""
    not_run: int
    elements: int
    digest: str = ""
    """Of the ids and wanted results of all its cases; empty where some were not run."""
    recorded: bool | None = None
    """Whether the oracle's results had the recorded digest; None where that cannot be told."""


class DeviceReport(Model):
    """What became of one device."""

    backend: str
    device: str
    """The canonical name, `vulkan` or `vulkan:1`."""
    distribution: str = ""
    """Name and version of what installed the backend."""
    hardware: str = ""
    kind: str = ""
    level: str = ""
    """The level that it was held to."""
    details: dict[str, str] = {}
    """What the device tells of itself: driver, features, self-test."""
    verdict: Verdict
    failure: str = ""
    """Why it did not load, or how its process ended, and what to do."""
    seconds: float = 0.0
    lines: tuple[Line, ...] = ()
    findings: tuple[Finding, ...] = ()
    """In the order in which they were met."""
    results: str = ""
    """SHA-256 over the ids and result digests of all checks that agreed."""


class Selection(Model):
    """Which checks were asked for."""

    mode: Literal["quick", "default", "thorough"] = "default"
    seed: int = 0
    ops: tuple[str, ...] = ()
    """Globs; empty for all."""
    families: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    cases: int | None = None
    """The most row cases of an operation, dtype and part."""
    only: str | None = None
    """The id of the one check to run."""


class Machine(Model):
    """Where it ran."""

    system: str
    processor: str
    cores: int
    python: str
    packages: dict[str, str]


class Report(Model):
    """One run of the suite over one or more devices."""

    schema_version: int = SCHEMA
    contract: int
    """Version of docs/numerics.md."""
    suite: str
    """SHA-256 over the ids of all checks of the selection."""
    selection: Selection
    machine: Machine
    started: str
    """ISO 8601, UTC."""
    seconds: float
    devices: tuple[DeviceReport, ...]
