"""Trace → Recorded: the plan of a traced step, and where its inputs and numbers come from."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from vkml_core import runtime
from vkml_core.compile.bindings import (
    Bindings,
    Effects,
    Number,
    Outside,
    Result,
    meaning,
)
from vkml_core.compile.signature import Packer
from vkml_core.compile.step import Recorded
from vkml_core.compile.trace import Trace
from vkml_core.dtypes import DType, Scalar, check_scalar, float32
from vkml_core.errors import CompileError, DeviceError
from vkml_core.graph import Node, Storage, pending_inputs, reachable
from vkml_core.live import Source
from vkml_core.runtime import Entry
from vkml_core.tensor import Tensor


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the plan has to compute."""

    results: list[Node]
    gradients: list[tuple[Tensor | int, Node]]
    arguments: list[tuple[int, Node]]
    cleared: list[Tensor]
    state: list[tuple[Tensor, Node]]
    """Tensors that are overwritten, with their last assignments."""

    def roots(self) -> list[Node]:
        """List it in the order of the plan's outputs."""
        pairs: Sequence[tuple[object, Node]] = (*self.gradients, *self.arguments, *self.state)
        return [*self.results, *(node for _, node in pairs)]


def bind(trace: Trace, results: Sequence[Tensor], pack: Packer) -> Recorded:
    """Plan what a step computes. The trace is over, and its changes are still in place.

    Raises DeviceError for several devices, CompileError for a step that computes nothing.
    """
    wanted = _wanted(trace, results)
    roots = wanted.roots()
    order = reachable(roots, pending_inputs)
    if not roots:
        raise CompileError("compile: the step gives no tensor and changes none: nothing to compile")
    _check_devices(order)
    donate = [trace.tensors[id(t)][1] for t, _ in wanted.state]
    _check_alone(trace, donate)
    entry = runtime.prepare(roots[0].device, order, roots, donate)
    held = _holders(trace, entry, order)
    places = iter(range(len(roots)))
    made = [_result(entry, held, next(places), n) for n in wanted.results]
    effects = Effects(cleared=wanted.cleared, required=trace.required())
    effects.gradients = [(t, _result(entry, held, next(places), n)) for t, n in wanted.gradients]
    effects.arguments = [(i, _result(entry, held, next(places), n)) for i, n in wanted.arguments]
    return Recorded(entry, _bindings(trace, wanted, entry, order), made, pack, effects)


def _wanted(trace: Trace, results: Sequence[Tensor]) -> _Wanted:
    wanted = _Wanted([t.node for t in results], [], [], [], [])
    for key, tensor in trace.changed.items():
        if key in trace.arguments:
            wanted.arguments.append((trace.arguments[key], tensor.node))
        elif key in trace.tensors and tensor.node is not trace.tensors[key][1]:
            wanted.state.append((tensor, tensor.node))
    for g in trace.gradients.values():
        key, now = id(g.tensor), g.tensor._grad
        if now is g.entry or trace.is_own(g.tensor):
            continue
        target = trace.arguments.get(key, g.tensor)
        if now is None or (key in trace.changed and not g.read and target is g.tensor):
            wanted.cleared.append(g.tensor)  # it has served its purpose
        else:
            wanted.gradients.append((target, now.node))
    return wanted


def _check_devices(order: Sequence[Node]) -> None:
    names = list(dict.fromkeys(n.device for n in order))
    if len(names) > 1:
        raise DeviceError(
            f"compile: the step uses tensors on {' and '.join(names)}; one step runs on one "
            "device, move the others there before the call with .to(device)"
        )


def _check_alone(trace: Trace, leaves: Sequence[Node]) -> None:
    """Refuse to change a tensor whose leaf another tensor in use stands for as well."""
    often = Counter(node.serial for _, node in trace.tensors.values())
    for leaf in leaves:
        if often[leaf.serial] > 1:
            raise CompileError(
                f"compile: the step changes a {leaf.dtype.name}{leaf.shape} tensor and uses "
                "another one that is the same leaf: make that one with .detach()"
            )


_Holders = dict[int, Storage | Tensor | int]


def _holders(trace: Trace, entry: Entry, order: Sequence[Node]) -> _Holders:
    """Map the slots of inputs to who has their buffers."""
    found: _Holders = {}
    for slot, position in zip(entry.scheduled.plan.inputs, entry.scheduled.inputs, strict=True):
        node = order[position]
        if id(node.storage) in trace.given:
            found[slot] = trace.given[id(node.storage)]
        elif node.serial in trace.leaves:
            found[slot] = trace.leaves[node.serial]
        elif node.storage is not None:
            found[slot] = node.storage
    return found


def _result(entry: Entry, held: _Holders, place: int, node: Node) -> Result:
    slot = entry.scheduled.plan.outputs[place]
    return Result(place, node.shape, node.dtype, held.get(slot))


def _bindings(trace: Trace, wanted: _Wanted, entry: Entry, order: Sequence[Node]) -> Bindings:
    owners = {
        id(g.entry): g.tensor for g in trace.gradients.values() if g.read and g.entry is not None
    }
    state = {id(t): t for t, _ in wanted.state}
    places: dict[int, int] = {}
    made = Bindings([], len(state), [None] * len(entry.scheduled.inputs))
    for place, position in enumerate(entry.scheduled.inputs):
        node = order[position]
        tensor = trace.leaves.get(node.serial)
        if id(node.storage) in trace.given:
            made.given.append((trace.given[id(node.storage)], place))
        elif tensor is None:
            made.inputs[place] = runtime.buffer_of(node, entry.device)
            made.constants.append(node.storage)
        elif id(tensor) in owners:
            made.gradients.append((owners[id(tensor)], place))
        else:
            places[id(tensor)] = place
    rest = [t for t, _ in trace.tensors.values() if id(t) not in state and id(t) not in owners]
    made.outside = [
        Outside(t, places.get(id(t)), meaning(trace.tensors[id(t)][1]))
        for t in (*state.values(), *rest)
    ]
    made.looked = [
        (g.tensor, g.entry is not None)
        for key, g in trace.gradients.items()
        if g.read and key not in trace.arguments
    ]
    _bind_numbers(trace, made, entry, order)
    return made


def _bind_numbers(trace: Trace, made: Bindings, entry: Entry, order: Sequence[Node]) -> None:
    made.feeds = [(feed, []) for feed in trace.feeds.values()]
    numbers = {id(feed): numbers for feed, numbers in made.feeds}
    for place, position in enumerate(entry.scheduled.scalars):
        node = order[position]
        assert node.value is not None  # it is a `full` leaf
        made.scalars.append(node.value)
        source = node.source
        if source is not None and source.evaluate is not None:
            numbers[id(source.feed)].append(Number(place, _rounded(source, node.dtype)))


def _single(value: Scalar) -> float:
    return ctypes.c_float(value).value  # as numpy.float32 rounds, and ten times as fast


_ROUND: Final[dict[DType, Callable[[Scalar], Scalar]]] = {float32: _single}


def _rounded(source: Source, dtype: DType) -> Callable[[], Scalar]:
    """Give a source's number as a plan takes it."""
    evaluate = source.evaluate
    assert evaluate is not None
    convert = _ROUND.get(dtype, partial(check_scalar, dtype=dtype))
    return lambda: convert(evaluate())
