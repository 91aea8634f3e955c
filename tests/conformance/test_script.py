"""The script for any machine prints its table, and its parts give the oracle's digests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from vkml_conformance import exhaustive, training
from vkml_conformance.values import words

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "tests" / "numerics" / "exhaustive_sha256.json").read_text())
_BARE = """
import runpy, sys
for name in ("rich", "pytest", "torch", "hypothesis", "mpmath"):
    sys.modules[name] = None
sys.argv = ["compare.py", "--device", "cpu", "--seconds", "2"]
runpy.run_path({script!r}, run_name="__main__")
"""


def test_it_runs_on_a_bare_machine() -> None:
    code = _BARE.format(script=str(ROOT / "benchmarks" / "compare.py"))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "family" in done.stdout and done.stdout.count("  equal  ") == 4 + 1
    assert done.stdout.endswith("Every bit compared is the oracle's.\n")


@pytest.mark.parametrize("name", training.DIGESTS)
def test_twenty_steps(name: str) -> None:
    assert training.digest(name, "cpu") == training.DIGESTS[name]


def test_blocks_of_all_inputs() -> None:
    blocks = range(0xFC000, 0xFC004)
    found = exhaustive.run(["exp", "erf"], "cpu", blocks=blocks, size=1 << 10)
    assert found == exhaustive.run(["exp", "erf"], "cpu", blocks=blocks, size=1 << 10)
    assert len(set(found["exp"])) == 4 and found["exp"] != found["erf"]
    assert words(exhaustive.inputs_of(0x3F))[0] == 0x3F000000


def test_the_digest_is_the_recorded_one() -> None:
    (block,) = exhaustive.run(["sqrt"], "cpu", blocks=[0x3F])["sqrt"]
    assert block.hex() == RECORDED["block 0x3f"]["sqrt"]
    assert exhaustive.BLOCK * exhaustive.BLOCKS == 1 << 32
