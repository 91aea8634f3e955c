"""The run over all inputs, on some of them: the device's digests of blocks are the oracle's."""

from __future__ import annotations

import needs_vulkan  # noqa: F401
from vkml_conformance import exhaustive

from vkml_backend_cpu.elementary import ELEMENTARY

SIZE = 1 << 12
BLOCKS = [pattern // SIZE for pattern in (0x3F800000, 0xBF000000, 0x42B00000, 0x7F7FF000)]
"""Blocks from 1, −0.5 and 88, and the one that ends with the largest number."""


def test_blocks_of_every_function(name: str) -> None:
    ops = list(ELEMENTARY)
    got = exhaustive.run(ops, name, blocks=BLOCKS, size=SIZE)
    want = exhaustive.run(ops, "cpu", blocks=BLOCKS, size=SIZE)
    assert [op for op in ops if got[op] != want[op]] == []
    assert len({digest for digests in want.values() for digest in digests}) > 50
