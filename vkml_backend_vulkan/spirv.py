"""Float-control execution modes, put into a SPIR-V module when it is loaded.

The modules on disk declare none, since a mode that a driver does not report is invalid there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from vkml_backend_vulkan.instance import FloatControls
from vkml_core.errors import DeviceError

_MAGIC: Final = 0x07230203
_HEADER: Final = 5
_EXTENSION, _ENTRY_POINT, _EXECUTION_MODE, _CAPABILITY = 10, 15, 16, 17
_HEAD: Final = frozenset({10, 11, 14, 15, 16, 17, 331})
"""What a module begins with: nothing of it comes after the first other instruction."""
_BEFORE_EXTENSIONS: Final = frozenset({_CAPABILITY})
_BEFORE_MODES: Final = frozenset({_ENTRY_POINT, _EXECUTION_MODE})
_MODES: Final = {"denorm_preserve": 4459, "signed_zero_inf_nan": 4461, "rounding_rte": 4462}
_CAPABILITIES: Final = {4459: 4464, 4461: 4466, 4462: 4467}
_WIDTH: Final = 32


def with_float_controls(module: bytes, floats: FloatControls) -> bytes:
    """Declare for binary32 each mode that the device reports. Raises DeviceError if damaged."""
    words = _words(module)
    modes = [mode for name, mode in _MODES.items() if getattr(floats, name)]
    capabilities = [w for m in modes for w in _instruction(_CAPABILITY, _CAPABILITIES[m])]
    extension = _instruction(_EXTENSION, *_literal("SPV_KHR_float_controls")) if modes else []
    declared = [
        w
        for entry in _entry_points(words)
        for mode in modes
        for w in _instruction(_EXECUTION_MODE, entry, mode, _WIDTH)
    ]
    head, body = _after_last(words, _BEFORE_EXTENSIONS), _after_last(words, _BEFORE_MODES)
    made = [*words[:head], *capabilities, *extension, *words[head:body], *declared, *words[body:]]
    return struct.pack(f"<{len(made)}I", *made)


def _words(module: bytes) -> tuple[int, ...]:
    if len(module) < 4 * _HEADER or len(module) % 4:
        raise DeviceError(f"vulkan: a SPIR-V module of {len(module)} bytes is damaged")
    words = struct.unpack(f"<{len(module) // 4}I", module)
    if words[0] != _MAGIC:
        raise DeviceError(f"vulkan: a SPIR-V module starts with {words[0]:#010x}: it is damaged")
    return words


def _instructions(words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Give (opcode, first word, word after the last) of each instruction of the head."""
    at = _HEADER
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if not 0 < length <= len(words) - at:
            raise DeviceError(f"vulkan: a SPIR-V module is damaged at word {at}")
        if opcode not in _HEAD:
            return
        yield opcode, at, at + length
        at += length


def _after_last(words: Sequence[int], opcodes: frozenset[int]) -> int:
    return max((end for op, _, end in _instructions(words) if op in opcodes), default=_HEADER)


def _entry_points(words: Sequence[int]) -> list[int]:
    return [words[at + 2] for op, at, _ in _instructions(words) if op == _ENTRY_POINT]


def _instruction(opcode: int, *operands: int) -> list[int]:
    return [(len(operands) + 1) << 16 | opcode, *operands]


def _literal(string: str) -> tuple[int, ...]:
    data = string.encode() + bytes(4 - len(string) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)
