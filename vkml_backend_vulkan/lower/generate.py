"""Steps that make tensors from two numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.elementwise import QUAD
from vkml_backend_vulkan.lower.layout import grid, local_size, only_call, operands, pack
from vkml_core.plan import Slot, Step
from vkml_core.shapes import size

_MODULES: Final = {"arange": "generate.arange.i64", "random_bits": "generate.random_bits.i32"}
OPS: Final = frozenset(_MODULES)


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower arange and random_bits: four consecutive results to an invocation."""
    call, sources = only_call(step), operands(step)
    count, local = size(call.shape), local_size(limits)
    if not count:
        return Lowered(())
    more = (call.attrs.bits,) if call.op == "random_bits" else ()
    return Lowered(
        (
            Dispatch(
                _MODULES[call.op],
                grid(-(-count // QUAD), local, limits),
                (Pointer(step.write, 0), *(Pointer(o.slot, 0) for o in sources)),
                pack(count, *(o.view.offset for o in sources), *more),
                (local,),
            ),
        )
    )
