"""A handful of kernels of the tests' own, so that the host side is tested by itself."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import needs_vulkan  # noqa: F401

from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.kernels import Kernels
from vkml_backend_vulkan.lower.arrange import Run
from vkml_core.ops.spec import Kind
from vkml_core.plan import Operand, Plan, Slot, Step

LANES = 64

_HEAD = """#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x_id = 0) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
"""
_SOURCES = {
    # out[i] = x[base_x + i * step_x] + y[base_y + i * step_y], in floats
    "add": """
layout(push_constant) uniform P { Words z; Words x; Words y; uint n; ivec2 at; ivec2 by; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    precise float s = uintBitsToFloat(x.v[at.x + int(i) * by.x])
                    + uintBitsToFloat(y.v[at.y + int(i) * by.y]);
    z.v[i] = floatBitsToUint(s);
}""",
    "copy": """
layout(push_constant) uniform P { Words z; Words x; uint n; int at; int by; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n) z.v[i] = x.v[at + int(i) * by];
}""",
    # out[i] = x[index[i]] for vectors, indices in int32
    "gather": """
layout(push_constant) uniform P { Words z; Words x; Words index; Words error; uint n; int size; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= n) return;
    int k = int(index.v[i]);
    if (k < 0 || k >= size) {
        if (atomicCompSwap(error.v[0], 0u, 1u) == 0u) {
            error.v[1] = uint(k);
            error.v[2] = uint(k >> 31);
        }
        k = 0;
    }
    z.v[i] = x.v[k];
}""",
}


@cache
def module(name: str) -> bytes:
    """Compile a module with glslangValidator."""
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory, "a.comp"), Path(directory, "a.spv")
        source.write_text(_HEAD + _SOURCES[name])
        command = ["glslangValidator", "-V", "--target-env", "vulkan1.2", "-o", binary, source]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        return binary.read_bytes()


def _groups(n: int) -> tuple[int, int, int]:
    return -(-n // LANES), 1, 1


def _vector(operand: Operand) -> tuple[int, int]:
    """Offset and stride of a view that is a vector or has one stride for all its dimensions."""
    return operand.view.offset, operand.view.strides[-1] if operand.view.strides else 0


def _count(step: Step, slots: Sequence[Slot]) -> int:
    return slots[step.write].nbytes // 4


def lower_elementwise(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """`add` for float32; `neg` is done through scratch, as a sum that is copied back."""
    n = _count(step, slots)
    x, y = step.operands[step.calls[0].args[0]], step.operands[step.calls[0].args[-1]]
    push = struct.pack("<I4x4i", n, x.view.offset, y.view.offset, _vector(x)[1], _vector(y)[1])
    pointers = (Pointer(step.write, 0), Pointer(x.slot, 0), Pointer(y.slot, 0))
    if step.calls[0].op == "add":
        return Lowered((Dispatch("add", _groups(n), pointers, push, (LANES,)),))
    # x + x into scratch 1, scratch 1 + 0-th element of nothing: copied to the result
    doubled = Dispatch("add", _groups(n), (Pointer(~1, 0), *pointers[1:]), push, (LANES,))
    back = struct.pack("<Iii", n, 0, 1)
    copied = Dispatch("copy", _groups(n), (pointers[0], Pointer(~1, 0)), back, (LANES,))
    return Lowered((doubled, copied), scratch=(12, 4 * n))


def lower_move(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Copy a vector of words."""
    n, x = _count(step, slots), step.operands[0]
    push = struct.pack("<Iii", n, *_vector(x))
    pointers = Pointer(step.write, 0), Pointer(x.slot, 0)
    return Lowered((Dispatch("copy", _groups(n), pointers, push, (LANES,)),))


def lower_gather(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Pick words by int32 indices; both are contiguous vectors."""
    n, (x, index) = _count(step, slots), step.operands
    push = struct.pack("<Ii", n, x.view.shape[0])
    pointers = tuple(Pointer(s, 0) for s in (step.write, x.slot, index.slot, ERRORS))
    return Lowered((Dispatch("gather", _groups(n), pointers, push, (LANES,)),))


_TABLE: dict[Kind, Callable[[Step, Sequence[Slot], Limits], Lowered]] = {
    Kind.ELEMENTWISE: lower_elementwise,
    Kind.MOVE: lower_move,
    Kind.INDEX: lower_gather,
}


class OneByOne(Kernels):
    """Kernels of one operation each: no two steps become one."""

    def arranged(self, plan: Plan, limits: Limits, page: int) -> tuple[Plan, tuple[Run, ...]]:
        """Leave the plan as it is."""
        return plan, ()

    def lowered(
        self, plan: Plan, limits: Limits, *, linked: bool = False, runs: Sequence[Run] = ()
    ) -> tuple[Lowered, ...]:
        """Lower each step by itself."""
        return Kernels.lowered(self, plan, limits, linked=False)


KERNELS = OneByOne(frozenset({"add", "abs", "contiguous", "gather"}), _TABLE, module)
"""`abs` stands for "twice": it has two dispatches and scratch."""
