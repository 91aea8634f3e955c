"""The command `vkml`: `doctor` says what works and what to mend, `devices` lists devices,
`attribute` says where the time of a script goes.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from vkml_core.backend import API_VERSION
from vkml_core.discovery import GROUP, Failure, Refused, guard
from vkml_core.errors import ArgumentError, DeviceError
from vkml_core.plugins import (
    BackendStatus,
    best_device,
    default_device,
    failures,
    open_device,
    survey,
)
from vkml_core.settings import settings

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status: 0 where at least one device works."""
    parser = argparse.ArgumentParser(prog="vkml", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        added = commands.add_parser(name, help=command.__doc__, description=command.__doc__)
        added.set_defaults(command=command)
        if name in OPTIONS:
            OPTIONS[name](added)
    options = parser.parse_args(arguments)
    chosen: Command = options.command
    logging.getLogger("vkml").addHandler(logging.NullHandler())  # what it logs is printed below
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a plug-in may say anything
    try:
        settings()
    except ArgumentError as error:
        print(error)
        return 1
    for line in chosen(options):
        print(line)
    return 0 if _works() else 1


def doctor(options: argparse.Namespace | None = None) -> Iterator[str]:
    """Print what decides which devices work, and what to do about those that do not."""
    statuses = survey()
    yield from ("Python and packages", *_environment(), "")
    yield f"Backends: entry points of {GROUP}, backend API {'.'.join(map(str, API_VERSION))}"
    for status in statuses:
        yield from _backend(status)
    yield from ("", "Devices")
    for status in statuses:
        for name in status.devices:
            yield from _device(name)
    shown = [status.failure for status in statuses]
    for failure in failures():
        if failure not in shown:
            yield from ("", f"{failure.name}: {failure.distribution}", *_explain(failure))
    yield from ("", *_choice())
    if not _works():
        yield "No device works: do what stands after 'cure', then run vkml doctor again."


def devices(options: argparse.Namespace | None = None) -> Iterator[str]:
    """List the devices that can be named, what is unavailable, and the best device and why."""
    best, reason = best_device()
    for status in survey():
        for name, info in status.devices.items():
            mark = "*" if name == best else " "
            yield f"{mark} {name:<12} {info.kind:<15} {info.name}"
        if status.failure:
            yield f"  {status.source.name:<12} {'unavailable':<15} {status.failure.error}"
    yield f"* best: {reason}"


def attribute(options: argparse.Namespace) -> Iterator[str]:
    """Run a script and say where its time went: phases of the host, kernels of the devices."""
    from vkml.attribution import script

    return script.attribute(options)


def _attribute_options(parser: argparse.ArgumentParser) -> None:
    from vkml.attribution import script

    script.add_options(parser)


Command = Callable[[argparse.Namespace], Iterator[str]]
COMMANDS: Final[dict[str, Command]] = {
    "doctor": doctor,
    "devices": devices,
    "attribute": attribute,
}
OPTIONS: Final[dict[str, Callable[[argparse.ArgumentParser], None]]] = {
    "attribute": _attribute_options
}
"""What adds the options of commands that have some."""


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


def _backend(status: BackendStatus) -> Iterator[str]:
    source, failure = status.source, status.failure
    reached = f"stopped at {failure.stage}" if failure else f"works, devices: {len(status.devices)}"
    yield f"  {source.name:<12} {f'{source.distribution} {source.version}':<30} {reached}"
    if failure:
        yield from _explain(failure)


def _explain(failure: Failure) -> Iterator[str]:
    yield f"    failed at {failure.stage}: {failure.error}"
    yield f"    cure: {failure.advice}"


def _device(name: str) -> Iterator[str]:
    try:
        device = open_device(name)
    except DeviceError:
        yield f"  {name:<12} could not be opened, see below"
        return
    yield f"  {name:<12} {device.kind:<15} {device.name}, level {device.capabilities().level}"
    try:
        yield from guard("open", lambda: [f"    {k}: {v}" for k, v in device.report().items()])
    except Refused as refused:
        yield f"    report() failed: {refused.error}"


def _choice() -> Iterator[str]:
    try:
        yield f"Default device: {default_device()}"
    except DeviceError as error:
        yield f"Default device: {error}"
    yield f"Best device: {best_device()[1]}"


def _works() -> bool:
    """Whether a device opens. `cpu` is tried first: to meet a new driver takes seconds."""
    return any(_opens(name) for status in survey() for name in status.devices)


def _opens(name: str) -> bool:
    try:
        open_device(name)
    except DeviceError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
