"""Which words of a SPIR-V instruction are ids: the instructions that the project's shaders use.

Numbers are those of the SPIR-V specification 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

NAME, EXTENSION, EXT_IMPORT, MEMORY_MODEL, ENTRY_POINT = 5, 10, 11, 14, 15
EXECUTION_MODE, CAPABILITY, FORWARD_POINTER, CONSTANT = 16, 17, 39, 43
SPEC_CONSTANT_OP: Final = 52
FUNCTION, PARAMETER, FUNCTION_END, CALL, VARIABLE = 54, 55, 56, 57, 59
DECORATE, MEMBER_DECORATE, LABEL, RETURN, RETURN_VALUE = 71, 72, 248, 253, 254

_VALUES: Final = "TR*"
_FORMS: Final[dict[int, str]] = {
    1: "TR",  # OpUndef
    11: "R+",  # OpExtInstImport
    12: "TRil*",  # OpExtInst
    19: "R",  # OpTypeVoid
    20: "R",  # OpTypeBool
    21: "R+",  # OpTypeInt
    22: "R+",  # OpTypeFloat
    23: "Ri+",  # OpTypeVector
    28: "R*",  # OpTypeArray
    29: "R*",  # OpTypeRuntimeArray
    30: "R*",  # OpTypeStruct
    32: "Rl*",  # OpTypePointer
    33: "R*",  # OpTypeFunction
    41: "TR",  # OpConstantTrue
    42: "TR",  # OpConstantFalse
    43: "TR+",  # OpConstant
    44: _VALUES,  # OpConstantComposite
    46: "TR",  # OpConstantNull
    48: "TR",  # OpSpecConstantTrue
    49: "TR",  # OpSpecConstantFalse
    50: "TR+",  # OpSpecConstant
    51: _VALUES,  # OpSpecConstantComposite
    52: "TR",  # OpSpecConstantOp, then an opcode and its operands
    54: "TRl*",  # OpFunction
    55: "TR",  # OpFunctionParameter
    56: "",  # OpFunctionEnd
    57: _VALUES,  # OpFunctionCall
    59: "TRl*",  # OpVariable
    61: "TRi+",  # OpLoad
    62: "ii+",  # OpStore
    65: _VALUES,  # OpAccessChain
    66: _VALUES,  # OpInBoundsAccessChain
    71: "i+",  # OpDecorate
    72: "i+",  # OpMemberDecorate
    77: _VALUES,  # OpVectorExtractDynamic
    78: _VALUES,  # OpVectorInsertDynamic
    79: "TRii+",  # OpVectorShuffle
    80: _VALUES,  # OpCompositeConstruct
    81: "TRi+",  # OpCompositeExtract
    82: "TRii+",  # OpCompositeInsert
    83: _VALUES,  # OpCopyObject
    **dict.fromkeys(range(109, 206), _VALUES),  # conversions, arithmetic, comparisons, bits
    224: "*",  # OpControlBarrier
    225: "*",  # OpMemoryBarrier
    **dict.fromkeys((227, *range(229, 243)), _VALUES),  # atomics that give a value
    228: "*",  # OpAtomicStore
    245: _VALUES,  # OpPhi
    246: "ii+",  # OpLoopMerge
    247: "i+",  # OpSelectionMerge
    248: "R",  # OpLabel
    249: "i",  # OpBranch
    250: "iii+",  # OpBranchConditional
    253: "",  # OpReturn
    254: "i",  # OpReturnValue
    255: "",  # OpUnreachable
    400: _VALUES,  # OpCopyLogical
}
"""T is the id of the type, R the result, i an id, l a literal; in the end * stands for more ids
and + for more literals. OpSwitch is not among them: its form depends on types."""


def id_places(opcode: int, words: Sequence[int]) -> tuple[int, ...]:
    """Give the places of ids among the operand words. Raises KeyError if unknown."""
    if opcode != SPEC_CONSTANT_OP:
        return _places(opcode, len(words))
    inner = _places(words[2], len(words) - 1)  # type, result, this opcode, then its operands
    return tuple(k + (k > 1) for k in inner)


@cache
def _places(opcode: int, length: int) -> tuple[int, ...]:
    form = _FORMS[opcode]
    head, more = form.rstrip("*+"), form.endswith("*")
    named = [k for k, f in enumerate(head[:length]) if f != "l"]
    return (*named, *(range(len(head), length) if more else ()))


@cache
def result_place(opcode: int) -> int:
    """Give the place of the result's id among the operand words, or −1."""
    return _FORMS[opcode].find("R")
