"""The process that runs checks on one device: `python -m vkml_conformance.worker REQUEST`."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from vkml_conformance import journal, pulse
from vkml_conformance.check import Check, Outcome
from vkml_conformance.engine import judge
from vkml_conformance.named import load, place_of
from vkml_conformance.schema import Selection
from vkml_conformance.shards import shards
from vkml_conformance.suite import bundles
from vkml_conformance.witness import witness
from vkml_core import plugins
from vkml_core.backend import Level
from vkml_core.device import device
from vkml_core.discovery import Refused, guard
from vkml_core.errors import DeviceLost, Error


class Request(BaseModel):
    """What a worker has to do; its parent writes it into a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: str
    """The name of an installed backend, or `module:attribute`."""
    index: int = 0
    level: Level | None = None
    """Hold the device to that level; None for the one that it declares."""
    selection: Selection
    journal: Path
    shard: int = 0
    shards: int = 1
    after: int = -1
    """Begin after the check of that number."""
    without: tuple[str, ...] = ()
    """Operations that are left out, since their checks ended processes before."""


def find(backend: str, index: int) -> str:
    """Give the name of a device, registering a backend that is given as `module:attribute`.

    Raises Error or Refused, whatever the backend does.
    """
    place = place_of(backend)
    if place is not None:
        found = guard("load", load, place)
        plugins.register_backend(found)
        backend = found.NAME
    return plugins.canonical(f"{backend}:{index}")


def mine(request: Request) -> Iterator[tuple[int, Check]]:
    """Give the checks of a shard that are still to be run, with their numbers."""
    number = 0
    every = bundles(request.selection)
    for bundle, shard in zip(every, shards(every, request.shards), strict=True):
        for check in bundle:
            left = number > request.after and check.op not in request.without
            if left and shard == request.shard:
                yield number, check
            number += 1


def run(request: Request, log: journal.Writer) -> None:
    """Open the device, then run and note one check after the other."""
    log.write(stage="load")
    try:
        name = find(request.backend, request.index)
        level = request.level or device(name).capabilities().level
        log.write(opened=_identity(name), level=level)
    except (Error, Refused) as error:
        log.write(failed=str(error))
        return
    pulse.listen(lambda: log.write(stage="check"))
    shown: set[tuple[str, str, str]] = set()
    for number, check in mine(request):
        log.write(at=number, op=check.op)
        outcome = judge(check, name, level)
        log.write(done=number, **noted(outcome))
        key = check.op, check.dtype, check.part
        if outcome.status in ("differs", "error") and key not in shown:
            shown.add(key)
            log.write(script=number, text=script(check, name, request.backend, level, outcome))
        if DeviceLost.__name__ in outcome.message:
            device(name).reopen()
    log.write(end=True)


def script(check: Check, name: str, backend: str, level: Level, outcome: Outcome) -> str:
    """Write the script of a finding; whatever a broken backend does meanwhile gives none."""
    run = outcome.difference.run if outcome.difference else None
    try:
        with np.errstate(all="ignore"):
            return witness(check, name, backend, level, run)
    except Exception:
        return ""


def _identity(name: str) -> dict[str, Any]:
    home = str(Path.home())  # a report is shown to others
    opened, source = device(name), plugins.sources()[name.partition(":")[0]]
    return {
        "device": name,
        "hardware": opened.name,
        "kind": opened.kind,
        "distribution": f"{source.distribution} {source.version}".strip(),
        "details": {k: v.replace(home, "~") for k, v in opened.report().items()},
    }


def noted(outcome: Outcome) -> dict[str, Any]:
    """Give an outcome as an entry's fields, without those that are empty."""
    return {name: value for name, value in asdict(outcome).items() if value}


def _end_with_parent() -> None:
    """End this process when its parent does, however that ends."""
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    """Run the request that the first argument names."""
    faulthandler.enable()
    Thread(target=_end_with_parent, daemon=True).start()
    request = Request.model_validate_json(Path(sys.argv[1]).read_bytes())
    run(request, journal.Writer(request.journal))


if __name__ == "__main__":
    main()
