"""What changed between a certificate and a run: told always, a failure where a promise broke."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vkml_conformance.account import unrecorded
from vkml_conformance.held import Held, held
from vkml_conformance.schema import DeviceReport, Report

if TYPE_CHECKING:
    from vkml_conformance.certificate import Certificate

PROMISES: Final = ("verdict", "level")
"""Fields of a device that may not change."""
ANOTHER: Final = "another suite or contract: cannot be compared"


@dataclass(frozen=True)
class Change:
    """One thing that is not as the certificate says; a failure where it breaks a promise."""

    what: str
    was: str
    now: str
    failure: bool = False
    note: str = ""

    def __str__(self) -> str:
        told = f"{self.what}: was {self.was or 'nothing'}, now {self.now or 'nothing'}"
        return f"{told} ({self.note})" if self.note else told


def compare(certificate: Certificate, report: Report) -> list[Change]:
    """Tell what a run found otherwise; the promise holds where no change is a failure.

    Other versions, hardware, drivers and counts are told. A device that is missing, does not pass,
    or has another level breaks the promise; so do other results of the same suite and contract.
    """
    now = {(d.backend, d.device): d for d in report.devices}
    same = (certificate.contract, certificate.suite) == (report.contract, report.suite)
    found = [*_differing("", _run(certificate), _run(report), failures=("selection",))]
    for was in certificate.devices:
        found += _of_device(was, now.pop((was.backend, was.device), None), same)
    more = (
        Change(name, "", device.verdict, note="not certified") for (_, name), device in now.items()
    )
    machine, today = (_flat(x.machine.model_dump()) for x in (certificate, report))
    return [*found, *more, *_differing("", machine, today)]


def _run(of: Certificate | Report) -> dict[str, str]:
    """Give what was run, as text."""
    chosen = of.selection.model_dump(mode="json", exclude_defaults=True)
    said = ", ".join(f"{name} {value}" for name, value in chosen.items()) or "the default run"
    return {"contract": str(of.contract), "suite": of.suite, "selection": said}


def _of_device(was: Held, device: DeviceReport | None, same: bool) -> Iterator[Change]:
    """Tell what changed of one device; `same` is whether results can be compared."""
    if device is None:
        yield Change(was.device, was.verdict, "", True, f"backend {was.backend} is not here")
        return
    before, after = (_flat(x.model_dump()) for x in (was, held(device)))
    results = before.pop("results"), after.pop("results")
    note = device.failure or (f"{len(device.findings):,} findings" if device.findings else "")
    for change in _differing(f"{was.device} ", before, after, PROMISES):
        yield Change(change.what, change.was, change.now, change.failure, note * change.failure)
    if results[0] != results[1]:
        yield Change(f"{was.device} results", *results, same, "" if same else ANOTHER)
    if lines := unrecorded(device):
        said = f"{lines[0].op} {lines[0].dtype} {lines[0].part}"
        yield Change(f"{was.device} oracle", "as recorded", "not as recorded", True, said)


def _flat(fields: Mapping[str, Any]) -> dict[str, str]:
    """Give fields as text, those of a mapping each for itself."""
    found = {}
    for name, value in fields.items():
        inner = value if isinstance(value, dict) else {"": value}
        found.update({f"{name} {key}".strip(): str(each) for key, each in inner.items()})
    return found


def _differing(
    prefix: str, was: Mapping[str, str], now: Mapping[str, str], failures: tuple[str, ...] = ()
) -> Iterator[Change]:
    """Give a change for each name whose text differs, in the order of the certificate."""
    for name in {**was, **now}:
        before, after = was.get(name, ""), now.get(name, "")
        if before != after:
            yield Change(prefix + name, before, after, name in failures)
