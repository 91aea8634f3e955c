"""The other commands: list, reproduce, bisect, verify, functions."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from vkml_conformance import bisect as search
from vkml_conformance import exhaustive, suite, terminal
from vkml_conformance.account import exit_code
from vkml_conformance.certificate import load
from vkml_conformance.changes import compare
from vkml_conformance.cli.options import (
    Target,
    backend_option,
    check,
    device_option,
    jobs_option,
    level_option,
    limit_option,
    targets,
)
from vkml_conformance.held import Held
from vkml_conformance.schema import Selection
from vkml_core import plugins
from vkml_core.backend import Level


@click.command("list")
@click.option("--quick", "mode", flag_value="quick")
@click.option("--thorough", "mode", flag_value="thorough")
@click.option("--ops", multiple=True, metavar="GLOB", help="Operations only, such as 'conv*'.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def list_(mode: str | None, ops: Sequence[str], seed: int) -> None:
    """Print the ids of all checks, in the order in which they run."""
    chosen = {"mode": mode or "default", "ops": ops, "seed": seed}
    for bundle in suite.bundles(Selection.model_validate(chosen)):
        for each in bundle:
            click.echo(each.id)


@click.command()
@click.argument("identity", metavar="ID")
@backend_option
@device_option
@level_option
@limit_option
def reproduce(
    identity: str,
    backends: Sequence[str],
    devices: Sequence[str],
    level: Level | None,
    limit: float | None,
) -> None:
    """Run the check of an ID alone; print a script that shows the same without the suite."""
    suite.find(identity)
    selection = Selection(mode="thorough", only=identity)
    found = check(targets(backends, devices), selection, level=level, limit=limit, jobs=1)
    for finding in (f for device in found.devices for f in device.findings):
        if finding.script:
            click.echo(f"\n{finding.script}")
    sys.exit(exit_code(found))


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("script", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--device",
    "devices",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Twice: the device to believe, then the one to judge.",
)
def bisect(script: Path, arguments: Sequence[str], devices: Sequence[str]) -> None:
    """Run a SCRIPT on two devices and name the first operation whose bits differ."""
    if len(devices) != 2:
        raise click.BadParameter(f"--device: expected two, got {len(devices)}")
    found = search.bisect(script, (devices[0], devices[1]), list(arguments))
    click.echo(found or f"No bit differs between {devices[0]} and {devices[1]}.")
    sys.exit(int(found is not None))


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@jobs_option
@limit_option
def verify(file: Path, jobs: int | None, limit: float | None) -> None:
    """Run the selection of a certificate again, here, and say what changed."""
    certificate = load(file)
    wanted = [_target(held) for held in certificate.devices]
    found = check(wanted, certificate.selection, jobs=jobs, limit=limit)
    changes = compare(certificate, found)
    terminal.changes(changes, Console())
    broken = any(change.failure for change in changes)
    sys.exit(exit_code(found) or int(broken))


def _target(held: Held) -> Target:
    index = held.device.rpartition(":")[2]
    return held.backend, int(index) if index.isdecimal() else 0


@click.command()
@click.argument("names", nargs=-1)
@click.option("--device", default="vulkan", show_default=True, metavar="NAME")
def functions(names: Sequence[str], device: str) -> None:
    """Compare correctly rounded functions (NAMES, or all) over all 2^32 inputs with the record."""
    recorded = exhaustive.recorded()["all inputs"]
    if unknown := sorted(set(names) - recorded.keys()):
        raise click.BadParameter(f"{', '.join(unknown)}; expected some of {', '.join(recorded)}")
    start, asked = time.monotonic(), list(names) or sorted(recorded)

    def progress(block: int) -> None:
        if block % 16 == 15:
            took = time.monotonic() - start
            click.echo(f"{block + 1}/{exhaustive.BLOCKS} blocks, {took:.0f} s", err=True)

    found = exhaustive.run(asked, plugins.canonical(device), progress=progress)
    digests = {name: exhaustive.combine(blocks) for name, blocks in found.items()}
    for name, digest in digests.items():
        verdict = "equal" if digest == recorded[name] else f"DIFFERS, want {recorded[name]}"
        click.echo(f"{name:<15} {digest}  {verdict}")
    click.echo(f"2^32 inputs of each, {(time.monotonic() - start) / len(asked):.1f} s a function")
    sys.exit(int(any(digest != recorded[name] for name, digest in digests.items())))
