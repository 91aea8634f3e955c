"""Compares a device with the oracle bit for bit, in one table: `python benchmarks/compare.py`.

Every operation with every dtype, forward and gradient, every layout and value domain; then the
digests of whole training runs; with --exhaustive the elementary functions over all 2^32 inputs.
It needs what vkml needs, and nothing else. The exit code is 1 where a bit differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(1, str(Path(__file__).parents[1] / "conformance"))

from vkml_conformance import exhaustive, training
from vkml_conformance.cases import Case, derive
from vkml_conformance.compare import Part, check
from vkml_conformance.report import Tally

import vkml
from tests.oracle.digests import TRAINING
from tests.oracle.training import RUNS
from vkml_backend_cpu.backend import backend as cpu
from vkml_backend_vulkan.backend import backend as vulkan
from vkml_core import plugins

RECORDED: Final = Path(__file__).parents[1] / "tests" / "numerics" / "exhaustive_sha256.json"
VKML: Final[dict[str, Any]] = {"cpu": cpu, "vulkan": vulkan}
SAY_EVERY: Final = 10.0
"""Seconds between lines about the progress."""


def find(device: str) -> str:
    """Register vkml's own backends where it runs without being installed; give the name."""
    known = {status.source.name for status in plugins.survey()}
    for name, backend in VKML.items():
        if name not in known:
            plugins.register_backend(backend)
    return plugins.canonical(device)


def heading(device: str) -> str:
    """Tell what is compared with what, when and where."""
    opened = vkml.device(device)
    lines = {
        "device": f"{device}: {opened.name} ({opened.kind})",
        **opened.report(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": f"vkml {vkml.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores",
    }
    return "\n".join(f"{name:<15} {value}" for name, value in lines.items())


def interleaved() -> Iterator[Case]:
    """Give the first case of every row and dtype, then the second of each, and so on."""
    rows = [list(cases) for _, cases in groupby(derive(), lambda case: (case.spec, case.dtype))]
    for turn in zip_longest(*rows):
        yield from (case for case in turn if case is not None)


def parts(case: Case) -> tuple[Part, ...]:
    """List what there is to compare of a case."""
    return ("forward", "gradient") if case.differentiable else ("forward",)


def compare_rows(device: str, seconds: float | None) -> bool:
    """Print the table of all rows; give whether all cases agree."""
    level = vkml.device(device).capabilities().level
    start = said = time.monotonic()
    tally, cases = Tally(), list(derive() if seconds is None else interleaved())
    for done, case in enumerate(cases):
        now = time.monotonic()
        if seconds is not None and now - start > seconds:
            print(f"stopped after {seconds:.0f} s, {done:,} of {len(cases):,} cases")
            break
        if now - said > SAY_EVERY:
            said = now
            print(f"{done:,} of {len(cases):,} cases", file=sys.stderr, flush=True)
        for part in parts(case):
            tally.add(check(case, part, device, level))
    print(tally.table())
    for line in tally.first_differences():
        print(line)
    return tally.differing == 0


def sha256_of(run: Callable[[], bytes]) -> str:
    """Digest what a run ends in."""
    return hashlib.sha256(run()).hexdigest()


def compare_training(device: str) -> bool:
    """Print the digests of the training runs; give whether all are the recorded ones."""
    os.environ["VKML_DEVICE"] = device
    runs: dict[str, tuple[Callable[[], str], str]] = {
        f"oracle's {name}": (partial(sha256_of, run), TRAINING[name]) for name, run in RUNS.items()
    }
    for name, want in training.DIGESTS.items():
        title = f"{name}, {training.STEPS} steps"
        runs[title] = (partial(training.digest, name, device), want)
    agree = True
    for title, (run, want) in runs.items():
        start, got = time.monotonic(), run()
        agree &= got == want
        verdict = "equal" if got == want else f"DIFFERS, want {want}"
        print(f"{title:<15} {got}  {verdict}  ({time.monotonic() - start:.1f} s)", flush=True)
    return agree


def compare_exhaustively(device: str, names: list[str]) -> bool:
    """Print the digests over all inputs; give whether all are the oracle's."""
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())["all inputs"]
    start = time.monotonic()

    def progress(block: int) -> None:
        if block % 16 == 15:
            took = time.monotonic() - start
            print(f"{block + 1}/{exhaustive.BLOCKS}, {took:.0f} s", file=sys.stderr, flush=True)

    names = names or sorted(recorded)
    found = exhaustive.run(names, device, progress=progress)
    took = (time.monotonic() - start) / len(names)
    agree = True
    for name, digests in found.items():
        got = exhaustive.combine(digests)
        agree &= got == recorded[name]
        verdict = "equal" if got == recorded[name] else f"DIFFERS, want {recorded[name]}"
        print(f"{name:<15} {got}  {verdict}")
    print(f"2^32 inputs of each of {len(names)} functions, {took:.1f} s a function")
    return agree


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="vulkan", help="what to compare (default: vulkan)")
    parser.add_argument("--seconds", type=float, help="stop the table of cases after that time")
    parser.add_argument(
        "--exhaustive", nargs="*", metavar="NAME", help="functions over all inputs (default: all)"
    )
    arguments = parser.parse_args()
    device = find(arguments.device)
    print(heading(device), end="\n\n", flush=True)
    agree = compare_rows(device, arguments.seconds)
    print()
    agree &= compare_training(device)
    if arguments.exhaustive is not None:
        print()
        agree &= compare_exhaustively(device, arguments.exhaustive)
    print("\nEvery bit compared is the oracle's." if agree else "\nThere are differences.")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
