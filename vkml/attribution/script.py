"""The command `vkml attribute SCRIPT`: run a script and say where its time went."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vkml.attribution.capturing import Capture
from vkml.attribution.report import Report

FAILED = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; everything after the script is the script's."""
    parser.add_argument("--rounds", type=int, default=1, help="run the script so often")
    parser.add_argument("--limit", type=int, default=12, help="kernels in the table (12)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write a trace for Perfetto")
    parser.add_argument("--png", type=Path, metavar="FILE", help="draw bars; needs matplotlib")
    parser.add_argument("script", type=Path, metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS")


def attribute(options: argparse.Namespace) -> Iterator[str]:
    """Run a script and say where its time went: phases of the host, kernels of the devices."""
    if options.rounds < 1:
        yield f"attribute: --rounds: expected a whole number from 1, got {options.rounds}"
        raise SystemExit(2)
    if not options.script.is_file():
        yield f"attribute: there is no script {options.script}"
        raise SystemExit(2)
    report = _run(options)
    yield from ("", report.table(options.limit), "", report.text())
    if options.json:
        options.json.write_text(json.dumps(report.json(), indent=2) + "\n", encoding="utf-8")
    if options.trace:
        report.chrome_trace(options.trace)
    if options.png:
        report.png(options.png)


def _run(options: argparse.Namespace) -> Report:
    """Run the script as Python would. A failure ends the command as it would end the script."""
    captured = Capture()
    with _arguments(options.script, options.arguments):
        try:
            with captured:
                for _ in captured.rounds(options.rounds):
                    _once(options.script)
        except Exception:
            traceback.print_exc()
            raise SystemExit(FAILED) from None
    return captured.report()


def _once(script: Path) -> None:
    """Run the script; that it exits with status 0 is no failure."""
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise


@contextmanager
def _arguments(script: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Let the script find its arguments, and the modules beside it."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before
