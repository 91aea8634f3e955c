"""What `vkml doctor` and `vkml devices` print. Every backend is tried in a process of its own, so
that one that crashes or hangs is told like any other, and the others are shown.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Generator, Iterator, Mapping
from typing import Final

from vkml_core.backend import API_VERSION
from vkml_core.choice import CPU, choose
from vkml_core.discovery import GROUP, Failure, Source
from vkml_core.names import fault, join, split
from vkml_core.plugins import DEVICES, sources
from vkml_core.settings import excluded, settings
from vkml_core.trials.running import Trials
from vkml_core.trials.stages import go
from vkml_core.trials.trial import LIMIT, OPENING, Reach, Trial

PACKAGES: Final = (
    "vkml",
    "numpy",
    "pluggy",
    "pydantic",
    "importlib-metadata",
    "safetensors",
    "vulkan",  # the binding, an extra
)
VARIABLES: Final = ("VKML_", "VK_")
"""How the environment variables begin that vkml and the Vulkan loader heed."""
PATIENCE: Final = 3.0
"""After so many seconds it is told what is waited for."""
Answer = Generator[str, None, int]
"""The lines of an answer, and in the end the exit status: 0 where at least one device works."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that both commands have."""
    parser.add_argument(
        "--limit",
        type=_seconds,
        default=LIMIT,
        metavar="SECONDS",
        help=f"how long an import or a probe may take ({LIMIT:g}); to open a device, {OPENING} "
        "times as long",
    )


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise ValueError(text)
    return value


def doctor(options: argparse.Namespace) -> Answer:
    """Print what decides which devices work, and what to do about those that do not."""
    found: dict[str, Trial] = {}
    with _trials("all", options.limit) as trials:
        yield from ("Python and packages", *_environment(), "")
        yield f"Backends: entry points of {GROUP}, backend API {'.'.join(map(str, API_VERSION))}"
        for source in DEVICES.ordered():
            found[source.name] = yield from _result(source, trials, "all", options.limit)
            yield from _backend(source, found[source.name])
    yield from ("", "Devices")
    for trial in found.values():
        for name in trial.devices:
            yield from _device(name, trial)
    for failure in DEVICES.backends.unreadable():
        yield from ("", f"{failure.name}: {failure.distribution}", *_explain(failure))
    yield from (
        "",
        f"Default device: {_default(found)}",
        f"Best device: {_best(found, 'above')[1]}",
    )
    if not _works(found):
        yield "No device works: do what stands after 'cure', then run vkml doctor again."
    return 0 if _works(found) else 1


def devices(options: argparse.Namespace) -> Answer:
    """List the devices that can be named, what is unavailable, and the best device and why."""
    found: dict[str, Trial] = {}
    for reach in ("hardware", "all"):
        if not _works(found):  # software is met only where nothing else works: it takes seconds
            found = yield from _results(reach, options.limit)
    best, reason = _best(found, "by `vkml doctor`")
    for name, trial in found.items():
        for device, info in trial.devices.items():
            if device not in trial.failures:
                mark = "*" if device == best else " "
                yield f"{mark} {device:<12} {info.kind:<15} {info.name}"
        for failed, failure in trial.failures.items():
            yield f"  {failed or name:<12} {'unavailable':<15} {failure.error}"
    yield f"* best: {reason}"
    return 0 if _works(found) else 1


def _trials(reach: Reach, limit: float) -> Trials:
    """Begin to try what may crash or hang; the rest is tried in this process, meanwhile."""
    return Trials(DEVICES.strangers(), reach, limit)


def _results(reach: Reach, limit: float) -> Generator[str, None, dict[str, Trial]]:
    found = {}
    with _trials(reach, limit) as trials:
        for source in DEVICES.ordered():
            found[source.name] = yield from _result(source, trials, reach, limit)
    return found


def _result(
    source: Source, trials: Trials, reach: Reach, limit: float
) -> Generator[str, None, Trial]:
    """Wait for a trial, and say so where it takes long."""
    if source.name not in trials:
        trial = Trial()
        go(DEVICES, source, trial, reach, lambda _: None)
        return trial
    try:
        return trials.of(source.name, PATIENCE)
    except TimeoutError:
        yield (
            f"  {source.name:<12} waiting: its import and its probe have {limit:g} s each, opening "
            f"a device {OPENING * limit:g} s (a driver that is new is tested)"
        )
        return trials.of(source.name)


def _environment() -> Iterator[str]:
    yield f"  Python {platform.python_version()} ({sys.executable}), {platform.platform()}"
    try:
        import importlib_metadata
    except ImportError as error:  # what reads the versions is broken itself
        yield f"  importlib-metadata does not import: {error}"
        yield "  mend it: pip install --force-reinstall importlib-metadata"
        return
    for package in PACKAGES:
        try:
            yield f"  {package} {importlib_metadata.version(package)}"
        except importlib_metadata.PackageNotFoundError:
            yield f"  {package} is not installed as a distribution"
    for name in sorted(n for n in os.environ if n.startswith(VARIABLES)):
        yield f"  {name}={os.environ[name]}"


def _backend(source: Source, trial: Trial) -> Iterator[str]:
    failure = trial.failures.get(source.name) if not trial.devices else None
    reached = f"stopped at {failure.stage}" if failure else f"works, devices: {len(trial.devices)}"
    left = ", left out by VKML_EXCLUDE" if source.name in excluded() else ""
    origin = f"{source.distribution} {source.version}"
    yield f"  {source.name:<12} {origin:<30} {reached}{left}"
    if failure:
        yield from _explain(failure)


def _explain(failure: Failure) -> Iterator[str]:
    yield f"    failed at {failure.stage}: {failure.error}"
    yield f"    cure: {failure.advice}"


def _device(name: str, trial: Trial) -> Iterator[str]:
    if name in trial.failures:
        yield f"  {name:<12} could not be opened"
        yield from _explain(trial.failures[name])
        return
    device = trial.opened[name]
    yield f"  {name:<12} {device.kind:<15} {device.name}, level {device.level}"
    yield from (f"    {line}" for line in device.report)


def _default(found: Mapping[str, Trial]) -> str:
    """Say which device is used where none is named, or why there is none."""
    asked = settings().device
    if asked is None:
        return CPU
    wrong = fault(asked, sources())
    if not wrong:
        name, trial = join(*split(asked)), found[split(asked)[0]]
        if name in trial.opened:
            return name
        failure = trial.failures.get(name) or trial.failures.get(split(asked)[0])
        listed = ", ".join(trial.devices)
        wrong = str(failure) if failure else f"there is no {name}, but {listed}"
    return f"none: VKML_DEVICE={asked}: {wrong}; unset VKML_DEVICE, or name a device from above"


def _best(found: Mapping[str, Trial], told: str) -> tuple[str, str]:
    """Choose as `best_device()` does, by what the trials found; the cures are told elsewhere."""
    asked = [trial for name, trial in found.items() if name not in excluded()]
    opened = {name: device.found for trial in asked for name, device in trial.opened.items()}
    offered = {name: info for trial in asked for name, info in trial.devices.items()}
    failed = [name for trial in asked for name in trial.failures]
    failed += [failure.name for failure in DEVICES.backends.unreadable()]
    blame = f"; what failed ({', '.join(failed)}) is explained {told}" if failed else ""
    return choose(offered, opened.get, lambda: blame)


def _works(found: Mapping[str, Trial]) -> bool:
    return any(trial.opened for trial in found.values())
