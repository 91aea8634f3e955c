"""Leaves of a SPIR-V module's names those of its functions, by which fused modules are linked."""

from __future__ import annotations

import struct
from typing import Final

from vkml_backend_vulkan.shaders.check import HEADER_WORDS, instructions

NAME, FUNCTION = 5, 54
_SOURCES: Final = frozenset({2, 3, 4, 6, 7, 330})
"""OpSourceContinued, OpSource, OpSourceExtension, OpMemberName, OpString, OpModuleProcessed."""


def only_function_names(module: bytes) -> bytes:
    """Drop what tells of the source; a function is called what it is called there.

    A module without names stays as it is.
    """
    found = list(instructions(module))
    if not any(op == NAME for op, _ in found):
        return module
    functions = {words[1] for op, words in found if op == FUNCTION}
    kept = list(struct.unpack_from(f"<{HEADER_WORDS}I", module))
    for op, words in found:
        if op == NAME and words[0] in functions:
            words = words[0], *literal(text(words[1:]).split("(")[0])
        elif op == NAME or op in _SOURCES:
            continue
        kept += (len(words) + 1) << 16 | op, *words
    return struct.pack(f"<{len(kept)}I", *kept)


def text(words: tuple[int, ...]) -> str:
    """Read a literal string."""
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode()


def literal(string: str) -> tuple[int, ...]:
    """Give the words of a literal string."""
    data = string.encode() + bytes(4 - len(string) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)
