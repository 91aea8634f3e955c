"""`vkml-conformance run`: check devices, write reports and certificates."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from vkml_conformance import junit, page
from vkml_conformance.account import exit_code
from vkml_conformance.atomic import write_text
from vkml_conformance.certificate import NotCertified, certify
from vkml_conformance.cli.options import (
    backend_option,
    check,
    device_option,
    jobs_option,
    level_option,
    limit_option,
    targets,
)
from vkml_conformance.schema import Report, Selection
from vkml_core.backend import Level
from vkml_core.dtypes import DTYPES


@click.command()
@backend_option
@device_option
@click.option("--ops", multiple=True, metavar="GLOB", help="Operations only, such as 'conv*'.")
@click.option("--family", "families", multiple=True, metavar="GLOB", help="Such as reduce, graph.")
@click.option("--dtype", "dtypes", multiple=True, type=click.Choice([d.name for d in DTYPES]))
@level_option
@click.option("--quick", "mode", flag_value="quick", help="A choice of cases, under a minute.")
@click.option("--thorough", "mode", flag_value="thorough", help="Everything, without a limit.")
@click.option("--cases", type=click.IntRange(1), help="Row cases of an operation, dtype and part.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all values.")
@jobs_option
@limit_option
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write report.html, report.json, junit.xml and the journals there.",
)
@click.option(
    "--certify",
    "certificate",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a certificate if everything passes.",
)
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first difference.")
def run(
    backends: Sequence[str],
    devices: Sequence[str],
    mode: str | None,
    report: Path | None,
    certificate: Path | None,
    exitfirst: bool,
    level: Level | None,
    jobs: int | None,
    limit: float | None,
    **chosen: Any,
) -> None:
    """Check devices and print what was found."""
    found = check(
        targets(backends, devices),
        Selection.model_validate({"mode": mode or "default", **chosen}),
        level=level,
        jobs=jobs,
        limit=limit,
        folder=report,
        stop_at_first=exitfirst,
    )
    if report is not None:
        write(found, report)
    if certificate is not None:
        _certify(found, certificate)
    sys.exit(exit_code(found))


def write(report: Report, folder: Path) -> None:
    """Write the report in every form."""
    write_text(folder / "report.json", report.model_dump_json(indent=1) + "\n")
    junit.write(report, folder / "junit.xml")
    page.write(report, folder / "report.html")
    click.echo(f"Wrote report.html, report.json and junit.xml into {folder}.")


def _certify(report: Report, path: Path) -> None:
    try:
        certify(report, path)
    except NotCertified as error:
        click.echo(f"vkml-conformance: {error}", err=True)
    else:
        click.echo(f"Wrote the certificate {path}.")
