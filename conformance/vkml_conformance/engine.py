"""Runs a check on a device three times and compares every bit with what is wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.causes import guess, ulps
from vkml_conformance.check import Check, Difference, Outcome, Run, Subject
from vkml_conformance.pulse import beat
from vkml_conformance.values import Array, words
from vkml_core import runtime
from vkml_core.backend import Level
from vkml_core.errors import CompileError, UnsupportedOpError
from vkml_core.plugins import open_device

ORACLE: Final = "cpu"
MANY: Final = 4
"""Runs after which a plan counts as run often."""


def compute(leaves: Sequence[Array], subject: Subject, device: str) -> list[Array]:
    """Give the results on a device, all of one submission."""
    results = list(subject.record(upload(leaves, device)))
    vkml.realize(*results)
    found = [r.numpy() for r in results]
    beat()
    return found


def upload(leaves: Sequence[Array], device: str) -> list[Tensor]:
    """Make a tensor of each leaf; those that a gradient can reach require it when recorded."""
    return [vkml.tensor(leaf, device=device) for leaf in leaves]


def decoys(leaves: Sequence[Array]) -> list[Array]:
    """Give other leaves of the same kind: floats and bools change places, indices stay valid."""
    return [np.roll(x, 1) if x.dtype.kind in "fb" else x for x in leaves]


def _first(subject: Subject, device: str) -> tuple[list[Array], list[Array]]:
    return compute(subject.leaves(), subject, device), []


def _eager(subject: Subject, device: str) -> tuple[list[Array], list[Array]]:
    with vkml.eager_mode():
        return compute(subject.leaves(), subject, device), []


def _replay(subject: Subject, device: str) -> tuple[list[Array], list[Array]]:
    """Compile, run with other values, then replay with the right ones: nothing may be left."""
    return _again(subject, device, 1)


def _often(subject: Subject, device: str) -> tuple[list[Array], list[Array]]:
    """Replay when a backend may have changed how it runs the plan, since it runs so often."""
    return _again(subject, device, MANY)


def _again(subject: Subject, device: str, before: int) -> tuple[list[Array], list[Array]]:
    """Run a compiled function after so many runs with other values.

    What cannot be compiled, since it computes by itself, is run again through kept plans.
    """
    leaves = subject.leaves()
    runtime.clear_cache()
    run = vkml.compile(lambda given: list(subject.record(given)))
    if not hasattr(subject, "operations"):  # else it makes plans by itself
        try:
            for _ in range(before):
                earlier = _read(run(upload(decoys(leaves), device)))
            return _read(run(upload(leaves, device))), earlier
        except CompileError:
            pass
    for _ in range(before):
        earlier = compute(decoys(leaves), subject, device)
    return compute(leaves, subject, device), earlier


def _read(results: Sequence[Tensor]) -> list[Array]:
    found = [r.numpy() for r in results]
    beat()
    return found


RUNS: Final[dict[Run, Callable[[Subject, str], tuple[list[Array], list[Array]]]]] = {
    "first": _first,
    "eager": _eager,
    "replay": _replay,
    "often": _often,
}
"""How to run a subject: the results, and what the run before them gave."""


def judge(check: Check, device: str, level: Level, runs: Iterable[Run] | None = None) -> Outcome:
    """Run a check. Whatever a backend raises is an outcome, not an exception of this function."""
    with np.errstate(all="ignore"):
        wanted = list(check.subject.wanted())
        held = _held(check.subject, wanted, level)
        digest = _digest(wanted)
        if held is None or not wanted:
            why = f"level {level} promises nothing here" if wanted else "there is no result"
            return Outcome("left out", message=why, digest=digest)
        for run in check.runs if runs is None else runs:
            try:
                got, earlier = RUNS[run](check.subject, device)
                found = _first_difference(check.subject, run, got, wanted, held, earlier)
            except UnsupportedOpError as error:
                return _unsupported(check, device, run, error, digest)
            except Exception as error:  # whatever a backend raises belongs into the report
                said = f"{run} run: {type(error).__name__}: {error}"
                return Outcome("error", message=said, digest=digest)
            if found is not None:
                return Outcome("differs", difference=found, digest=digest)
    return Outcome("equal", elements=sum(int(m.sum()) for m in held), digest=digest)


def _held(subject: Subject, wanted: Sequence[Array], level: Level) -> Sequence[Array] | None:
    if level == "exact-normal":
        return subject.held(wanted)
    return [np.ones(w.shape, np.bool_) for w in wanted]


def _digest(wanted: Sequence[Array]) -> str:
    sha = hashlib.sha256()
    for w in wanted:
        sha.update(f"{w.dtype.name}{w.shape}".encode())
        sha.update(np.ascontiguousarray(w).tobytes())
    return sha.hexdigest()[:32]


def _unsupported(check: Check, device: str, run: Run, error: Exception, digest: str) -> Outcome:
    """Take a refusal for what it is: an operation not declared, or one declared and refused."""
    offered = open_device(device).capabilities().ops
    with vkml.eager_mode(run == "eager"):
        needed = operations(check.subject)
    if needed <= offered:
        said = f"declares {', '.join(sorted(needed))} and refuses: {error}"
        return Outcome("error", message=said, digest=digest)
    return Outcome("unsupported", message=", ".join(sorted(needed - offered)), digest=digest)


def operations(subject: Subject) -> set[str]:
    """Name the operations that a backend needs for a subject: those of the oracle's plans for it.

    Run eagerly these are more, since views are values there and so they are copied.
    """
    runtime.clear_cache()
    compute(subject.leaves(), subject, ORACLE)
    own: set[str] = getattr(subject, "operations", set())  # of plans that it makes by itself
    return own.union(*(plan.ops() for plan in runtime.cached_plans()))


def _first_difference(
    subject: Subject,
    run: Run,
    got: Sequence[Array],
    wanted: Sequence[Array],
    held: Sequence[Array],
    earlier: Sequence[Array],
) -> Difference | None:
    for i, (g, w, mask) in enumerate(zip(got, wanted, held, strict=True)):
        found = compare("", run, g, w, mask)
        if found is not None:
            named = replace(found, what=subject.results[i])
            return _explained(subject, named, g, w, earlier[i] if earlier else None)
    return None


def compare(what: str, run: Run, got: Array, want: Array, held: Array) -> Difference | None:
    """Compare shape, dtype and every bit of the elements that are held; None where they agree."""
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        alike = [f"{x.dtype}{x.shape}" for x in (got, want)]
        return Difference(what, run, want.size, want.size, (), alike[0], alike[1])
    a, b = words(got), words(want)
    wrong = np.argwhere((a != b) & held)
    if not len(wrong):
        return None
    index = tuple(map(int, wrong[0]))
    digits = 2 * got.dtype.itemsize
    return Difference(
        what,
        run,
        len(wrong),
        want.size,
        index,
        got=f"0x{int(a[index]):0{digits}x}",
        want=f"0x{int(b[index]):0{digits}x}",
        got_value=str(got[index]),
        want_value=str(want[index]),
        ulps=ulps(got[index], want[index]),
    )


def _explained(
    subject: Subject, found: Difference, got: Array, want: Array, earlier: Array | None
) -> Difference:
    if got.shape != want.shape or got.dtype != want.dtype:
        return found
    cause = guess(subject, found.what, found.run, got, want, subject.leaves(), earlier)
    return replace(found, cause=cause and f"looks like: {cause}")
