"""The process of a trial: `python -m vkml_core.trials REQUEST`.

Prints the trial as a line of JSON before each stage and at the end. It limits its own time, so that
it ends also where nobody waits for it any more, and says in which line it was.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from typing import IO, Any

from vkml_core.backends import Backends
from vkml_core.discovery import Source, loader
from vkml_core.plugins import Devices
from vkml_core.trials.request import Request
from vkml_core.trials.stages import go
from vkml_core.trials.trial import Trial, seconds


def main() -> None:
    """Answer on standard output; what plug-ins and drivers print goes to standard error."""
    request = Request.from_json(sys.argv[1])
    out = os.dup(1)
    os.dup2(2, 1)
    faulthandler.enable()
    with os.fdopen(out, "w", encoding="ascii") as stream:
        _run(request, stream)
    faulthandler.cancel_dump_traceback_later()
    sys.stderr.flush()
    os._exit(0)  # a library that crashes while it is unloaded has worked until then


def _run(request: Request, stream: IO[str]) -> None:
    trial = request.trial

    def tell(trial: Trial) -> None:
        print(trial.to_json(), file=stream, flush=True)
        limit = seconds(trial.stage, request.limit)
        faulthandler.dump_traceback_later(limit, exit=True)

    def load() -> Any:
        trial.stage = "load"
        tell(trial)
        backend = loader(request.name, request.target)()
        trial.stage = "probe"
        tell(trial)
        return backend

    source = Source(request.name, request.distribution, request.version, load, request.target)
    devices = Devices(Backends(lambda: ([source], [])))
    go(devices, source, trial, request.reach, tell)


if __name__ == "__main__":
    main()
