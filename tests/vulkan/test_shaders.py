"""The shipped SPIR-V is what the sources give, and the build refuses what the contract forbids."""

from __future__ import annotations

import shutil

import pytest

from vkml_backend_vulkan.shaders import build
from vkml_backend_vulkan.shaders.check import violations
from vkml_backend_vulkan.shaders.table import Module

needs_compiler = pytest.mark.skipif(
    shutil.which("glslangValidator") is None or shutil.which("spirv-val") is None,
    reason="glslangValidator and spirv-val are not installed",
)
WHOLE = """#version 450
layout(local_size_x = 1) in;
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


@pytest.mark.parametrize("name", sorted(build.modules()))
def test_no_module_breaks_a_rule(name: str) -> None:
    assert violations((build.SPIRV / f"{name}.spv").read_bytes()) == []


@needs_compiler
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("float r = push.a + push.b;", "OpFAdd lacks NoContraction"),
        ("float r = -push.a;", "OpFNegate lacks NoContraction"),
        ("precise float p = push.a * push.b; float r = p - push.b;", "OpFSub lacks"),
        ("float r = exp(push.a);", "GLSL.std.450 instruction 27 is forbidden"),
        ("precise float r = fma(push.a, push.b, push.a);", "instruction 50 is forbidden"),
        ("float r = max(push.a, push.b);", "instruction 40 is forbidden"),
        ("precise float r = mod(push.a, push.b);", "OpFMod is forbidden"),
        ("precise float r = dot(vec2(push.a), vec2(push.b));", "OpDot is forbidden"),
    ],
)
def test_what_the_contract_forbids(monkeypatch: pytest.MonkeyPatch, line: str, found: str) -> None:
    with pytest.raises(build.BuildError, match=found):
        compiled(monkeypatch, line)


@needs_compiler
def test_what_it_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(monkeypatch, "precise float r = push.a * push.b + push.a;")


@needs_compiler
def test_an_error_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(build.BuildError, match=r"stdin:7: .*undeclared"):
        compiled(monkeypatch, "float r = nothing;")
