"""Writes the digests of the oracle's results that the suite is shipped with.

    python tools/write_recorded.py

It runs every mode with seed 0 on the CPU backend. Nobody edits the file; a change of it in a commit
means that results of the contract, or the cases that are compared, have changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, get_args

from vkml_conformance import session
from vkml_conformance.schema import Report, Selection

FILE: Final = Path(session.__file__).with_name("recorded.json")
MODES: Final = get_args(Selection.model_fields["mode"].annotation)


def digests(report: Report) -> dict[str, str]:
    """Give the digest of every line of a report in which all was run and nothing differs."""
    (device,) = report.devices
    lines = [line for line in device.lines if not line.differing]
    assert len(lines) == len(device.lines), "the oracle does not agree with itself"
    return {f"{line.op}/{line.dtype}/{line.part}": line.digest for line in lines}


def main() -> None:
    """Write the file."""
    recorded = {}
    FILE.write_text("{}\n")
    for mode in MODES:
        report = session.run([("cpu", 0)], Selection(mode=mode))
        recorded[report.suite] = digests(report)
        print(f"{mode}: {len(recorded[report.suite])} lines, {report.seconds:.0f} s")
    FILE.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
