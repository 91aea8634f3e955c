"""Realising graphs: plan cache, pending assignments, eager mode; the only caller of backends."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from vkml_core import spans
from vkml_core.backend import Device, Executable
from vkml_core.errors import DeviceError
from vkml_core.graph import Node, Storage, pending_inputs, reachable, tracing
from vkml_core.holders import overwritten
from vkml_core.plan import Plan
from vkml_core.plugins import open_device
from vkml_core.schedule import Scheduled, schedule
from vkml_core.settings import settings
from vkml_core.spans import Phase

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
class Entry:
    """A plan made ready: for the device of that name, as it was opened."""

    name: str
    device: Device
    scheduled: Scheduled
    executable: Executable


_cache: Final[OrderedDict[Hashable, Entry]] = OrderedDict()
_devices: Final[dict[str, Device]] = {}
"""Devices that plans are kept for, by name."""
lock: Final = threading.RLock()
"""Held while anything runs."""


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
    if tracing() is not None:
        return
    key = id(tensor)
    _outputs[key] = ref(tensor, lambda _: _outputs.pop(key, None))


def register_assignment(tensor: Tensor, before: Node) -> None:
    """Remember that `tensor` was assigned to, so that it joins the next submission.

    A second assignment to the same tensor first computes what is pending: that keeps a loop that
    reads no value from growing one graph for ever.
    """
    trace = tracing()
    if trace is not None:
        trace.assigned(tensor)
        return
    key = id(tensor)
    if key in _pending:
        realize([before])
    _pending.setdefault(key, _Pending(ref(tensor, lambda _: _pending.pop(key, None)), before))


def realize(nodes: Iterable[Node]) -> None:
    """Compute `nodes`, and every pending assignment on their devices, in one submission each.

    If that fails, the pending assignments are computed by themselves; if they fail too, all of
    them are taken back. Nothing else is changed.
    """
    trace = tracing()
    if trace is not None:
        nodes = list(nodes)
        trace.read(nodes)
        with trace.outside():
            realize(nodes)
        return
    wanted: dict[str, list[Node]] = {}
    for node in nodes:
        if node.storage is None:
            wanted.setdefault(node.device, []).append(node)
    with spans.span(Phase.PLAN), lock:
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
    """Compute `roots`; pending assignments overwrite in place what nobody else holds."""
    order = reachable(roots, pending_inputs)
    free, also = overwritten(order, roots, _updates(_waiting(device)))
    roots = [*roots, *also]
    entry = prepare(device, order, roots, free)
    plan, opened = entry.scheduled, entry.device
    buffers = [buffer_of(order[i], opened) for i in plan.inputs]
    numbers = [order[i].value for i in plan.scalars]
    with spans.span(Phase.SUBMIT):
        results = entry.executable.run(buffers, [n for n in numbers if n is not None])
    known = {id(n.storage.buffer): n.storage for n in order if n.storage is not None}
    for root, buffer in zip(roots, results, strict=True):
        storage = known.get(id(buffer))
        if storage is None:
            storage = known[id(buffer)] = Storage(buffer, opened)
        root.settle(storage)


def buffer_of(node: Node, opened: Device) -> Any:
    """Give a leaf's buffer. Raises DeviceError if it is not on the device that runs."""
    assert node.storage is not None
    if node.storage.device is not opened:
        raise DeviceError(
            f"{node.device}: this {node.dtype.name}{node.shape} tensor was made before the device "
            f"was opened anew; make it again from x.numpy(), or from a checkpoint if it was lost"
        )
    return node.storage.buffer


def prepare(
    device: str, order: Sequence[Node], roots: Sequence[Node], donate: Sequence[Node] = ()
) -> Entry:
    """Find the plan of a graph of this structure, or make it; `donate` as in `schedule`."""
    opened = _current(device)
    key = (device, *structure(order, roots, donate))
    entry = find_plan(key, opened)
    if entry is None:
        scheduled = schedule(order, roots, donate=donate, capabilities=opened.capabilities())
        entry = keep_plan(key, device, opened, scheduled)
    return entry


def find_plan(key: Hashable, opened: Device) -> Entry | None:
    """Give the plan that is kept under a key, unless it is another device's by now."""
    entry = _cache.get(key)
    if entry is None or entry.device is not opened:
        return None
    _cache.move_to_end(key)
    return entry


def keep_plan(key: Hashable, device: str, opened: Device, scheduled: Scheduled) -> Entry:
    """Compile a plan and keep it; what was not used for longest is forgotten."""
    entry = Entry(device, opened, scheduled, opened.compile(scheduled.plan))
    _cache[key] = entry
    if len(_cache) > CACHE_SIZE:
        _cache.popitem(last=False)
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


def structure(
    order: Sequence[Node], roots: Sequence[Node], donate: Sequence[Node] = ()
) -> tuple[Hashable, ...]:
    """Give what two graphs have in common when one plan serves both.

    The buffers of `data` leaves and the numbers of `full` leaves are not part of it; which numbers
    are known to be the same is.
    """
    place = {n.serial: i for i, n in enumerate(order)}
    same: dict[Hashable, int] = {}
    rows: list[Hashable] = []
    for i, n in enumerate(order):
        if n.storage is not None or not n.inputs:
            first = None if n.source is None else same.setdefault((n.source.key, n.dtype), i)
            rows.append((n.storage is None, n.shape, n.dtype, first))
        else:
            rows.append((n.op.name, n.attrs, tuple(place[i.serial] for i in n.inputs)))
    given = tuple(place[n.serial] for n in donate)
    return tuple(rows), tuple(place[r.serial] for r in roots), given


def plan_of(nodes: Sequence[Node]) -> Plan:
    """Give the plan that `realize` would run for `nodes` on one device, without running it."""
    device = nodes[0].device
    for other in nodes:
        if other.device != device:
            raise DeviceError(f"plan: one plan is for one device, got {device} and {other.device}")
    waiting = [*_updates(_waiting(device)), *_differentiated(device).values()]
    roots = _unique([*nodes, *waiting])
    order = reachable(roots, pending_inputs)
    del waiting
    free, also = overwritten(order, roots, _updates(_waiting(device)))
    able = open_device(device).capabilities()
    return schedule(order, [*roots, *also], donate=free, capabilities=able).plan


def cached_plans() -> list[Plan]:
    """Give the plans kept: those of what was computed last."""
    with lock:
        return [entry.scheduled.plan for entry in _cache.values()]


def cache_info() -> dict[str, int]:
    """Count the plans kept."""
    return {"plans": len(_cache), "limit": CACHE_SIZE}


def clear_cache() -> None:
    """Forget all plans."""
    _cache.clear()
    _devices.clear()
