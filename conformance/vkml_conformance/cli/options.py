"""What the commands share: options, the devices that they mean, a run with progress."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, get_args

import click
from rich.console import Console

from vkml_conformance import session
from vkml_conformance.progress import Progress
from vkml_conformance.schema import Report, Selection
from vkml_conformance.terminal import summary
from vkml_core.backend import Level

UNLOADABLE: Final = 3
Target = tuple[str, int]
"""A backend and the index of one of its devices."""

backend_option: Final = click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME",
    help="An installed backend, or module:attribute of one in development; may be repeated. "
    "Without it every installed backend is meant.",
)
device_option: Final = click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="NAME",
    help="A device such as vulkan:1; may be repeated. Without it the first of each backend.",
)
level_option: Final = click.option(
    "--level", type=click.Choice(get_args(Level)), help="Hold devices to that level."
)
limit_option: Final = click.option(
    "--limit", type=click.FloatRange(0.1), help="Seconds without a sign of life."
)
jobs_option: Final = click.option(
    "--jobs", type=click.IntRange(1), help="Processes at once (default: as many as cores)."
)


def targets(backends: Sequence[str], devices: Sequence[str]) -> list[Target]:
    """Give what is to be checked. Raises BadParameter for a name that nobody offers."""
    known = session.installed()
    named = [(name, 0) for name in backends]
    named += [_device(name) for name in devices]
    for name, _ in named:
        if ":" not in name and name not in known:
            raise click.BadParameter(
                f"no backend is called {name!r}; installed: {', '.join(known) or 'none'}; "
                "one that is not installed is named as module:attribute"
            )
    if not named and not known:
        click.echo("vkml-conformance: no backend is installed: pip install vkml", err=True)
        sys.exit(UNLOADABLE)
    return list(dict.fromkeys(named or [(name, 0) for name in known]))


def _device(name: str) -> Target:
    """Take `vulkan`, `vulkan:1` or `module:attribute:1` apart."""
    backend, _, index = name.rpartition(":")
    if not backend:
        return name, 0
    if not index.isdecimal():
        raise click.BadParameter(f"{name!r} is no device; expected backend or backend:index")
    return backend, int(index)


def check(wanted: Sequence[Target], selection: Selection, **how: Any) -> Report:
    """Run the suite with progress, and print what was found."""
    with Progress(Console(stderr=True)) as progress:
        found = session.run(wanted, selection, told=progress.update, **how)
    summary(found, Console())
    return found
