"""The command `vkml`: `doctor` says what works and what to mend, `devices` lists devices,
`attribute` says where the time of a script goes.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

from vkml.doctor import Answer, add_options, devices, doctor
from vkml_core.errors import ArgumentError
from vkml_core.settings import settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    parser = argparse.ArgumentParser(prog="vkml", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        added = commands.add_parser(name, help=command.__doc__, description=command.__doc__)
        added.set_defaults(command=command)
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
    try:
        return _print(chosen(options))
    except BrokenPipeError:  # who reads has seen enough, as in `vkml doctor | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130  # as shells say it: 128 + SIGINT


def _print(answer: Answer) -> int:
    """Print the lines as they come; give the exit status."""
    with closing(answer):
        while True:
            try:
                print(next(answer), flush=True)
            except StopIteration as end:
                status: int = end.value
                return status


def attribute(options: argparse.Namespace) -> Answer:
    """Run a script and say where its time went: phases of the host, kernels of the devices."""
    from vkml.attribution import script

    yield from script.attribute(options)
    return 0


def _attribute_options(parser: argparse.ArgumentParser) -> None:
    from vkml.attribution import script

    script.add_options(parser)


Command = Callable[[argparse.Namespace], Answer]
COMMANDS: Final[dict[str, Command]] = {
    "doctor": doctor,
    "devices": devices,
    "attribute": attribute,
}
OPTIONS: Final[dict[str, Callable[[argparse.ArgumentParser], None]]] = {
    "doctor": add_options,
    "devices": add_options,
    "attribute": _attribute_options,
}
"""What adds the options of each command."""


if __name__ == "__main__":
    sys.exit(main())
