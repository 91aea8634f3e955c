"""All 2^32 inputs of the rounded unary rows on a device, as digests of blocks of outputs.

Inputs go in the order of their bit patterns, 0x00000000 first. Every block is uploaded once and
run through all functions; while the device works on the next one, threads hash the outputs.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import resources
from threading import BoundedSemaphore
from typing import Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.values import Array
from vkml_core import graph

BLOCK: Final = 1 << 24
BLOCKS: Final = (1 << 32) // BLOCK


class Digests:
    """SHA-256 of arrays, worked out by threads; not more than two arrays a thread wait."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads)
        self._room = BoundedSemaphore(2 * threads)

    def add(self, outputs: Array) -> Future[bytes]:
        """Begin to hash the little-endian bytes of an array, as soon as there is room."""
        self._room.acquire()
        return self._pool.submit(self._hash, outputs)

    def _hash(self, outputs: Array) -> bytes:
        try:
            return hashlib.sha256(np.ascontiguousarray(outputs, "<f4").data).digest()
        finally:
            self._room.release()


def inputs_of(block: int, size: int = BLOCK) -> Array:
    """Give the floats whose bit patterns are block · size and those after it."""
    patterns = np.arange(block * size, (block + 1) * size, dtype=np.uint32)
    return patterns.view(np.float32)


def run(
    names: Sequence[str],
    device: str,
    *,
    blocks: Sequence[int] = range(BLOCKS),
    size: int = BLOCK,
    progress: Callable[[int], None] = lambda block: None,
) -> dict[str, list[bytes]]:
    """Give, for each row, the SHA-256 of the outputs of each block."""
    digests = Digests(max(1, (os.cpu_count() or 1) - 1))
    found: dict[str, list[Future[bytes]]] = {name: [] for name in names}
    for block in blocks:
        x = vkml.tensor(inputs_of(block, size), device=device)
        for name in names:
            y = Tensor(getattr(graph.build, name)(x.node))
            found[name].append(digests.add(y.numpy()))
        progress(block)
    return {name: [part.result() for part in parts] for name, parts in found.items()}


def combine(digests: Sequence[bytes]) -> str:
    """Give the SHA-256 over the concatenated digests of all blocks."""
    return hashlib.sha256(b"".join(digests)).hexdigest()


def recorded() -> dict[str, dict[str, str]]:
    """Give the oracle's digests: `all inputs`, combined, and those of `block 0x3f` alone."""
    file = resources.files("vkml_conformance") / "exhaustive_sha256.json"
    found: dict[str, dict[str, str]] = json.loads(file.read_text())
    return found
