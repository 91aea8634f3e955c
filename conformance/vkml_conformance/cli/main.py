"""The command `vkml-conformance`: its group, and how errors become messages."""

from __future__ import annotations

from typing import Any, Final

import click

from vkml_conformance.cli.new import new_backend
from vkml_conformance.cli.others import bisect, functions, list_, reproduce, verify
from vkml_conformance.cli.run import run
from vkml_core.errors import Error

USAGE: Final = 2


class Commands(click.Group):
    """Turns vkml's errors into messages with the exit code of wrong usage."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Error as error:
            click.echo(f"vkml-conformance: {error}", err=True)
            ctx.exit(USAGE)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="vkml")
def main() -> None:
    """Prove a vkml backend: every operation, bit for bit, against the CPU oracle.

    Exit codes: 0 all pass, 1 differences, 2 wrong usage, 3 a backend could not load, 4 crashed or
    timed out.
    """


for _command in (run, reproduce, bisect, verify, functions, list_, new_backend):
    main.add_command(_command)
