"""Certificates: what passed, on what, held to which suite; issued from a report, and read back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from vkml_conformance.account import Counts, narrowed, reason
from vkml_conformance.atomic import write_text
from vkml_conformance.changes import Change as Change
from vkml_conformance.changes import compare as compare
from vkml_conformance.held import Held, held
from vkml_conformance.schema import DeviceReport, Machine, Model, Report, Selection
from vkml_conformance.sealed import digest, parse
from vkml_core.errors import Error

CERTIFICATE: Final = 1
"""Raised when a field changes its meaning or goes."""
AGAIN: Final = "make a new one with `vkml-conformance run --certify FILE`"


class CertificateError(Error, ValueError):
    """A certificate that cannot be read or relied on."""


class NotCertified(CertificateError):
    """A report that does not allow a certificate; nothing was written."""


class Certificate(Model):
    """What `--certify` writes. `sha256` shows an edit; it is no signature."""

    certificate_version: int = CERTIFICATE
    contract: int
    suite: str
    selection: Selection
    devices: tuple[Held, ...]
    machine: Machine
    issued: str
    """When the run began: ISO 8601, UTC."""
    sha256: str = ""
    """Over the canonical JSON of all other fields."""


def certify(report: Report, path: str | os.PathLike[str]) -> Certificate:
    """Write the certificate of a report in which every device passed everything.

    Raises
    ------
    NotCertified
        Where a device did not pass, nothing was compared, or the selection was narrowed.
    WriteError
        Where the file cannot be written.

    """
    reasons = [
        *(
            f"the run was narrowed to {name} {value}"
            for name, value in narrowed(report.selection).items()
        ),
        *_failing(report.devices),
    ]
    if reasons:
        told = "".join(f"\n  {why}" for why in reasons)
        raise NotCertified(f"No certificate: every device has to pass the whole suite.{told}")
    fields = Certificate(
        contract=report.contract,
        suite=report.suite,
        selection=report.selection,
        devices=tuple(map(held, report.devices)),
        machine=report.machine,
        issued=report.started,
    )
    made = fields.model_copy(update={"sha256": digest(fields.model_dump(mode="json"))})
    write_text(path, made.model_dump_json(indent=2) + "\n")
    return made


def _failing(devices: tuple[DeviceReport, ...]) -> Iterator[str]:
    """Tell why devices do not count as passed."""
    if not devices:
        yield "no device was run"
    for device in devices:
        counts = Counts.of(device.lines)
        whole = counts.equal and device.results and not counts.not_run
        wrong = counts.differing or counts.unrecorded or device.findings
        if device.verdict != "passed" or wrong or not whole:
            why = reason(device).replace("\n", " ") or f"{counts.not_run:,} checks were not run"
            yield f"{device.device}: {device.verdict}; {why}"


def load(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate.

    Raises
    ------
    CertificateError
        Where it is missing, damaged, no certificate, of a newer version, or edited.

    """
    fields = _fields(path)
    version = fields.get("certificate_version")
    if type(version) is not int or version < 1:
        raise CertificateError(f"{path}: not a certificate: it has no certificate_version; {AGAIN}")
    if version > CERTIFICATE:
        raise CertificateError(
            f"{path}: certificate of version {version}, this package reads up to {CERTIFICATE}; "
            "install a newer vkml"
        )
    if (found := digest(fields)) != fields.get("sha256"):
        raise CertificateError(
            f"{path}: edited or damaged: its SHA-256 is {found}, it says "
            f"{fields.get('sha256')}; get the file as it was issued, or {AGAIN}"
        )
    try:
        return Certificate.model_validate(fields)
    except ValidationError as error:
        raise CertificateError(f"{path}: not a certificate: {error}; {AGAIN}") from error


def _fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields, not yet checked."""
    try:
        return parse(Path(path).read_text("utf-8"))
    except OSError as error:
        raise CertificateError(
            f"{path}: cannot be read ({error.strerror or error}); expected a certificate; {AGAIN}"
        ) from error
    except ValueError as error:
        raise CertificateError(f"{path}: damaged or no certificate ({error}); {AGAIN}") from error
