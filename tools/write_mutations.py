"""Writes docs/mutations.md: the suite against every broken backend, by default and quickly.

`python tools/write_mutations.py` runs each one twice with `-x` and writes the page, which takes
about half an hour on two cores. With names, as in `… fused nan`, it runs those and prints the
table alone. Names and what each stands for are in tests/conformance/mutants/catalogue.py.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "conformance"))
sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))

from vkml_conformance.account import EXIT, Counts
from vkml_conformance.schema import DeviceReport, Finding, Report

PAGE: Final = Path(__file__).parents[1] / "docs" / "mutations.md"
LIMIT: Final = 1200
"""Seconds that one run may take at most; a correct backend is run to the end."""
HEADER: Final = (
    "backend",
    "what it stands for",
    "caught by",
    "run",
    "guessed cause",
    "seconds",
    "`--quick`",
)
HEAD: Final = """\
# Mutations

Written by `tools/write_mutations.py`; do not edit.

Backends that are broken on purpose, in `tests/conformance/mutants/`, each as a real one goes wrong,
and the check of `vkml-conformance run` that catches each. Every backend was given to the suite
twice with `-x` (stop at the first difference): by default and with `--quick`. Seconds are of the
whole command, start and report included. The correct ones at the end must raise no alarm; they
are run to the end.
"""


@dataclass(frozen=True)
class Ran:
    """What one run of the command gave."""

    code: int
    seconds: float
    device: DeviceReport
    machine: str

    @property
    def first(self) -> Finding | None:
        """The first check that is not passed."""
        return next(iter(self.device.findings), None)


def catalogue() -> Mapping[str, Any]:
    """Give the broken backends by name."""
    found: Mapping[str, Any] = importlib.import_module("mutants.catalogue").MUTANTS
    return found


def run(backend: str, *options: str) -> Ran:
    """Run the command on a backend, in a process of its own as a user does."""
    path = os.pathsep.join(filter(None, sys.path))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "vkml_conformance.cli", "run", "-x"]
        begin = time.monotonic()
        done = subprocess.run(
            [*command, "--backend", backend, "--report", folder, *options],
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
        )
        seconds = time.monotonic() - begin
        file = Path(folder) / "report.json"
        if not file.exists():
            raise SystemExit(f"{backend}: no report, status {done.returncode}: {done.stderr}")
        report = Report.model_validate_json(file.read_text())
    machine = f"{report.machine.processor}, {report.machine.cores} cores"
    return Ran(done.returncode, seconds, report.devices[0], machine)


def is_caught(ran: Ran, mutant: Any) -> bool:
    """Whether verdict and exit code are those that the backend must get."""
    return ran.device.verdict == mutant.verdict and ran.code == EXIT[ran.device.verdict]


def row(name: str, mutant: Any, full: Ran, quick: Ran) -> tuple[str, ...]:
    """Give the cells of a backend."""
    first = full.first
    place = first.place if first else None
    told = is_caught(quick, mutant)
    return (
        f"`{name}`",
        mutant.about,
        caught_by(full, mutant),
        place.run if place else "",
        place.cause.removeprefix("looks like: ") if place else "",
        f"{full.seconds:.1f}",
        f"{'yes' if told else '**no**'}, {quick.seconds:.1f} s",
    )


def caught_by(ran: Ran, mutant: Any) -> str:
    """Give the check that a backend does not pass, or how else it ended."""
    counts = Counts.of(ran.device.lines)
    if not is_caught(ran, mutant):
        return f"**{ran.device.verdict}, exit code {ran.code}**"
    if ran.device.verdict == "passed":
        apart = ", ".join(f"{n:,} {state}" for state, n in counts.apart().items())
        return f"no alarm: {counts.equal:,} checks equal" + (f", {apart}" if apart else "")
    if ran.first is None:
        return f"{ran.device.verdict}, exit code {ran.code}"
    more = "" if ran.device.verdict == "differs" else f" ({ran.device.verdict})"
    return f"`{ran.first.id}`{more}"


def table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Give the lines of the table."""
    yield "| " + " | ".join(HEADER) + " |"
    yield "|---" * 5 + "|--:|---|"
    for cells in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def summary(results: Mapping[str, tuple[Ran, Ran]], mutants: Mapping[str, Any]) -> str:
    """Count what was caught, and say on which machine."""
    wrong = [name for name in results if mutants[name].verdict != "passed"]
    counts = [sum(is_caught(results[n][i], mutants[n]) for n in wrong) for i in (0, 1)]
    right = [name for name in results if name not in wrong]
    quiet = sum(all(is_caught(ran, mutants[n]) for ran in results[n]) for n in right)
    machine = next(iter(results.values()))[0].machine
    return (
        f"The default run catches {counts[0]} of {len(wrong)} backends that are wrong or cannot "
        f"be used, `--quick` catches {counts[1]}; {quiet} of {len(right)} correct ones raise no "
        f"alarm. Measured on {machine}."
    )


def measure(names: Sequence[str]) -> Iterator[tuple[str, Ran, Ran]]:
    """Run each backend by default and quickly, telling what comes out."""
    mutants = catalogue()
    for name in names:
        full, quick = run(mutants[name].backend), run(mutants[name].backend, "--quick")
        print(" | ".join(row(name, mutants[name], full, quick)), flush=True)
        yield name, full, quick


def main() -> None:
    """Measure all and write the page, or measure those that are named."""
    mutants = catalogue()
    unknown = sorted(set(sys.argv[1:]) - set(mutants))
    if unknown:
        raise SystemExit(
            f"no broken backend is called {unknown[0]!r}; there are {', '.join(mutants)}"
        )
    results = {name: (full, quick) for name, full, quick in measure(sys.argv[1:] or [*mutants])}
    rows = [row(name, mutants[name], *rans) for name, rans in results.items()]
    page = "\n".join([HEAD, summary(results, mutants), "", *table(rows), ""])
    if sys.argv[1:]:
        print(page)
    else:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
