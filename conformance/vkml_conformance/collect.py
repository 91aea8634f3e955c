"""Makes the report of a device from what its workers noted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from vkml_conformance.check import Check
from vkml_conformance.journal import Entry
from vkml_conformance.schema import DeviceReport, Finding, Line, Place, Verdict
from vkml_conformance.supervise import Lane, Loss

COLUMN: Final = {
    "equal": "equal",
    "differs": "differing",
    "error": "differing",
    "unsupported": "unsupported",
    "left out": "left_out",
}
"""Which count of a line an outcome belongs to."""
Key = tuple[str, str, str, str]


def device_report(
    lanes: Sequence[Lane],
    checks: Sequence[Check],
    recorded: Mapping[str, str],
    seconds: float,
) -> DeviceReport:
    """Put together what all shards of a device found."""
    done = {number: entry for lane in lanes for number, entry in lane.done.items()}
    losses = [loss for lane in lanes for loss in lane.losses]
    opened = next((lane.opened for lane in lanes if lane.opened), {})
    request = lanes[0].request
    lines = _lines(checks, done, losses, recorded)
    findings = [*_losses(checks, losses), *_findings(checks, done), *_unrecorded(lines)]
    failure = next((lane.failed for lane in lanes if lane.failed), "")
    left = sum(line.not_run for line in lines)
    return DeviceReport(
        backend=request.backend,
        device=opened.get("device", f"{request.backend}:{request.index}".removesuffix(":0")),
        distribution=opened.get("distribution", ""),
        hardware=opened.get("hardware", ""),
        kind=opened.get("kind", ""),
        level=opened.get("level", request.level or ""),
        details=opened.get("details", {}),
        verdict=_verdict(failure, losses, findings, left),
        failure=failure or "; ".join(_told(checks, loss) for loss in losses),
        seconds=round(seconds, 3),
        lines=tuple(lines),
        findings=tuple(findings),
        results=_results(checks, done),
    )


def _verdict(
    failure: str, losses: Sequence[Loss], findings: Sequence[Finding], left: int
) -> Verdict:
    """Give the worst that is known; what was not run has not passed."""
    if failure:
        return "failed to load"
    if losses:
        return "timed out" if losses[0].timed_out else "crashed"
    if findings:
        return "differs"
    return "crashed" if left else "passed"


def _told(checks: Sequence[Check], loss: Loss) -> str:
    where = "while it was loaded" if loss.number is None else f"in {checks[loss.number].id}"
    return f"{where}: {loss.message}"


def _key(check: Check) -> Key:
    return check.family, check.op, check.dtype, check.part


def _lines(
    checks: Sequence[Check],
    done: Mapping[int, Entry],
    losses: Sequence[Loss],
    recorded: Mapping[str, str],
) -> list[Line]:
    """Count by row, dtype and part, in the order in which they first come."""
    lost = {loss.number for loss in losses}
    groups: dict[Key, list[int]] = {}
    for number, check in enumerate(checks):
        groups.setdefault(_key(check), []).append(number)
    return [
        _line(key, [(checks[n], done.get(n), n in lost) for n in numbers], recorded)
        for key, numbers in groups.items()
    ]


def _line(
    key: Key, cases: Sequence[tuple[Check, Entry | None, bool]], recorded: Mapping[str, str]
) -> Line:
    counts = dict.fromkeys((*COLUMN.values(), "not_run", "elements"), 0)
    for _, entry, lost in cases:
        column = COLUMN[entry["status"]] if entry else "differing" if lost else "not_run"
        counts[column] += 1
        counts["elements"] += entry.get("elements", 0) if entry else 0
    digest = combined((check.id, entry.get("digest", "")) for check, entry, _ in cases if entry)
    whole = all(entry for _, entry, _ in cases)
    known = recorded.get("/".join(key[1:])) if whole else None
    return Line.model_validate(
        {
            **dict(zip(("family", "op", "dtype", "part"), key, strict=True)),
            **counts,
            "cases": len(cases),
            "digest": digest if whole else "",
            "recorded": None if known is None else known == digest,
        }
    )


def combined(digests: Iterable[tuple[str, str]]) -> str:
    """Give one digest of the (id, digest) of checks, whatever their order."""
    text = "\n".join(sorted(f"{name} {digest}" for name, digest in digests))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _results(checks: Sequence[Check], done: Mapping[int, Entry]) -> str:
    agreed = (n for n, entry in done.items() if entry["status"] == "equal")
    lines = sorted(f"{checks[n].id} {done[n].get('digest', '')}" for n in agreed)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _findings(checks: Sequence[Check], done: Mapping[int, Entry]) -> Iterable[Finding]:
    for number in sorted(done):
        entry = done[number]
        if COLUMN[entry["status"]] == "differing":
            place = entry.get("difference")
            yield _finding(
                checks[number],
                status=entry["status"],
                place=Place(**place) if place else None,
                message=entry.get("message", ""),
                script=entry.get("script", ""),
            )


def _losses(checks: Sequence[Check], losses: Sequence[Loss]) -> Iterable[Finding]:
    for loss in losses:
        if loss.number is not None:
            status = "timeout" if loss.timed_out else "crash"
            yield _finding(checks[loss.number], status=status, message=loss.message)


def _finding(check: Check, **more: object) -> Finding:
    return Finding.model_validate(
        {
            "id": check.id,
            **dict(zip(("family", "op", "dtype", "part"), _key(check), strict=True)),
            "about": dict(check.about),
            **more,
        }
    )


def _unrecorded(lines: Iterable[Line]) -> Iterable[Finding]:
    """Tell where the oracle itself gives other bits here than where the suite was made."""
    for line in lines:
        if line.recorded is False:
            yield Finding(
                id=f"recorded/{line.op}/{line.dtype}/{line.part}",
                family=line.family,
                op=line.op,
                dtype=line.dtype,
                part=line.part,
                status="differs",
                about={},
                message="the oracle's results on this machine are not the recorded ones: either "
                "NumPy or this processor computes wrongly, or vkml was changed",
            )
