"""Certificates are issued for what passed alone, show an edit, and tell what changed since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reports import MACHINE, device, everything, finding, line, report
from vkml_conformance.atomic import WriteError
from vkml_conformance.certificate import (
    CERTIFICATE,
    Certificate,
    CertificateError,
    Change,
    NotCertified,
    certify,
    compare,
    load,
)
from vkml_conformance.schema import Report, Selection
from vkml_conformance.sealed import digest

from vkml_core.errors import Error

GOOD = report(device("cpu"), device("vulkan"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "certificate.json"


def rewritten(path: Path, *, sealed: bool = False, **fields: Any) -> None:
    found = json.loads(path.read_text("utf-8")) | fields
    if sealed:
        found["sha256"] = digest(found)
    path.write_text(json.dumps(found), "utf-8")


def changed(now: Report) -> dict[str, Change]:
    return {change.what: change for change in compare(issued(GOOD), now)}


def issued(of: Report) -> Certificate:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return certify(of, Path(folder) / "c.json")


def but(now: Report = GOOD, **fields: Any) -> Report:
    """The report with fields of its last device changed."""
    *rest, last = now.devices
    return now.model_copy(update={"devices": (*rest, last.model_copy(update=fields))})


def test_comes_back_as_it_was_issued(path: Path) -> None:
    made = certify(GOOD, path)
    assert load(path) == made
    assert compare(made, GOOD) == []
    assert [(d.device, d.equal, d.verdict) for d in made.devices] == [
        ("cpu", 80, "passed"),
        ("vulkan", 80, "passed"),
    ]
    assert (made.contract, made.suite, made.machine) == (1, GOOD.suite, MACHINE)


def test_is_the_same_bytes_for_the_same_report(path: Path) -> None:
    certify(GOOD, path)
    first = path.read_bytes()
    certify(GOOD, path)
    assert path.read_bytes() == first
    assert [x.name for x in path.parent.iterdir()] == [path.name]


def test_counts_what_is_not_certified_apart() -> None:
    lines = (line(equal=7, unsupported=3), line("sub", unsupported=5), line("mul", left_out=2))
    (held,) = issued(report(device(lines=lines))).devices
    assert (held.equal, held.unsupported, held.left_out) == (7, 8, 2)


def test_does_not_tell_where_the_user_lives() -> None:
    details = {"self-test": f"remembered in {Path.home()}/.cache/vkml"}
    of = report(device(details=details))
    made = issued(of)
    assert made.devices[0].details == {"self-test": "remembered in ~/.cache/vkml"}
    assert compare(made, of) == []


REFUSED = {
    "a device that differs": but(verdict="differs", findings=(finding(),)),
    "a device that did not load": but(verdict="failed to load", lines=(), results=""),
    "a device that crashed": but(verdict="crashed"),
    "a device that timed out": but(verdict="timed out"),
    "passed, with a difference counted": but(lines=(line(equal=3, differing=1),)),
    "passed, with a finding": but(findings=(finding(),)),
    "passed, with checks not run": but(lines=(line(equal=3, not_run=1),)),
    "passed, with nothing compared": but(lines=(line(unsupported=4),)),
    "passed, with no line": but(lines=()),
    "passed, without a hash of its results": but(results=""),
    "an oracle that is not the recorded one": but(lines=(line(equal=3, recorded=False),)),
    "no device": report(),
    "all kinds of devices": everything(),
    "narrowed to an op": report(device(), selection=Selection(ops=("add*",))),
    "narrowed to a family": report(device(), selection=Selection(families=("conv",))),
    "narrowed to a dtype": report(device(), selection=Selection(dtypes=("float32",))),
    "narrowed to one check": report(device(), selection=Selection(only="add-1")),
    "narrowed to some cases": report(device(), selection=Selection(cases=1)),
    "narrowed to no case": report(device(), selection=Selection(cases=0)),
}


@pytest.mark.parametrize("of", REFUSED.values(), ids=REFUSED)
def test_is_refused_and_nothing_written_for(of: Report, path: Path) -> None:
    with pytest.raises(NotCertified, match="No certificate"):
        certify(of, path)
    assert list(path.parent.iterdir()) == []
    path.write_text("before")
    with pytest.raises(NotCertified):
        certify(of, path)
    assert path.read_text() == "before"


def test_refusal_names_every_reason() -> None:
    of = everything().model_copy(update={"selection": Selection(ops=("a*",), cases=2)})
    with pytest.raises(NotCertified) as caught:
        issued(of)
    said = str(caught.value)
    for word in (
        "narrowed to ops a*",
        "cases 2",
        "vulkan:1: differs",
        "crashing: crashed",
        "libmy.so.2",
    ):
        assert word in said
    assert "small: passed" not in said


@pytest.mark.parametrize("mode", ["quick", "default", "thorough"])
def test_is_issued_for_each_mode_and_says_which(mode: Any, path: Path) -> None:
    certify(report(device(), selection=Selection(mode=mode, seed=7)), path)
    assert load(path).selection == Selection(mode=mode, seed=7)


@pytest.mark.parametrize("where", ["missing/c.json", "."])
def test_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path, where: str) -> None:
    with pytest.raises(WriteError, match="cannot be written") as caught:
        certify(GOOD, tmp_path / where)
    assert isinstance(caught.value, Error) and isinstance(caught.value, OSError)
    assert list(tmp_path.iterdir()) == []


def test_failing_half_way_keeps_the_one_before(path: Path, monkeypatch: Any) -> None:
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    certify(GOOD, path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WriteError, match="No space left"):
        certify(report(device("cpu")), path)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


def test_missing(path: Path) -> None:
    with pytest.raises(CertificateError, match=r"cannot be read.*--certify"):
        load(path)
    with pytest.raises(CertificateError, match="cannot be read"):
        load(path.parent)


BROKEN = {
    "empty": b"",
    "not JSON": b"certificate",
    "not UTF-8": b'{"suite": "\xff"}',
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "nested deeply": b"[" * 100_000,
    "NaN": b'{"certificate_version": NaN}',
    "another object": b'{"schema_version": 1}',
    "a version that is text": b'{"certificate_version": "1"}',
    "a version that is a truth": b'{"certificate_version": true}',
    "version zero": b'{"certificate_version": 0}',
    "an integer too long to read": b'{"certificate_version": ' + b"9" * 5000 + b"}",
    "no hash": b'{"certificate_version": 1}',
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_broken_file_is_a_clear_error(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    with pytest.raises(CertificateError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_of_a_newer_version_says_so_although_its_fields_are_unknown(path: Path) -> None:
    certify(GOOD, path)
    rewritten(path, certificate_version=CERTIFICATE + 1, news=1)
    with pytest.raises(CertificateError, match=r"version 2, .* up to 1.*newer vkml"):
        load(path)


@pytest.mark.parametrize(
    "fields",
    [{"contract": 2}, {"extra": 1}, {"devices": []}, {"sha256": ""}, {"sha256": None}],
    ids=str,
)
def test_edit_is_noticed(fields: dict[str, Any], path: Path) -> None:
    certify(GOOD, path)
    rewritten(path, **fields)
    with pytest.raises(CertificateError, match="edited or damaged"):
        load(path)


def test_edit_by_a_second_name_before_the_true_one_is_noticed(path: Path) -> None:
    certify(GOOD, path)
    text = path.read_text("utf-8")
    path.write_text(text.replace('"level"', '"level": "better", "level"', 1), "utf-8")
    with pytest.raises(CertificateError, match="'level' comes twice"):
        load(path)


@pytest.mark.parametrize("fields", [{"devices": 1}, {"contract": "one"}, {"extra": 1}], ids=str)
def test_right_hash_over_wrong_fields_is_no_certificate(fields: Any, path: Path) -> None:
    certify(GOOD, path)
    rewritten(path, sealed=True, **fields)
    with pytest.raises(CertificateError, match="not a certificate"):
        load(path)


def test_layout_of_the_file_is_no_edit(path: Path) -> None:
    made = certify(GOOD, path)
    found = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(dict(reversed(found.items()))), "utf-8")
    assert load(path) == made


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cut_or_changed_byte_is_noticed_or_without_meaning(data: Any, path: Path) -> None:
    made = certify(GOOD, path)
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        raw = raw[:place]
    else:
        raw[place] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    try:
        assert load(path) == made  # blanks, and nothing else
    except CertificateError:
        return
    assert json.loads(raw) == made.model_dump(mode="json")


@given(st.dictionaries(st.text(), st.text(), max_size=5), st.text(), st.text())
def test_any_text_comes_back(details: dict[str, str], hardware: str, driver: str) -> None:
    of = report(device(details=details | {"driver": driver}, hardware=hardware))
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        made = certify(of, Path(folder) / "c.json")
        assert load(Path(folder) / "c.json") == made
    assert compare(made, of) == []


def test_other_versions_hardware_and_driver_are_told_and_no_failure() -> None:
    machine = MACHINE.model_copy(
        update={"python": "3.14.0", "packages": {"vkml": "0.2.0", "pydantic": "2.14.4", "new": "1"}}
    )
    now = but(hardware="Another GPU", details={"driver": "Mesa 30"}, distribution="vkml 0.2.0")
    found = changed(now.model_copy(update={"machine": machine}))
    assert {name: (c.was, c.now) for name, c in found.items()} == {
        "vulkan distribution": ("vkml 0.1.0", "vkml 0.2.0"),
        "vulkan hardware": ("llvmpipe (LLVM 15.0.6, 256 bits)", "Another GPU"),
        "vulkan details driver": ("Mesa 22.3.6", "Mesa 30"),
        "vulkan details self-test": ("all 86 probes gave the wanted bits", ""),
        "python": ("3.11.2", "3.14.0"),
        "packages vkml": ("0.1.0", "0.2.0"),
        "packages numpy": ("2.4.6", ""),
        "packages new": ("", "1"),
    }
    assert not any(change.failure for change in found.values())


@pytest.mark.parametrize("verdict", ["differs", "failed to load", "crashed", "timed out"])
def test_another_verdict_is_a_failure_and_says_why(verdict: Any) -> None:
    found = changed(but(verdict=verdict, failure="why"))
    assert found["vulkan verdict"] == Change("vulkan verdict", "passed", verdict, True, "why")


@pytest.mark.parametrize("suite", [GOOD.suite, "other"])
def test_another_verdict_or_level_is_a_failure_under_any_suite(suite: str) -> None:
    now = but(verdict="differs", level="exact-normal", findings=(finding(),) * 3)
    found = changed(now.model_copy(update={"suite": suite}))
    assert found["vulkan verdict"].failure and found["vulkan level"].failure
    assert found["vulkan verdict"].note == "3 findings"


def test_other_results_are_a_failure_under_the_same_suite_and_contract_alone() -> None:
    now = but(results="other")
    assert changed(now)["vulkan results"].failure
    for fields in ({"suite": "other"}, {"contract": 2}):
        found = changed(now.model_copy(update=fields))
        assert next(iter(fields)) in found
        assert not any(change.failure for change in found.values())
        assert "cannot be compared" in str(found["vulkan results"])


def test_more_that_is_unsupported_is_told() -> None:
    found = changed(but(lines=(line(equal=40, unsupported=40),)))
    assert (found["vulkan equal"].was, found["vulkan equal"].now) == ("80", "40")
    assert found["vulkan unsupported"].now == "40"


def test_device_that_is_gone_is_a_failure_and_a_new_one_is_not() -> None:
    found = changed(report(device("cpu"), device("other")))
    assert found["vulkan"].failure and "not here" in str(found["vulkan"])
    assert not found["other"].failure
    assert set(found) == {"vulkan", "other"}


def test_run_of_other_checks_does_not_confirm() -> None:
    assert changed(GOOD.model_copy(update={"selection": Selection(ops=("add",))}))[
        "selection"
    ].failure


def test_oracle_that_is_not_the_recorded_one_is_a_failure() -> None:
    lines = tuple(x.model_copy(update={"recorded": False}) for x in GOOD.devices[1].lines)
    assert changed(but(lines=lines))["vulkan oracle"].failure


def test_order_of_devices_is_no_change() -> None:
    assert changed(GOOD.model_copy(update={"devices": GOOD.devices[::-1]})) == {}
