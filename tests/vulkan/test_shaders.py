"""The shipped SPIR-V is what the sources give, and the build refuses what the contract forbids."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from vkml_backend_vulkan.shaders import build
from vkml_backend_vulkan.shaders.check import violations
from vkml_backend_vulkan.shaders.table import Module

needs_compiler = pytest.mark.skipif(
    shutil.which("glslangValidator") is None or shutil.which("spirv-val") is None,
    reason="glslangValidator and spirv-val are not installed",
)
WHOLE = """#version 450
layout(local_size_x = 1) in; layout(constant_id = 9) const bool CHOSEN = false;
layout(push_constant) uniform Push {{ float a; float b; }} push;
layout(set = 0, binding = 0) buffer Result {{ float v[]; }} result;
void main()
{{
    {line}
    result.v[0] = r;
}}
"""


def compiled(monkeypatch: pytest.MonkeyPatch, line: str) -> bytes:
    monkeypatch.setattr(build, "_text", lambda name: WHOLE.format(line=line))
    return build.compile_module(Module("none.comp"))


@pytest.fixture
def spirv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder for the modules of a table of two."""
    table = build.modules()
    two = {"other": table["elementwise.add.f32"], "same": table["elementwise.add.i32"]}
    monkeypatch.setattr(build, "modules", lambda: two)
    monkeypatch.setattr(build, "SPIRV", tmp_path / "spirv")
    monkeypatch.setattr(build, "MANIFEST", tmp_path / "spirv" / "manifest.json")
    return tmp_path / "spirv"


def change(spirv: Path, name: str, words: bytes) -> None:
    """Replace a module and its hash, as another compiler would have made them."""
    spirv.joinpath(f"{name}.spv").write_bytes(words)
    manifest = spirv / "manifest.json"
    data = json.loads(manifest.read_text())
    data["modules"][name]["spirv"] = hashlib.sha256(words).hexdigest()
    manifest.write_text(json.dumps(data))


def test_nothing_is_stale() -> None:
    table, (by, kept) = build.modules(), build.read_manifest()
    assert by.startswith("glslang")
    assert build.stale(table, kept) == []
    present = {path.stem for path in build.SPIRV.glob("*.spv")}
    assert present == kept.keys() == table.keys()


@needs_compiler
def test_the_bytes_are_the_compilers() -> None:
    table, (by, _) = build.modules(), build.read_manifest()
    if by != build.compiler():
        pytest.skip(f"built with {by}, here is {build.compiler()}")
    for name in ("elementwise.add.f32", "reduce.sum.f16", "cast.i64.f16"):
        assert build.compile_module(table[name]) == (build.SPIRV / f"{name}.spv").read_bytes()


@needs_compiler
@pytest.mark.parametrize(
    ("here", "there", "said", "wrong"),
    [
        ("glslang A", "glslang A", "bytes compared (glslang A)", ["other: other bytes"]),
        ("glslang B", "glslang A", "not the bytes of glslang A, here is glslang B", []),
        ("", "glslang A", "nothing was compiled, since glslangValidator or spirv-val", []),
    ],
)
def test_check_compares_the_bytes_of_the_same_compiler_only(
    spirv: Path, monkeypatch: pytest.MonkeyPatch, here: str, there: str, said: str, wrong: list[str]
) -> None:
    monkeypatch.setattr(build, "compiler", lambda: there)
    assert build.build() == ["other", "same"]
    change(spirv, "other", spirv.joinpath("same.spv").read_bytes())
    monkeypatch.setattr(build, "compiler", lambda: here)
    told, found = build.check()
    assert said in told
    assert found == wrong


@needs_compiler
def test_check_compiles_whatever_the_version(spirv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build.build()
    monkeypatch.setattr(build, "compiler", lambda: "glslang of another day")
    monkeypatch.setattr(build, "violations", lambda words: ["OpNever is forbidden"])
    with pytest.raises(build.BuildError, match=r"other: .*\n.*\nsame: .*\nOpNever is forbidden"):
        build.check()


@needs_compiler
def test_check_finds_what_is_stale_or_in_no_table(spirv: Path) -> None:
    build.build()
    assert build.check()[1] == []
    spirv.joinpath("same.spv").write_bytes(b"torn")
    spirv.joinpath("gone.spv").write_bytes(b"of a module that was dropped")
    assert build.check()[1] == ["same: stale", "gone: in no table"]
    assert build.build() == ["same"]
    assert build.check()[1] == []


def test_a_missing_compiler_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.compiler() == ""
    with pytest.raises(build.BuildError, match=r"glslangValidator is missing: .*glslang-tools"):
        build.compile_module(build.modules()["elementwise.add.f32"])


@pytest.mark.parametrize("name", sorted(build.modules()))
def test_no_module_breaks_a_rule(name: str) -> None:
    assert violations((build.SPIRV / f"{name}.spv").read_bytes()) == []


@needs_compiler
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("float r = exp(push.a);", "GLSL.std.450 instruction 27 is forbidden"),
        ("precise float r = fma(push.a, push.b, push.a);", "instruction 50 is forbidden in"),
        ("float r = max(push.a, push.b);", "instruction 40 is forbidden"),
        ("precise float r = mod(push.a, push.b);", "OpFMod is forbidden"),
        ("precise float r = dot(vec2(push.a), vec2(push.b));", "OpDot is forbidden"),
        (
            "ivec2 by = CHOSEN ? ivec2(0, 1) : ivec2(1, 0); float r = intBitsToFloat(by.x);",
            "is a vector that is specialised",
        ),
    ],
)
def test_what_the_contract_forbids(monkeypatch: pytest.MonkeyPatch, line: str, found: str) -> None:
    with pytest.raises(build.BuildError, match=found):
        compiled(monkeypatch, line)


@needs_compiler
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("float r = push.a + push.b;", "OpFAdd lacks NoContraction"),
        ("float r = -push.a;", "OpFNegate lacks NoContraction"),
        ("precise float p = push.a * push.b; float r = p - push.b;", "OpFSub lacks"),
    ],
)
def test_arithmetic_is_never_contracted(
    monkeypatch: pytest.MonkeyPatch, line: str, found: str
) -> None:
    """The build decorates it; what is not decorated is refused."""
    assert compiled(monkeypatch, line)
    monkeypatch.setattr(build, "without_contraction", lambda module: module)
    with pytest.raises(build.BuildError, match=found):
        compiled(monkeypatch, line)


@needs_compiler
def test_what_it_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(monkeypatch, "precise float r = push.a * push.b + push.a;")


@needs_compiler
def test_an_error_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(build.BuildError, match=r"stdin:7: .*undeclared"):
        compiled(monkeypatch, "float r = nothing;")
