"""How long a step may take, on the safe side, and where a plan is cut so that drivers stay patient.

A driver kills a submission that runs for too long: after 2 s on Windows, 10 s elsewhere. Only a
step that is too long by itself is left over; no cut can help it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from vkml_backend_vulkan.lower.sort import RUN
from vkml_core.backend import DeviceKind
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Slot, Step
from vkml_core.shapes import Shape, size

SECONDS: Final = 0.5
"""What one submission may take by estimate."""
MOST_DISPATCHES: Final = 4096
"""Dispatches in one submission: some drivers are slow without being impatient."""
_SLOW: Final = (1e10, 1e10)
RATES: Final[dict[DeviceKind, tuple[float, float]]] = {
    "discrete-gpu": (1e11, 1e11),
    "integrated-gpu": _SLOW,
    "virtual-gpu": _SLOW,
    "other": _SLOW,
}
"""Bytes and terms per second that the slowest device of a kind reaches. Kinds that are not listed
run on the CPU, where nothing is killed."""
_FUNCTION: Final = 8
"""Terms that an element-wise function counts for: exp and its like are dozens of operations."""


def seconds(step: Step, slots: Sequence[Slot], kind: DeviceKind) -> float:
    """Estimate how long the slowest device of a kind takes for a step; 0 where no driver minds."""
    if kind not in RATES:
        return 0.0
    bytes_rate, terms_rate = RATES[kind]
    return moved(step, slots) / bytes_rate + size(step.calls[-1].shape) * terms(step) / terms_rate


def moved(step: Step, slots: Sequence[Slot]) -> int:
    """Count the bytes that a step reads, each element of a view once, and writes."""
    read = sum(size(o.view.shape) * slots[o.slot].dtype.itemsize for o in step.operands)
    return read + slots[step.write].nbytes


def terms(step: Step) -> int:
    """Count what is added up, compared or looked at for one element of the result, at most."""
    return sum(_of_call(step, call) for call in step.calls)


def _of_call(step: Step, call: Call) -> int:
    found = _TERMS.get(call.op)
    if found is not None:
        return found(step, call)
    return _KINDS.get(REGISTRY[call.op].kind, _one)(step, call)


def cut(times: Sequence[float]) -> list[range]:
    """Give runs of consecutive dispatches, one for each submission; at least one, maybe empty."""
    parts: list[range] = []
    start, spent = 0, 0.0
    for i, time in enumerate(times):
        if i > start and (spent + time > SECONDS or i - start == MOST_DISPATCHES):
            parts.append(range(start, i))
            start, spent = i, 0.0
        spent += time
    return [*parts, range(start, len(times))]


def _shape(step: Step, call: Call, argument: int) -> Shape:
    """Give the shape of an argument of a call."""
    place = call.args[argument]
    return step.operands[place].view.shape if place >= 0 else step.calls[~place].shape


def _one(step: Step, call: Call) -> int:
    return 1


def _function(step: Step, call: Call) -> int:
    return _FUNCTION


def _reduced(step: Step, call: Call) -> int:
    return -(-size(_shape(step, call, 0)) // max(size(call.shape), 1))


def _line(step: Step, call: Call) -> int:
    """All of the axis that is sorted or that indices lie along."""
    axis: int = call.attrs.axis
    return _shape(step, call, -1)[axis]


def _window(step: Step, call: Call) -> int:
    return size(call.attrs.kernel)


_Terms = Callable[[Step, Call], int]
_KINDS: Final[dict[Kind, _Terms]] = {
    Kind.ELEMENTWISE: _function,
    Kind.REDUCE: _reduced,
    Kind.POOL: _window,
}
_TERMS: Final[dict[str, _Terms]] = {
    "argsort": lambda step, call: min(_line(step, call), RUN),
    "scatter_add": _line,
    "matmul": lambda step, call: _shape(step, call, 0)[-1],
    "conv2d": lambda step, call: size(_shape(step, call, 1)[1:]),
    "conv2d_input_grad": lambda step, call: (
        _shape(step, call, 1)[0] // call.attrs.groups * size(_shape(step, call, 1)[2:])
    ),
    "conv2d_weight_grad": lambda step, call: (
        _shape(step, call, 1)[0] * size(_shape(step, call, 1)[2:])
    ),
    "col2im": _window,
    "max_unpool2d": lambda step, call: size(_shape(step, call, 1)[2:]),
}
"""Operations whose terms do not follow from their kind."""
