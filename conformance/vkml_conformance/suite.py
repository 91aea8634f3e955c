"""Which checks a selection means, in which order: the same list on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain, groupby, zip_longest
from typing import Final, get_args

from vkml_conformance import donation, failing, graphs, invariance, refusals, rows, sweeps, training
from vkml_conformance.check import Check, Part
from vkml_conformance.domains import LINE_STARTS
from vkml_conformance.pulse import beat
from vkml_conformance.rows import Choice
from vkml_conformance.schema import Selection
from vkml_core.errors import ArgumentError
from vkml_core.ops.spec import REGISTRY, Form

EARLY: Final = 3
"""Turns of row cases that come before all else: they say best what is wrong."""
LONG: Final = "cnn"
"""The training run that takes longest."""
PARTS: Final[tuple[Part, ...]] = get_args(Part)
ROW: Final[tuple[Part, ...]] = ("forward", "gradient", "second")
"""The parts of single rows."""
Bundle = list[Check]
"""Checks that share plans; they stay in one process and follow each other."""


@dataclass(frozen=True)
class Mode:
    """How much a mode checks."""

    cases: int | None
    """The most row cases of an operation, dtype and part; None for all."""
    graphs: int
    thorough: bool = False


MODES: Final = {
    "quick": Mode(cases=4, graphs=40),
    "default": Mode(cases=None, graphs=400),
    "thorough": Mode(cases=None, graphs=5000, thorough=True),
}


def bundles(selection: Selection) -> list[Bundle]:
    """Give the checks of a selection. The first ones reach every row, dtype and part."""
    if selection.only is not None:
        return [[find(selection.only)]]
    mode, seed = MODES[selection.mode], selection.seed
    turns = list(_row_turns(selection, mode))
    others = [_lighter(check, selection.mode) for check in _others(seed, mode)]
    if selection.mode == "quick":
        others = [check for check in others if is_quick(check)]
    early, late = turns[:EARLY], turns[EARLY:]
    ordered = [*chain(*early), *([check] for check in others), *chain(*late)]
    return [kept for bundle in ordered if (kept := [c for c in bundle if _asked(c, selection)])]


def _others(seed: int, mode: Mode) -> Iterator[Check]:
    """Give the checks that are not of one case of a row."""
    yield from failing.derive(seed)
    yield from donation.derive(seed)
    yield from refusals.derive(seed)
    yield from invariance.derive(seed, mode.thorough)
    yield from sweeps.derive(seed, mode.thorough)
    yield from graphs.derive(seed, mode.graphs)
    yield from training.derive(seed)


def find(name: str) -> Check:
    """Give the check of an id, of any mode. Raises ArgumentError where there is none."""
    op, _, rest = name.partition("/")
    text = name.partition("@")[2]
    seed = int(text) if text.isdecimal() else 0
    if op in REGISTRY and rest:
        groups = rows.derive(seed, thorough=True, rows={op: REGISTRY[op]})
        offered: Iterator[Check] = (choice.check() for choice in chain.from_iterable(groups))
    elif op == "graph" and (number := rest.partition("@")[0]).isdecimal():
        offered = graphs.derive(seed, int(number) + 1)
    else:
        offered = _others(seed, MODES["thorough"])
    found = next((check for check in offered if check.id == name), None)
    if found is None:
        raise ArgumentError(
            f"no check has the id {name!r}; `vkml-conformance list` prints those of this version"
        )
    return found


def _lighter(check: Check, mode: str) -> Check:
    """Run it once where more would show little: twenty steps are replays of a plan already."""
    once = check.part == "training" if mode == "default" else check.part != "graph"
    return replace(check, runs=("first",)) if once and mode != "thorough" else check


def is_quick(check: Check) -> bool:
    """Whether a check that is not of one case belongs to the quick ones: one in eight, by its id.

    All graphs do, all seeds, what has to leave no state behind, training runs that are not long,
    and sweeps of sums, products and quotients, where a bit is wrong once in millions.
    """
    if check.part in ("graph", "seed") or check.id.startswith("state/"):
        return True
    if check.part == "training":
        return check.op != LONG
    if check.part == "sweep" and REGISTRY[check.op].form is Form.ROUNDED:
        return REGISTRY[check.op].arity == 2 or _draw(check.id, 0) % 8 == 0
    return _draw(check.id, 0) % 8 == 0


def _asked(check: Check, selection: Selection) -> bool:
    """Whether a check passes the filters."""
    filters = (selection.ops, check.op), (selection.families, check.family)
    wanted = all(_any(globs, text) for globs, text in filters)
    return wanted and (not selection.dtypes or check.dtype in selection.dtypes)


def _any(globs: Sequence[str], text: str) -> bool:
    """Whether one of the globs fits; without globs all does."""
    return not globs or any(fnmatchcase(text, glob) for glob in globs)


def _row_turns(selection: Selection, mode: Mode) -> Iterator[list[Bundle]]:
    """Give the first bundle of every row and dtype, then the second of each, and so on."""
    limit = mode.cases if selection.cases is None else selection.cases
    asked = {op: row for op, row in REGISTRY.items() if _any(selection.ops, op)}
    kept = []
    for group in rows.derive(selection.seed, thorough=mode.thorough, rows=asked):
        beat()
        some = _structures(group) if limit is None else _chosen(group, limit, selection.seed)
        kept.append([[choice.check() for choice in choices] for choices in some])
    for turn in zip_longest(*kept):
        yield [bundle for bundle in turn if bundle is not None]


def _structures(group: Iterable[Choice]) -> Iterator[list[Choice]]:
    """Split a group where sample or layouts change."""
    for _, some in groupby(group, key=lambda c: (id(c.case.sample), c.case.layouts)):
        yield list(some)


def _chosen(group: Sequence[Choice], limit: int, seed: int) -> Iterator[list[Choice]]:
    """Choose cases that together show as much as so few can: each next one adds the most."""
    for part, some in groupby(sorted(group, key=lambda c: c.part), key=lambda c: c.part):
        choices = list(some)
        features = [_features(choice) for choice in choices]
        left = sorted(range(len(choices)), key=lambda i: _draw(f"{part} {i}", seed))
        seen: set[tuple[object, ...]] = set()
        for _ in range(min(limit, len(left))):
            best = max(left, key=lambda i: len(features[i] - seen))
            left.remove(best)
            seen |= features[best]
            yield [choices[best]]


def _features(choice: Choice) -> set[tuple[object, ...]]:
    """Tell what a case shows: its sample, whether it is a large one, its values, how each operand
    lies.
    """
    case = choice.case
    large = case.domain == LINE_STARTS
    lies = {(i, layout.name) for i, layout in enumerate(case.layouts)}
    return {(id(case.sample),), ("large", large), (case.domain.name,), *lies}


def _draw(text: str, seed: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{text} {seed}".encode()).digest()[:8], "big")


def digest(checks: Iterable[Check]) -> str:
    """Give the suite hash: SHA-256 over the ids in alphabetical order."""
    return hashlib.sha256("\n".join(sorted(c.id for c in checks)).encode()).hexdigest()
