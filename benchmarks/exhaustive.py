"""Run one elementary function of the oracle over all 2^32 float32 inputs and print the digest.

Inputs go in the order of their bit patterns, 0x00000000 first, in 256 blocks of 2^24. The digest
is the SHA-256 over the concatenated 32-byte SHA-256s of the blocks' little-endian outputs, so a
run can stop after any block and go on later:

    python benchmarks/exhaustive.py exp --resume exp.json
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vkml_backend_cpu.elementary import ELEMENTARY

Float32 = NDArray[np.float32]

BLOCK = 1 << 24
BLOCKS = (1 << 32) // BLOCK


def block_digest(function: Callable[[Float32], Float32], block: int) -> str:
    """Hex SHA-256 of the outputs of one block."""
    inputs = np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint32).view(np.float32)
    return hashlib.sha256(function(inputs).astype("<f4").tobytes()).hexdigest()


def combine(digests: list[str]) -> str:
    """SHA-256 over the concatenated block digests."""
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()


def load(state: Path | None, name: str) -> list[str]:
    """The digests of the blocks done so far; raises ValueError for another function's state."""
    if state is None or not state.exists():
        return []
    saved = json.loads(state.read_text())
    if (saved["function"], saved["block"]) != (name, BLOCK):
        raise ValueError(f"{state} belongs to {saved['function']} in blocks of {saved['block']}")
    digests: list[str] = saved["digests"]
    return digests


def save(state: Path, name: str, digests: list[str]) -> None:
    """Replace the state file in one step, so that a kill leaves the old or the new one."""
    partial = state.with_suffix(".partial")
    partial.write_text(json.dumps({"function": name, "block": BLOCK, "digests": digests}))
    partial.replace(state)


def with_progress(blocks: range, name: str) -> Iterator[int]:
    """Yield the blocks under a progress bar (rich), or with a line each 16 blocks without it."""
    try:
        from rich.progress import track
    except ImportError:
        return _with_lines(blocks, name)
    tracked: Iterable[int] = track(blocks, description=name, total=BLOCKS, completed=blocks.start)
    return iter(tracked)


def _with_lines(blocks: range, name: str) -> Iterator[int]:
    for block in blocks:
        if block % 16 == 0:
            print(f"{name}: {block}/{BLOCKS}", flush=True)
        yield block


def run(name: str, state: Path | None) -> str:
    """Digest of the function ``name`` over all inputs, continuing from ``state`` if given."""
    digests = load(state, name)
    for block in with_progress(range(len(digests), BLOCKS), name):
        digests.append(block_digest(ELEMENTARY[name], block))
        if state is not None:
            save(state, name, digests)
    return combine(digests)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("function", choices=sorted(ELEMENTARY))
    parser.add_argument("--resume", type=Path, metavar="FILE", help="state file, kept up to date")
    arguments = parser.parse_args()
    start = time.perf_counter()
    digest = run(arguments.function, arguments.resume)
    print(f"{digest}  {arguments.function}  ({time.perf_counter() - start:.0f} s)")
    print(f"SHA-256 over the SHA-256s of {BLOCKS} blocks of 2^24 outputs, bit-pattern order")


if __name__ == "__main__":
    main()
