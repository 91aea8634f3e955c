"""`vkml-conformance new-backend`: a project to start from."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from vkml_conformance.new_backend import create
from vkml_core import plugins


@click.command("new-backend")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", required=True, metavar="NAME", help="What devices will be called.")
def new_backend(folder: Path, name: str) -> None:
    """Write a complete backend called NAME into the new folder DIR: a start that passes."""
    if (taken := plugins.sources().get(name)) is not None:
        raise click.BadParameter(
            f"{name!r} is the name of a backend that is installed ({taken.distribution}); "
            "two of one name would both be refused",
            param_hint="--name",
        )
    for file in create(folder, name):
        click.echo(f"  {folder / file}")
    click.echo(
        f"\nNow: pip install -e {shlex.quote(str(folder))}\n"
        f"     vkml-conformance run --backend {name}\n"
        "docs/authoring-a-backend.md tells how it goes on."
    )
