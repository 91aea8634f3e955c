"""The script that shows a finding without the suite; of a random graph, of what is left of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vkml_conformance.capture import program_of
from vkml_conformance.check import Check, Run, Subject
from vkml_conformance.engine import judge
from vkml_conformance.named import place_of
from vkml_conformance.program import Program
from vkml_conformance.script import script_of
from vkml_conformance.shrink import first_wrong, shrink
from vkml_core.backend import Level

BUDGET: Final = 15.0
"""Seconds that the shrinking of a graph may take: less than the silence that counts as a hang."""
LARGEST: Final = 100_000
"""Characters of a script that is kept in a report."""
SCRIPTLESS: Final = ("training", "state")
"""Parts that compute while they are recorded; their checks are run again by id."""


def witness(check: Check, device: str, backend: str, level: Level, run: Run | None) -> str:
    """Write a script for a check that differs in a run; "" where none of it would be readable.

    `backend` is as the suite was given it: a script registers one that is `module:attribute`.
    """
    if check.part in SCRIPTLESS:
        return ""
    subject = check.subject
    if check.part == "graph":
        subject = smaller(check, device, level, run)
    script = script_of(subject, device, place_of(backend))
    return script if len(script) <= LARGEST else ""


def smaller(check: Check, device: str, level: Level, run: Run | None) -> Subject:
    """Give the first call that is wrong alone; else the smallest graph that still differs."""
    program = program_of(check.subject)
    alone = first_wrong(program, device) if level == "exact" else None
    if alone is not None:
        return alone.program

    def fails(candidate: Program) -> bool:
        runs = None if run is None else (run,)
        outcome = judge(replace(check, subject=candidate), device, level, runs)
        return outcome.status in ("differs", "error")

    return shrink(program, fails, BUDGET) if fails(program) else program
