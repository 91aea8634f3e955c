"""Guesses why a result differs: a table of patterns, the most specific first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from vkml_conformance.check import Run, Subject
from vkml_conformance.domains import LINE_STARTS
from vkml_conformance.evidence import Evidence, ulps
from vkml_conformance.places import (
    counter_is_off,
    is_index_truncated,
    is_misplaced,
    is_tail,
    is_tie,
    shift,
)
from vkml_conformance.recomputed import recomputed
from vkml_conformance.values import Array, words
from vkml_core.ops.spec import Form

__all__ = ["guess", "ulps"]
FEW: Final = 64
"""Distance in ulp up to which most of a sum in another order stays."""
FAR: Final = 4096
"""Distance in ulp up to which half of what whole runs end in stays."""
ORDERED: Final = frozenset(
    (Form.SUM, Form.PROD, Form.CUMSUM, Form.MATMUL, Form.CONV, Form.WINDOW, Form.SCATTER)
)
"""Forms that fix an order of additions or multiplications."""


def _stale(e: Evidence) -> str:
    if e.earlier is None or e.earlier.shape != e.right.shape:
        return ""
    same = np.array_equal(words(e.earlier[e.wrong]), words(e.got))
    return "stale read" if same else ""


def _beyond(e: Evidence) -> str:
    """No number where there should be one, of operands of which few lines begin with none."""
    if e.case is None or e.case.domain != LINE_STARTS:
        return ""
    foreign = np.all(np.isfinite(e.want) & ~np.isfinite(e.got))
    return "read beyond the end of a line" if foreign else ""


def _subnormal(e: Evidence) -> str:
    if not e.floating:
        return ""
    small = (np.abs(e.want) < np.finfo(e.want.dtype).tiny) & (e.want != 0)
    return "subnormals flushed" if np.all(small & (e.got == 0)) else ""


def _negative_zero(e: Evidence) -> str:
    zeros = e.floating and bool(np.all((e.got == 0) & (e.want == 0)))
    return "negative zero" if zeros else ""


def _nan(e: Evidence) -> str:
    """NaN on one side, and where NaN is wanted seldom NaN: else it is no matter of NaN."""
    if not e.floating or not np.all(np.isnan(e.got) | np.isnan(e.want)):
        return ""
    wanted = np.isnan(e.right)
    return "NaN handling" if 2 * (wanted & ~e.wrong).sum() < max(wanted.sum(), 1) else ""


def _misplaced(e: Evidence) -> str:
    steps = shift(e)
    if steps:
        return f"elements shifted by {abs(steps)}"
    return "elements in wrong places" if is_misplaced(e) else ""


def _half(e: Evidence) -> str:
    """All one ulp to one side: no rounding to nearest does that to more than one element."""
    if e.right.dtype != np.float16 or not e.is_one_ulp:
        return ""
    smaller, below = np.abs(e.got) < np.abs(e.want), e.got < e.want
    sides = {"toward zero": smaller, "down": below, "up": ~below}
    found = next((side for side, mask in sides.items() if mask.all()), "")
    return f"float16 rounding {found}" if found else ""


def _near(e: Evidence) -> str:
    """Mostly near, where the contract fixes an order; after a whole run not quite so near."""
    if e.is_costly:
        near = e.apart.size and float(np.median(e.apart)) <= FAR
        return "reduction order or fused multiply-add" if near else ""
    near = e.apart.size and float(np.quantile(e.apart, 0.9)) <= FEW
    return "reduction order" if near and e.forms & ORDERED else ""


def _one_ulp(e: Evidence) -> str:
    return "off by one ulp" if e.is_one_ulp else ""


_ONLY: Final[dict[Run, str]] = {
    "replay": "only through replay",
    "often": "only when run often",
    "eager": "only op by op",
}
PATTERNS: Final[tuple[Callable[[Evidence], str], ...]] = (
    _stale,
    _beyond,
    _negative_zero,
    lambda e: "ties" if is_tie(e) else "",
    lambda e: "index truncated" if is_index_truncated(e) else "",
    lambda e: "random counter" if counter_is_off(e) else "",
    _misplaced,
    _half,
    _subnormal,
    recomputed,
    _nan,
    _near,
    _one_ulp,
    lambda e: "uninitialised tail" if not e.is_costly and is_tail(e) else "",
    lambda e: _ONLY.get(e.run, ""),
)
"""Each gives a cause, or nothing where it does not know the pattern."""


def guess(
    subject: Subject,
    what: str,
    run: Run,
    got: Array,
    want: Array,
    leaves: Sequence[Array],
    earlier: Array | None,
) -> str:
    """Guess why one result of a subject differs; empty where no pattern is known.

    `got` and `want` are that result whole, of one shape and dtype, and differ somewhere. `leaves`
    are what it was computed of. `earlier` is what the device gave for other values just before.
    Small subjects are computed again with faulty oracles, so that a guess rests on equal bits.
    """
    evidence = Evidence(subject, what, run, got, want, leaves, earlier)
    with np.errstate(all="ignore"):
        return next(filter(None, (pattern(evidence) for pattern in PATTERNS)), "")
