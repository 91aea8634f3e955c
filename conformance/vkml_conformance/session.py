"""One run of the suite: which devices, their workers, and the report of them all."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Final

import importlib_metadata

from vkml_conformance import suite
from vkml_conformance.check import Check
from vkml_conformance.collect import COLUMN, device_report
from vkml_conformance.journal import AT, DONE, LOST, SCRIPT, Entry
from vkml_conformance.schema import Machine, Report, Selection
from vkml_conformance.supervise import Lane, supervise
from vkml_conformance.worker import Request
from vkml_core import plugins
from vkml_core.backend import Level
from vkml_core.choice import CPU
from vkml_core.errors import ArgumentError

CONTRACT: Final = 1
"""The version of docs/numerics.md that this suite checks."""
LIMITS: Final = {"quick": 30.0, "default": 60.0, "thorough": 300.0}
"""Seconds of silence after which a process counts as hanging."""
MAX_SHARDS: Final = 4
"""Processes for one device, which may have to share its memory."""
PACKAGES: Final = ("vkml", "numpy", "pydantic", "vulkan")
Told = Callable[[str, int, int, int, str], None]
"""Is told (device, checks done, of how many, how many differ, the id of the current one)."""


def installed() -> list[str]:
    """Name the backends that entry points offer, without importing them; the oracle first."""
    return sorted(plugins.sources(), key=lambda name: (name != CPU, name))


def run(
    targets: Sequence[tuple[str, int]],
    selection: Selection,
    *,
    level: Level | None = None,
    jobs: int | None = None,
    limit: float | None = None,
    folder: Path | None = None,
    stop_at_first: bool = False,
    told: Told = lambda *_: None,
) -> Report:
    """Check devices, each (backend, index), and give the report; nothing a backend does raises.

    Journals are kept in `folder`, where one is given.
    """
    started, begin = datetime.now(UTC), time.monotonic()
    jobs = jobs or os.cpu_count() or 1
    checks = [check for bundle in suite.bundles(selection) for check in bundle]
    if not checks:
        raise ArgumentError(
            f"no check is left of the selection {selection.model_dump(exclude_defaults=True)}; "
            "`vkml-conformance list` prints the ids, operations come first in them"
        )
    with ExitStack() as stack:
        root = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        shards = min(jobs, MAX_SHARDS)
        lanes = {
            target: _lanes(target, root, selection, level, shards, number)
            for number, target in enumerate(targets)
        }
        watch = _Watch(checks, stop_at_first, told, begin)
        # The oracle comes last: it is quick, so that no core waits long for another.
        order = sorted(lanes, key=lambda target: target[0] == CPU)
        every = [lane for target in order for lane in lanes[target]]
        supervise(every, jobs=jobs, limit=limit or LIMITS[selection.mode], heard=watch)
    digest = suite.digest(checks)
    known = recorded(digest)
    devices = [
        device_report(some, checks, known, watch.seconds.get(_name(some[0].request), 0.0))
        for some in lanes.values()
    ]
    return Report(
        contract=CONTRACT,
        suite=digest,
        selection=selection,
        machine=machine(),
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - begin, 3),
        devices=tuple(devices),
    )


def _lanes(
    target: tuple[str, int],
    root: Path,
    selection: Selection,
    level: Level | None,
    shards: int,
    number: int,
) -> list[Lane]:
    backend, index = target
    folder = root / "journals" / f"device-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "journal"
    return [
        Lane(
            Request(
                backend=backend,
                index=index,
                level=level,
                selection=selection,
                journal=journal,
                shard=shard,
                shards=shards,
            ),
            folder,
        )
        for shard in range(shards)
    ]


def _name(request: Request) -> str:
    return f"{request.backend}:{request.index}".removesuffix(":0")


class _Watch:
    """Counts what workers note, for whoever wants to be told, and says when to stop.

    That is after the script of the first finding, or where a process was lost.
    """

    def __init__(
        self, checks: Sequence[Check], stop_at_first: bool, told: Told, begin: float
    ) -> None:
        self._checks, self._stop, self._told, self._begin = checks, stop_at_first, told, begin
        self._done: dict[str, int] = {}
        self._differing: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    def __call__(self, lane: Lane, entry: Entry) -> bool:
        name = _name(lane.request)
        self.seconds[name] = time.monotonic() - self._begin
        wrong = LOST in entry or (DONE in entry and COLUMN[entry["status"]] == "differing")
        self._done[name] = self._done.get(name, 0) + (DONE in entry)
        self._differing[name] = self._differing.get(name, 0) + wrong
        current = self._checks[entry[AT]].id if AT in entry else ""
        counts = self._done[name], len(self._checks), self._differing[name]
        self._told(name, *counts, current)
        return not (self._stop and (SCRIPT in entry or LOST in entry))


def machine() -> Machine:
    """Describe this machine and the versions that matter."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib_metadata.version(package)
        except importlib_metadata.PackageNotFoundError:
            continue
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        packages=versions,
    )


def recorded(suite_hash: str) -> dict[str, str]:
    """Give the digests of the oracle's results that are recorded for a suite; {} for none."""
    file = resources.files("vkml_conformance") / "recorded.json"
    found: dict[str, dict[str, str]] = json.loads(file.read_text())
    return found.get(suite_hash, {})
