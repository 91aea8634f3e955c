"""Puts NoContraction on every float instruction of a SPIR-V module: arithmetic is as written.

GLSL's `precise` would do the same, but glslang takes exponential time for it in chains of
error-free sums.
"""

from __future__ import annotations

import struct
from typing import Final

from vkml_backend_vulkan.shaders.check import (
    DECORATE,
    HEADER_WORDS,
    NO_CONTRACTION,
    ROUNDING,
    instructions,
)

MEMBER_DECORATE: Final = 72


def without_contraction(module: bytes) -> bytes:
    """Decorate the results of float arithmetic that are not decorated yet."""
    found = list(instructions(module))
    exact = {words[0] for op, words in found if op == DECORATE and words[1] == NO_CONTRACTION}
    missing = [words[1] for op, words in found if op in ROUNDING and words[1] not in exact]
    added = [w for result in missing for w in (3 << 16 | DECORATE, result, NO_CONTRACTION)]
    at = 4 * _end_of_decorations(module)
    return module[:at] + struct.pack(f"<{len(added)}I", *added) + module[at:]


def _end_of_decorations(module: bytes) -> int:
    """Give the word after the last decoration."""
    at = end = HEADER_WORDS
    for opcode, words in instructions(module):
        at += len(words) + 1
        if opcode in (DECORATE, MEMBER_DECORATE):
            end = at
    return end
