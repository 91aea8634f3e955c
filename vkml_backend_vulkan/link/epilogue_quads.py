"""Epilogues of kernels that have four results side by side at a time (hook_quad.glsl)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from vkml_backend_vulkan.link.linker import Body
from vkml_backend_vulkan.link.prepare import prepare

if TYPE_CHECKING:
    from vkml_backend_vulkan.link.epilogue import Epilogue, Source

QUAD: Final = 4


def bodies(epilogue: Epilogue) -> dict[str, Callable[[Body], None]]:
    """Give what writes the hooks of such a kernel."""
    return {
        "hook_prepare": lambda body: prepare(body, epilogue.calls),
        "hook_store_quad": lambda body: _store(epilogue, body),
    }


def _store(epilogue: Epilogue, body: Body) -> None:
    """Load four elements of each operand, call the functions and store what is kept."""
    first, value = body.parameters
    operands = [_load(body, source, first) for source in epilogue.operands]
    results = [value]
    for call in epilogue.calls:
        given = [operands[a] if a >= 0 else results[~a] for a in call.args]
        results.append(body.call(f"quad_{call.function}", *given))
    for kept in epilogue.stores:
        target = body.call("push_address", body.number(kept.address))
        given = [target, first, body.number(QUAD), results[kept.call]]
        body.call(f"store_quad_{kept.token}", *given)
    body.end()


def _load(body: Body, source: Source, first: int) -> int:
    """Give the elements of an operand that the four results from `first` on need."""
    address = body.call("push_address", body.number(source.address))
    offset, token = body.number(source.offset), source.token
    if source.axis is None and not source.offset:
        return body.call(f"load_quad_{token}", address, first, body.number(QUAD))
    if source.axis is None:
        run = body.call("run", first, offset, body.number(QUAD))
        return body.call(f"load_at_{token}", address, run)
    axis = [body.number(n) for n in source.axis]
    if source.axis[0] % QUAD and source.axis[2]:
        return body.call(f"load_at_{token}", address, body.call("run_along", first, *axis, offset))
    place = body.call("sum", body.call("along_axis", first, *axis), offset)
    return body.call(f"load_one_{token}", address, place)
