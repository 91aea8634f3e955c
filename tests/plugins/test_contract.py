"""The public contract: its signatures are those of its version, and nobody outside needs more."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest
from pydantic import BaseModel, ConfigDict

from vkml_core import backend
from vkml_core.backend import API_VERSION

ROOT = Path(__file__).parents[2]
BACKENDS = (
    ROOT / "vkml_backend_cpu",
    ROOT / "vkml_backend_vulkan",
    *sorted((ROOT / "examples").glob("backend_*")),
)
OLD, NEW = (1, 2), (1, 3)
BEFORE = {
    "m.Device": "protocol",
    "m.Device.run": "method (self, plan: Plan) -> None",
    "m.Mode": "class(Enum)",
    "m.Mode.A": "= 'a'",
    "m.Slot": "frozen dataclass",
    "m.Slot.index": "field 0: int",
    "operations.sum": "REDUCE SUM, 1 of float32",
    "operations.sum.axes": "field 0: tuple[int, ...]",
}


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    names = ("contract_signatures", "write_contract")
    signatures, writer = map(importlib.import_module, names)
    yield signatures, writer
    for name in names:
        del sys.modules[name]


def test_no_signature_changed_without_the_version(tools: tuple[ModuleType, ModuleType]) -> None:
    signatures, writer = tools
    path = writer.path_of(API_VERSION)
    assert path.exists(), "a new version: run python tools/write_contract.py"
    before, now = writer.read(path), signatures.describe()
    assert before == now, writer.fault(before, now, API_VERSION, API_VERSION)


def test_each_version_does_for_what_changed_since_the_one_before(
    tools: tuple[ModuleType, ModuleType],
) -> None:
    _, writer = tools
    known = writer.versions()
    assert known[-1] == API_VERSION
    for old, new in pairwise(known):
        before, now = (writer.read(writer.path_of(v)) for v in (old, new))
        assert writer.fault(before, now, old, new) is None


@pytest.mark.parametrize("folder", BACKENDS, ids=lambda p: p.name)
def test_backends_import_what_is_promised(
    folder: Path, tools: tuple[ModuleType, ModuleType]
) -> None:
    signatures, _ = tools
    imported = {
        f"{node.module}.{alias.name}"
        for path in folder.rglob("*.py")
        if "tests" not in path.relative_to(folder).parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vkml_core")
        for alias in node.names
    }
    assert imported
    missing = {i for i in imported if i not in signatures.PROMISED} - signatures.promised()
    assert not missing, "do without, or promise them in PROMISED of tools/contract_signatures.py"


@pytest.mark.parametrize(
    ("place", "text", "part"),
    [
        ("m.Device.run", None, "major"),
        ("m.Device.run", "method (self, plan: Plan, more: int) -> None", "major"),
        ("m.Device.wait", "method (self) -> None", "major"),
        ("m.Mode.B", "= 'b'", "major"),
        ("m.Slot.index", "field 0: int = 0", "major"),
        ("m.Slot.more", "field 1: int", "major"),
        ("m.Slot.more", "field 1: int = 0", "minor"),
        ("m.Slot.size", "property -> int", "minor"),
        ("m.Timing", "protocol", "minor"),
        ("operations.sum", None, "major"),
        ("operations.sum", "REDUCE SUM, 1 of float16 float32", "major"),
        ("operations.sum.keep", "field 1: bool = False", "major"),
        ("operations.median", "REDUCE SELECT, 1 of float32", "minor"),
        ("m.help", "function (plan: Plan) -> None", "minor"),
    ],
)
def test_which_version_a_change_needs(
    place: str, text: str | None, part: str, tools: tuple[ModuleType, ModuleType]
) -> None:
    _, writer = tools
    now = {k: v for k, v in {**BEFORE, place: text}.items() if v is not None}
    assert writer.changes(BEFORE, now) == {place: part}
    told = writer.fault(BEFORE, now, OLD, OLD)
    wanted = (2, 0) if part == "major" else (1, 3)
    assert place in told and f"set API_VERSION in vkml_core/backend.py to {wanted}" in told
    assert "python tools/write_contract.py" in told
    assert (writer.fault(BEFORE, now, OLD, NEW) is None) == (part == "minor")
    assert writer.fault(BEFORE, now, OLD, (2, 0)) is None


def test_a_new_protocol_or_enumeration_may_have_members(
    tools: tuple[ModuleType, ModuleType],
) -> None:
    _, writer = tools
    more = {"m.P": "protocol", "m.P.x": "attribute: int", "m.E": "class(Enum)", "m.E.A": "= 1"}
    more |= {"m.D": "frozen dataclass", "m.D.x": "field 0: int", "operations.a": "SCAN CUMSUM",
             "operations.a.axis": "field 0: int"}  # fmt: skip
    assert set(writer.changes(BEFORE, BEFORE | more).values()) == {"minor"}


def test_no_change_needs_no_version(tools: tuple[ModuleType, ModuleType]) -> None:
    _, writer = tools
    assert writer.fault(BEFORE, dict(reversed(BEFORE.items())), OLD, OLD) is None


def test_a_real_change_is_seen(
    tools: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    signatures, writer = tools
    before = signatures.describe()

    class Device(Protocol):
        def compile(self, plan: int, quickly: bool) -> int: ...

    class Capabilities(BaseModel):
        model_config = ConfigDict(frozen=True)
        ops: frozenset[str]
        turbo: bool = False

    @dataclasses.dataclass(frozen=True)
    class DeviceInfo:
        index: int
        memory: int

    class Kind(Enum):
        CPU = "cpu"

    for made in (Device, Capabilities, DeviceInfo):
        monkeypatch.setattr(backend, made.__name__, made)
    found = writer.changes(before, signatures.describe())
    place = "vkml_core.backend"
    assert found[f"{place}.Device.compile"] == found[f"{place}.Device.upload"] == "major"
    assert found[f"{place}.Capabilities.turbo"] == "minor"
    assert found[f"{place}.Capabilities.level"] == "major"
    assert found[f"{place}.DeviceInfo.memory"] == found[f"{place}.DeviceInfo.name"] == "major"


def test_the_tool_refuses_what_the_version_does_not_allow(
    tools: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    signatures, writer = tools
    now = signatures.describe()
    assert writer.write(OLD, tmp_path) is None
    assert writer.read(tmp_path / "1.2.txt") == now and writer.versions(tmp_path) == [OLD]
    gone = next(iter(now))
    (tmp_path / "1.2.txt").write_text(writer.text_of({**now, gone: "otherwise"}))
    kept = (tmp_path / "1.2.txt").read_bytes()
    for version in (OLD, NEW):
        assert gone in writer.write(version, tmp_path)
    assert (tmp_path / "1.2.txt").read_bytes() == kept and writer.versions(tmp_path) == [OLD]
    assert writer.write((2, 0), tmp_path) is None
    assert writer.read(tmp_path / "2.0.txt") == now


def _documented(place: str) -> bool:
    """Whether a string follows the name where it is declared, or a docstring its definition."""
    module, *names = place.removeprefix("vkml_core.backend.").split(".")
    body: list[Any] = ast.parse(inspect.getsource(backend)).body
    for name in (module, *names):
        for i, node in enumerate(body):
            targets = [getattr(t, "id", "") for t in getattr(node, "targets", [])]
            targets.append(getattr(getattr(node, "target", None), "id", ""))
            if getattr(node, "name", None) == name:
                found, body = ast.get_docstring(node) is not None, node.body
                break
            if name in targets:
                after = body[i + 1] if i + 1 < len(body) else None
                found = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                break
        else:
            return False
    return found


def test_everything_in_the_contract_is_documented(
    tools: tuple[ModuleType, ModuleType],
) -> None:
    signatures, _ = tools
    places = [p for p in signatures.describe() if p.startswith("vkml_core.backend.")]
    assert len(places) > 30
    assert {p for p in places if not _documented(p)} == set()
