"""Realising graphs: plan cache, pending assignments, eager mode; the only caller of backends."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import ref

from vkml_core.backend import Device, Executable
from vkml_core.errors import DeviceError
from vkml_core.graph import Node, Storage, pending_inputs, reachable
from vkml_core.plan import Plan
from vkml_core.plugins import open_device
from vkml_core.schedule import Scheduled, schedule
from vkml_core.settings import settings

if TYPE_CHECKING:
    from vkml_core.tensor import Tensor

CACHE_SIZE: Final = 256
"""Plans kept, least recently used first out."""


class _Mode(threading.local):
    eager: bool | None = None


_mode: Final = _Mode()


def is_eager() -> bool:
    """Whether every operation is computed at once: what was set, or else `VKML_EAGER`."""
    if _mode.eager is None:
        _mode.eager = settings().eager
    return _mode.eager


def set_eager(on: bool) -> None:
    """Compute every operation at once (True) or only what a value needs (False, the default)."""
    _mode.eager = bool(on)


@contextmanager
def eager_mode(on: bool = True) -> Iterator[None]:
    """Inside, compute every operation at once. The bits are the same as without."""
    before = is_eager()
    set_eager(on)
    try:
        yield
    finally:
        set_eager(before)


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    device: Device
    scheduled: Scheduled
    executable: Executable


_cache: Final[OrderedDict[Hashable, _Entry]] = OrderedDict()
_devices: Final[dict[str, Device]] = {}
"""Devices that plans are kept for, by name."""
_lock: Final = threading.RLock()


@dataclass(frozen=True, slots=True)
class _Pending:
    """An assignment not yet computed: which tensor, and its node from before."""

    tensor: ref[Tensor]
    before: Node


_pending: Final[dict[int, _Pending]] = {}
_outputs: Final[dict[int, ref[Tensor]]] = {}
"""Tensors that were differentiated and are not computed yet, by id."""


def register_output(tensor: Tensor) -> None:
    """Remember that `tensor` was differentiated: it is computed with the step that it belongs to.

    So a loss that is kept and read later holds neither the graph nor the parameters of its step.
    """
    key = id(tensor)
    _outputs[key] = ref(tensor, lambda _: _outputs.pop(key, None))


def register_assignment(tensor: Tensor, before: Node) -> None:
    """Remember that `tensor` was assigned to, so that it joins the next submission.

    A second assignment to the same tensor first computes what is pending: that keeps a loop that
    reads no value from growing one graph for ever.
    """
    key = id(tensor)
    if key in _pending:
        realize([before])
    _pending.setdefault(key, _Pending(ref(tensor, lambda _: _pending.pop(key, None)), before))


def realize(nodes: Iterable[Node]) -> None:
    """Compute `nodes`, and every pending assignment on their devices, in one submission each.

    If that fails, the pending assignments are computed by themselves; if they fail too, all of
    them are taken back. Nothing else is changed.
    """
    wanted: dict[str, list[Node]] = {}
    for node in nodes:
        if node.storage is None:
            wanted.setdefault(node.device, []).append(node)
    with _lock:
        for device, roots in wanted.items():
            _realize_on(device, roots)


def _realize_on(device: str, roots: list[Node]) -> None:
    _current(device)
    waiting, outputs = _waiting(device), _differentiated(device)
    try:
        _run(device, _unique([*roots, *_updates(waiting), *outputs.values()]))
    except Exception:
        _keep_or_take_back(device, waiting)
        raise
    finally:
        for key in waiting:
            _pending.pop(key, None)
        for key in outputs:
            _outputs.pop(key, None)


def _waiting(device: str) -> dict[int, _Pending]:
    """Give the pending assignments of a device. (A copy: tensors may die while it is read.)"""
    return {k: p for k, p in _pending.copy().items() if p.before.device == device}


def _updates(waiting: dict[int, _Pending]) -> list[Node]:
    return [t.node for p in waiting.values() if (t := p.tensor()) is not None]


def _differentiated(device: str) -> dict[int, Node]:
    """Give the differentiated outputs of a device that still wait."""
    alive = {k: t for k, r in _outputs.copy().items() if (t := r()) is not None}
    return {k: t.node for k, t in alive.items() if t.node.device == device}


def _unique(nodes: Iterable[Node]) -> list[Node]:
    """Give the nodes that are not computed yet, each once."""
    return list({n.serial: n for n in nodes if n.storage is None}.values())


def _keep_or_take_back(device: str, waiting: dict[int, _Pending]) -> None:
    """After a failure that may be another value's: assignments succeed together or not at all."""
    try:
        _run(device, _unique(_updates(waiting)))
    except Exception:
        for p in waiting.values():
            if (t := p.tensor()) is not None:
                t.restore(p.before)


def _run(device: str, roots: Sequence[Node]) -> None:
    order = reachable(roots, pending_inputs)
    entry = _prepare(device, order, roots)
    plan, opened = entry.scheduled, entry.device
    buffers = [_buffer(order[i], opened) for i in plan.inputs]
    numbers = [order[i].value for i in plan.scalars]
    results = entry.executable.run(buffers, [n for n in numbers if n is not None])
    for root, buffer in zip(roots, results, strict=True):
        root.settle(Storage(buffer, opened))


def _buffer(node: Node, opened: Device) -> object:
    """Give a leaf's buffer. Raises DeviceError if it is not on the device that runs."""
    assert node.storage is not None
    if node.storage.device is not opened:
        raise DeviceError(
            f"{node.device}: this {node.dtype.name}{node.shape} tensor was made before the device "
            f"was opened anew; make it again from x.numpy(), or from a checkpoint if it was lost"
        )
    return node.storage.buffer


def _prepare(device: str, order: Sequence[Node], roots: Sequence[Node]) -> _Entry:
    """Find the plan of a graph of this structure, or make it."""
    opened = _current(device)
    key = (device, *structure(order, roots))
    entry = _cache.get(key)
    if entry is None:
        scheduled = schedule(order, roots, capabilities=opened.capabilities())
        entry = _Entry(device, opened, scheduled, opened.compile(scheduled.plan))
        _cache[key] = entry
        if len(_cache) > CACHE_SIZE:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return entry


def _current(name: str) -> Device:
    """Give the device as it is opened now; what was made for it as it was before is forgotten."""
    opened = open_device(name)
    if _devices.get(name) is not opened:
        for key in [k for k, entry in _cache.items() if entry.name == name]:
            del _cache[key]
        _forget_pending(name, opened)
        _devices[name] = opened
    return opened


def _forget_pending(name: str, opened: Device) -> None:
    """Let nothing that waits for buffers of an earlier device join what is computed on this one.

    Such a tensor says so when it is read.
    """
    for key, p in _waiting(name).items():
        if not _is_of(_updates({key: p}), opened):
            _pending.pop(key, None)
    for key, node in _differentiated(name).items():
        if not _is_of([node], opened):
            _outputs.pop(key, None)


def _is_of(nodes: Sequence[Node], opened: Device) -> bool:
    """Whether all buffers that the values of `nodes` need are on the device."""
    leaves = reachable(_unique(nodes), pending_inputs)
    return all(n.storage is None or n.storage.device is opened for n in leaves)


def structure(order: Sequence[Node], roots: Sequence[Node]) -> tuple[Hashable, Hashable]:
    """Give what two graphs have in common when one plan serves both.

    The buffers of `data` leaves and the numbers of `full` leaves are not part of it.
    """
    place = {n.serial: i for i, n in enumerate(order)}
    rows: list[Hashable] = []
    for n in order:
        if n.storage is not None or not n.inputs:
            rows.append((n.storage is None, n.shape, n.dtype))
        else:
            rows.append((n.op.name, n.attrs, tuple(place[i.serial] for i in n.inputs)))
    return tuple(rows), tuple(place[r.serial] for r in roots)


def plan_of(nodes: Sequence[Node]) -> Plan:
    """Give the plan that `realize` would run for `nodes` on one device, without running it."""
    device = nodes[0].device
    for other in nodes:
        if other.device != device:
            raise DeviceError(f"plan: one plan is for one device, got {device} and {other.device}")
    waiting = [*_updates(_waiting(device)), *_differentiated(device).values()]
    roots = _unique([*nodes, *waiting])
    order = reachable(roots, pending_inputs)
    return schedule(order, roots, capabilities=open_device(device).capabilities()).plan


def cached_plans() -> list[Plan]:
    """Give the plans kept: those of what was computed last."""
    with _lock:
        return [entry.scheduled.plan for entry in _cache.values()]


def cache_info() -> dict[str, int]:
    """Count the plans kept."""
    return {"plans": len(_cache), "limit": CACHE_SIZE}


def clear_cache() -> None:
    """Forget all plans."""
    _cache.clear()
    _devices.clear()
