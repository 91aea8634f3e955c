"""All inputs of a function, and twenty steps of a model: the digests are the recorded ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from vkml_conformance import exhaustive, training
from vkml_conformance.values import words

ROOT = Path(__file__).parents[2]
RECORDED = exhaustive.recorded()


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
