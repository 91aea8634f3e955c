"""Runs a script on two devices in step, and finds the first operation whose bits differ."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Final

from vkml_conformance.narrow import Found, Graph, narrow
from vkml_conformance.program_json import from_json
from vkml_conformance.trace import ON, PROGRAM
from vkml_conformance.traced import BisectError, Event, Traced

__all__ = ["BisectError", "Found", "bisect"]


def bisect(
    script: str | Path, devices: tuple[str, str], arguments: Sequence[str] = ()
) -> Found | None:
    """Find the first operation of a script whose bits differ between two devices.

    A device is a name, `vulkan:1`, or `module:attribute` for a backend that is not installed. The
    script has to take its device from `VKML_DEVICE`, as tensors that name none do. None: there is
    no difference. Raises BisectError where the runs cannot be compared.
    """
    path = Path(script)
    if not path.is_file():
        raise BisectError(f"bisect: there is no file {path}; give the path of a Python script")
    with ExitStack() as stack:
        runs = [stack.enter_context(Traced(path, d, arguments)) for d in devices]
        if (parted := _part(runs, path.name)) is None:
            return None
        runs[0].answer(PROGRAM)
        given = runs[0].event()
    graph = Graph(*parted, from_json(given["program"]), given["lines"])
    return narrow(devices, graph)


def _part(runs: Sequence[Traced], script: str) -> tuple[int, str] | None:
    """Go on in step until results differ: gives the graph's number and line; None at the end."""
    own = False
    for number in count(1):
        a, b = (run.event() for run in runs)
        _check_alive(runs, (a, b), script)
        if a["event"] == "end":
            break
        own = own or (a["own"] and b["own"])
        _check_alike(runs, a, b, number, script)
        if a["results"] != b["results"]:
            return number, a["line"]
        for run in runs:
            run.answer(ON)
    if not own:
        raise BisectError(_NAMES_DEVICES.format(script=script))
    return None


_NAMES_DEVICES: Final = (
    "{script} computes nothing on the device that it is given: it names devices itself, or there "
    "is nothing to compute; leave device= out, or read it from the environment variable VKML_DEVICE"
)


def _check_alive(runs: Sequence[Traced], events: Sequence[Event], script: str) -> None:
    """Raise where a device cannot be used, or the script fails or ends on one device alone."""
    for run, event in zip(runs, events, strict=True):
        if event["event"] == "no device":
            raise BisectError(f"{run.device}: {event['text']}")
    failed = [(r, e) for r, e in zip(runs, events, strict=True) if e["event"] == "failed"]
    if failed:
        where = " and ".join(run.device for run, _ in failed)
        raise BisectError(
            f"{script} fails on {where}, all results until then are equal: {failed[0][1]['text']}"
        )
    kinds = [event["event"] for event in events]
    if kinds[0] != kinds[1]:
        ended = runs[kinds.index("end")].device
        raise BisectError(f"{script} ends earlier on {ended}: {_OTHER_WAY}")


_OTHER_WAY: Final = (
    "all results until then are equal, so it takes another way for another reason than numbers: "
    "let it not depend on the device, the time or unseeded random numbers"
)


def _check_alike(runs: Sequence[Traced], a: Event, b: Event, number: int, script: str) -> None:
    """Raise where two events are not of the same graph with the same inputs."""
    if (a["own"], b["own"]) != (True, True) and a["device"] != b["device"]:
        raise BisectError(
            f"{script}: graph {number} runs on {a['device']} and on {b['device']}, asked for were "
            f"{runs[0].device} and {runs[1].device}: it names devices itself at {a['line']}; "
            "leave device= out, or read it from the environment variable VKML_DEVICE"
        )
    if a["structure"] != b["structure"]:
        raise BisectError(
            f"{script}: graph {number} is not the same on both devices (computed at {a['line']} "
            f"and {b['line']}): {_OTHER_WAY}"
        )
    if a["inputs"] != b["inputs"]:
        raise BisectError(
            f"{script}: graph {number}, computed at {a['line']}, gets other numbers in each run, "
            "though all results until then are equal: give random generators a seed, and let "
            "nothing depend on time"
        )
