"""Modules linked in Python: valid, within the contract, the same each time, made by their names."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from itertools import product
from pathlib import Path

import pytest

from tests.vulkan.fused_maker import Maker
from vkml_backend_vulkan.kernels import modules
from vkml_backend_vulkan.link import epilogue, program
from vkml_backend_vulkan.link.linker import Linker
from vkml_backend_vulkan.link.program import Access, Apply, Program, Store
from vkml_backend_vulkan.link.unit import LIBRARY, shipped
from vkml_backend_vulkan.lower.fused import Work, describe, fits
from vkml_backend_vulkan.shaders.check import instructions, violations
from vkml_backend_vulkan.shaders.tables import cast, elementwise
from vkml_backend_vulkan.shaders.tables.hooks import HOOKED
from vkml_backend_vulkan.shaders.tables.library import call_name
from vkml_core.errors import DeviceError

needs_validator = pytest.mark.skipif(
    shutil.which("spirv-val") is None, reason="spirv-val is not installed"
)
ROWS = [
    (call_name(op, operands[-1], result), operands, result)
    for op, operands, result, _ in elementwise.expressions()
    if not elementwise.fails(op, operands[-1])
] + [(f"cast_{s}_{r}", (s,), r) for s, row in cast.EXPRESSIONS.items() for r in row]
WORDS = ("f32", "i32", "i64")


def check(directory: Path, made: list[bytes]) -> None:
    """All validate and hold the rules."""
    for i, words in enumerate(made):
        assert violations(words) == []
        path = directory / f"{i}.spv"
        path.write_bytes(words)
        command = ["spirv-val", "--target-env", "vulkan1.2", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def alone(function: str, operands: tuple[str, ...], result: str) -> Program:
    accesses = tuple(Access(t, "c") for t in operands)
    return Program((Store(result, 0),), accesses, (Apply(function, tuple(range(len(operands)))),))


@needs_validator
def test_every_row_of_the_library_links(tmp_path: Path) -> None:
    check(tmp_path, [modules(alone(*row).name) for row in ROWS])


@needs_validator
def test_every_way_to_read_links(tmp_path: Path) -> None:
    made = []
    for token, kind, offset, rank in product(elementwise.VALUE, "crnvbs", "0w", (1, 3, 4)):
        strided = kind in "vbs"
        access = Access(token, kind, offset, 0 if strided else None)
        function = Apply(f"cast_{token}_f32", (0,))
        axes = (rank, 1) if strided else (0, 0)
        made.append(modules(Program((Store("f32", 0),), (access,), (function,), *axes).name))
    check(tmp_path, made)


@needs_validator
@pytest.mark.parametrize("seed", range(20))
def test_random_programs_link(seed: int, tmp_path: Path) -> None:
    plan, _ = Maker(seed, 6, slow=True).plans()
    work = Work.of(plan.steps[0])
    if fits(work, plan.slots):
        made = describe(work, plan.slots)[0]
        assert program.parse(made.name) == made
        check(tmp_path, [modules(made.name)])


def after(head: str, token: str) -> epilogue.Epilogue:
    """head + bias, cast and kept as another dtype, and as float32."""
    calls = Apply("add_f32", (-1, 0)), Apply(f"cast_f32_{token}", (-2,)), Apply("tanh_f32", (-2,))
    kept = epilogue.Store("f32", 3, 0), epilogue.Store(token, 2, 1)
    return epilogue.Epilogue(head, kept, (epilogue.Source("f32", 1, 2, (6, 5, 1)),), calls)


@needs_validator
@pytest.mark.parametrize("head", HOOKED)
def test_every_head_links(head: str, tmp_path: Path) -> None:
    made = [after(head, token) for token in WORDS]
    assert [epilogue.parse(e.name) for e in made] == made
    check(tmp_path, [modules(e.name) for e in made])


def test_a_name_makes_the_same_bytes_each_time() -> None:
    names = [alone(*row).name for row in ROWS[:20]]
    random.Random(0).shuffle(names)
    first = [modules(name) for name in names]
    shipped.cache_clear()
    assert [modules(name) for name in names] == first


def test_modules_hold_only_what_they_need() -> None:
    small = modules(alone("add_f32", ("f32", "f32"), "f32").name)
    assert len(small) < 10_000
    functions = sum(op == 54 for op, _ in instructions(small))
    assert functions < 20
    assert len(small) < len(modules(alone("exp_f32", ("f32",), "f32").name))


def test_shared_memory_is_there_for_those_that_use_it() -> None:
    def shared(name: str) -> int:
        return sum(op == 59 and words[2] == 4 for op, words in instructions(modules(name)))

    assert shared(alone("exp_f32", ("f32",), "f32").name) == 2
    assert shared(alone("log_f32", ("f32",), "f32").name) == 3
    assert shared(alone("erf_f32", ("f32",), "f32").name) == 0


def test_names_that_tell_nothing_are_refused() -> None:
    for name in (
        "fused:",
        "fused:f32=0|f32.c0|0x0|add(0",
        "fused:a|b|c|d",
        "fused:f32=0|f32.c0|0|",
    ):
        with pytest.raises(ValueError, match="no fused module"):
            modules(name)
    with pytest.raises(ValueError, match="no fused module"):
        modules("fused@matmul.f32")
    with pytest.raises(DeviceError, match="no module is called"):
        modules("elementwise.none.f32")
    with pytest.raises(KeyError):
        modules("fused:f32=0|f32.c0|0x0|none_f32(0)")


def test_linking_is_quick() -> None:
    names = [after(head, "i32").name for head in HOOKED] + [alone(*row).name for row in ROWS]
    for name in names:
        modules(name)
    start = time.process_time()
    for name in names:
        modules(name)
    assert (time.process_time() - start) / len(names) < 0.02


def test_a_hook_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        Linker((shipped("fused.elementwise"), shipped(LIBRARY)), {"hook_none": lambda b: b.end()})
