"""What the contract forbids in a SPIR-V module: found by reading its words.

Numbers are those of the SPIR-V specification 1.5 and of its extended set GLSL.std.450.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

MAGIC: Final = 0x07230203
HEADER_WORDS: Final = 5
EXT_INST, DECORATE, NO_CONTRACTION = 12, 71, 42

ROUNDING: Final = {127: "OpFNegate", 129: "OpFAdd", 131: "OpFSub", 133: "OpFMul", 136: "OpFDiv"}
"""Float arithmetic: allowed with the decoration NoContraction only."""
FORBIDDEN: Final = {
    115: "OpFConvert",
    140: "OpFRem",
    141: "OpFMod",
    142: "OpVectorTimesScalar",
    143: "OpMatrixTimesScalar",
    144: "OpVectorTimesMatrix",
    145: "OpMatrixTimesVector",
    146: "OpMatrixTimesMatrix",
    147: "OpOuterProduct",
    148: "OpDot",
    350: "OpGroupNonUniformFAdd",
    352: "OpGroupNonUniformFMul",
    355: "OpGroupNonUniformFMin",
    358: "OpGroupNonUniformFMax",
    6035: "OpAtomicFAddEXT",
}
EXACT_EXTENDED: Final = {5, 7, 38, 39, 41, 42, 44, 45, 73, 74, 75}
"""GLSL.std.450 on integers: SAbs SSign UMin SMin UMax SMax UClamp SClamp FindILsb FindSMsb
FindUMsb. Everything else there is about floats."""
FMA: Final = 50
"""GLSL.std.450 Fma: allowed in a block that a specialisation constant chooses, since it runs only
where the self-test has found that it rounds once."""
SPEC_CONSTANT_OP, LABEL, BRANCH_CONDITIONAL = 52, 248, 250
TYPE_VECTOR, SELECT = 23, 169


def instructions(module: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Walk a module: (opcode, operand words)."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    if words[0] != MAGIC:
        raise ValueError("spirv: the module does not begin with the magic number")
    at = HEADER_WORDS
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at + 1 : at + count]
        at += count


def violations(module: bytes) -> list[str]:
    """List what breaks the rules, a line for each instruction."""
    found = list(instructions(module))
    exact = {words[0] for op, words in found if op == DECORATE and words[1] == NO_CONTRACTION}
    wrong = [
        f"%{words[1]} = {ROUNDING[op]} lacks NoContraction"
        for op, words in found
        if op in ROUNDING and words[1] not in exact
    ]
    wrong += [f"{FORBIDDEN[op]} is forbidden" for op, _ in found if op in FORBIDDEN]
    wrong += [
        f"GLSL.std.450 instruction {words[3]} is forbidden"
        for op, words in found
        if op == EXT_INST and words[3] not in EXACT_EXTENDED | {FMA}
    ]
    return wrong + _chosen_vectors(found) + _unguarded(found)


def _chosen_vectors(found: list[tuple[int, tuple[int, ...]]]) -> list[str]:
    """List the vectors that specialisation constants choose: lavapipe takes them for zeros."""
    vectors = {words[0] for op, words in found if op == TYPE_VECTOR}
    chosen = (w for op, w in found if op == SPEC_CONSTANT_OP and w[2] == SELECT)
    return [f"%{w[1]} is a vector that is specialised" for w in chosen if w[0] in vectors]


def _unguarded(found: list[tuple[int, tuple[int, ...]]]) -> list[str]:
    """List the fused operations in blocks to which no specialisation constant leads."""
    constants = {words[1] for op, words in found if op == SPEC_CONSTANT_OP}
    chosen, block, wrong = set(), 0, []
    for op, words in found:
        if op == BRANCH_CONDITIONAL and words[0] in constants:
            chosen |= {*words[1:3]}
    for op, words in found:
        if op == LABEL:
            block = words[0]
        if op == EXT_INST and words[3] == FMA and block not in chosen:
            wrong.append(f"GLSL.std.450 instruction {FMA} is forbidden in a block of all devices")
    return wrong
