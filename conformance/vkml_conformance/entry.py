"""The console script: says what to install where the command's own packages are missing."""

from __future__ import annotations

import sys
from typing import Final

EXTRA: Final = ("click", "rich")
"""What the extra `conformance` brings; the suite itself needs none of it."""


def main() -> None:
    """Run `vkml-conformance`; without its packages say so and exit with 2."""
    try:
        from vkml_conformance.cli.main import main as command
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRA:
            raise
        said = f"vkml-conformance: needs {package}: pip install 'vkml[conformance]'"
        print(said, file=sys.stderr)
        sys.exit(2)
    command(prog_name="vkml-conformance")
