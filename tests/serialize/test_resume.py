"""A run that is saved and goes on in another process ends with the bits of one never stopped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vkml
from tests.everywhere import devices
from tests.serialize.resume import OPTIMISERS, hash_of


def run(*args: object) -> str:
    script = Path(__file__).parent / "resume.py"
    command = [sys.executable, "-W", "error", str(script), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_ten_steps_and_ten_more_are_twenty(optimiser: str, tmp_path: Path) -> None:
    first, last, whole = (tmp_path / n for n in ("first", "last", "whole"))
    cpu, vulkan = devices()
    wanted = run(optimiser, cpu, "-", 20, whole)
    half = run(optimiser, cpu, "-", 10, first)
    assert half != wanted
    for device in (cpu, vulkan):
        assert run(optimiser, device, first, 10, last) == wanted
        assert hash_of(vkml.load(last)) == wanted
        assert last.read_bytes() == whole.read_bytes()


def test_the_hash_sees_all(tmp_path: Path) -> None:
    a = {"w": vkml.ones(2), "n": [1, 0.5]}
    others = [
        {"w": vkml.ones(2), "n": [1, 0.25]},
        {"w": vkml.full((2,), 1 + 2**-23), "n": [1, 0.5]},
        {"w": vkml.ones((1, 2)), "n": [1, 0.5]},
    ]
    assert len({hash_of(x) for x in (a, *others)}) == 4
    assert hash_of(a) == hash_of({"w": vkml.ones(2), "n": [1, 0.5]})
