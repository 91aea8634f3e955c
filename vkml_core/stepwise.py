"""The small way into a backend: a table `op → kernel` and an executor that runs step by step.

A kernel is `kernel(attrs, *arrays) -> array`: `attrs` is the attribute object of the operation's
row or None; the arrays are read-only, strided and broadcast as the graph asks; float16 operands
come widened to float32. The result is a new array of the operation's shape and dtype (float32
where the operation gives float16: it is narrowed here, once).
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vkml_core.backend import (
    Array,
    Available,
    Capabilities,
    Device,
    DeviceInfo,
    DeviceKind,
    Level,
    Unavailable,
)
from vkml_core.checks import check_table
from vkml_core.dtypes import DType, Scalar, float16, float32
from vkml_core.errors import DeviceError, OutOfMemoryError, RegistrationError, UnsupportedOpError
from vkml_core.plan import Call, Plan, Slot, SlotKind
from vkml_core.shapes import Shape

Kernel = Callable[..., Array]
_GIVEN: Final = frozenset({SlotKind.INPUT, SlotKind.STATE})


def _widen(array: Array) -> Array:
    return array.astype(np.float32)


def _narrow(array: Array) -> Array:
    return array.astype(np.float16)


def _canonical(array: Array) -> Array:
    """Give every NaN the contract's bits. May change the array in place."""
    nan = np.isnan(array)
    if nan.any():
        array[nan] = np.nan
    return array


@dataclass(frozen=True, slots=True)
class Conversions:
    """How float16 is widened and narrowed, and how NaNs get the contract's bits.

    `canonical` is called with an array of its own, which it may change in place.
    """

    widen: Callable[[Array], Array] = _widen
    narrow: Callable[[Array], Array] = _narrow
    canonical: Callable[[Array], Array] = _canonical


class HostBuffer:
    """Contiguous elements in host memory. An `assign` swaps `array`, never changes it in place."""

    __slots__ = ("__weakref__", "_memory", "array", "nbytes")

    def __init__(self, array: Array, memory: Memory) -> None:
        array.flags.writeable = False
        self.array = array
        self.nbytes: Final = array.nbytes
        self._memory = memory
        memory.add(self)

    def __del__(self) -> None:
        self._memory.freed += self.nbytes


class Memory:
    """Counts the bytes of live buffers and knows the largest."""

    def __init__(self) -> None:
        self.allocated = 0
        self.freed = 0
        self.peak = 0
        self.allocations = 0
        self._live: weakref.WeakSet[HostBuffer] = weakref.WeakSet()

    @property
    def live(self) -> int:
        """Bytes in use."""
        return self.allocated - self.freed

    def add(self, buffer: HostBuffer) -> None:
        """Count a new buffer."""
        self.allocated += buffer.nbytes
        self.allocations += 1
        self.peak = max(self.peak, self.live)
        self._live.add(buffer)

    def __len__(self) -> int:
        return len(self._live)

    def holders(self, most: int = 5) -> str:
        """Describe the largest live buffers."""
        sizes = Counter((b.nbytes, b.array.dtype.name, b.array.shape) for b in self._live)
        largest = sorted(sizes.items(), key=lambda item: -item[0][0])[:most]
        shown = (f"{n} × {name} {shape} of {size:,} bytes" for (size, name, shape), n in largest)
        return ", ".join(shown) or "none"


@dataclass(frozen=True, slots=True)
class _Operand:
    """A step's operand as NumPy wants it: strides and offset in bytes."""

    slot: int
    shape: Shape
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class _Bound:
    """A step with its kernels looked up and the slots that nobody reads after it."""

    index: int
    calls: tuple[tuple[Call, Kernel], ...]
    operands: tuple[_Operand, ...]
    write: int
    last_of: tuple[int, ...]


class StepwiseDevice:
    """A device that runs plans on the host, a kernel a call."""

    def __init__(
        self,
        name: str,
        kind: DeviceKind,
        table: Mapping[str, Kernel],
        *,
        backend: str,
        level: Level = "exact",
        conversions: Conversions | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.backend = backend
        self.table = dict(table)
        self.conversions = conversions or Conversions()
        self.memory = Memory()
        self.submissions = 0
        self.dispatches = 0
        self._capabilities = Capabilities(level=level, ops=frozenset(table), alignment=1)

    def capabilities(self) -> Capabilities:
        """Tell what it can do: the operations of its table, one call a step."""
        return self._capabilities

    def upload(self, array: Array) -> HostBuffer:
        """Copy an array of any layout. Raises OutOfMemoryError."""
        try:
            return HostBuffer(np.array(array, order="C", copy=True), self.memory)
        except MemoryError as error:
            raise self.out_of_memory(f"upload of {array.nbytes:,} bytes") from error

    def download(self, buffer: HostBuffer, shape: Shape, dtype: DType) -> Array:
        """Copy a buffer into a new, writable array. Raises OutOfMemoryError."""
        try:
            return buffer.array.reshape(-1).view(dtype.numpy).reshape(shape).copy()
        except MemoryError as error:
            raise self.out_of_memory(f"download of {buffer.nbytes:,} bytes") from error

    def compile(self, plan: Plan) -> StepwiseExecutable:
        """Bind a plan to the table; raises UnsupportedOpError listing all that is missing."""
        missing = sorted(set(plan.ops()) - self.table.keys())
        if missing:
            raise UnsupportedOpError(
                f"{self.backend}: the table lacks {', '.join(missing)}; "
                "add these rows to the backend, or move the tensors to another device"
            )
        return StepwiseExecutable(self, plan)

    def synchronize(self) -> None:
        """Return at once: nothing runs behind the caller's back."""

    def stats(self) -> Mapping[str, float]:
        """Count bytes in use, buffers, runs (submissions) and steps (dispatches)."""
        return {
            "live_bytes": self.memory.live,
            "peak_bytes": self.memory.peak,
            "live_allocations": len(self.memory),
            "allocations": self.memory.allocations,
            "submissions": self.submissions,
            "dispatches": self.dispatches,
        }

    def report(self) -> Mapping[str, str]:
        """Describe the executor, the level and the size of the table."""
        return {
            "executor": "step by step on the host",
            "level": self._capabilities.level,
            "operations": str(len(self.table)),
        }

    def out_of_memory(self, what: str) -> OutOfMemoryError:
        """Make the error for an allocation that failed."""
        return OutOfMemoryError(
            f"{self.backend}: out of host memory: {what}; {self.memory.live:,} bytes in use, "
            f"largest holders: {self.memory.holders()}; free tensors or use smaller batches"
        )


class StepwiseExecutable:
    """A plan bound to a table of kernels."""

    def __init__(self, device: StepwiseDevice, plan: Plan) -> None:
        self._device = device
        self._plan = plan
        self._steps = _bind(plan, device.table)

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        """Run all steps in order; STATE buffers change only after the last one succeeded."""
        plan, device = self._plan, self._device
        given = dict(zip(plan.inputs, inputs, strict=True))
        arrays: dict[int, Array] = {i: buffer.array for i, buffer in given.items()}
        made: dict[int, HostBuffer] = {}
        with np.errstate(all="ignore"):
            for i, number in zip(plan.scalars, scalars, strict=True):
                arrays[i] = np.array(number, plan.slots[i].dtype.numpy)
            for step in self._steps:
                made[step.write] = self._step(step, arrays)
                arrays[step.write] = made[step.write].array
                for slot in step.last_of:
                    del arrays[slot], made[slot]
        for i, buffer in given.items():
            if i in made:
                buffer.array = made[i].array
        device.submissions += 1
        device.dispatches += len(self._steps)
        return [given[i] if i in given else made[i] for i in plan.outputs]

    def _step(self, step: _Bound, arrays: Mapping[int, Array]) -> HostBuffer:
        try:
            operands = [_window(o, arrays[o.slot]) for o in step.operands]
            results: list[Array] = []
            for call, kernel in step.calls:
                args = (operands[a] if a >= 0 else results[~a] for a in call.args)
                results.append(self._call(call, kernel, args))
            return HostBuffer(results[-1], self._device.memory)
        except OutOfMemoryError:
            raise
        except MemoryError as error:
            calls = " → ".join(f"{c.op} {c.dtype.name}{c.shape}" for c, _ in step.calls)
            raise self._device.out_of_memory(f"step {step.index}: {calls}") from error

    def _call(self, call: Call, kernel: Kernel, args: Iterable[Array]) -> Array:
        how = self._device.conversions
        half = float16.numpy
        result = kernel(call.attrs, *(how.widen(a) if a.dtype == half else a for a in args))
        if call.dtype is float16 and getattr(result, "dtype", None) == float32.numpy:
            result = how.narrow(result)
        self._check(call, result)
        result = _own(result)
        return how.canonical(result) if call.dtype.is_floating_point else result

    def _check(self, call: Call, result: Any) -> None:
        """Refuse what a kernel must not give: the wrong type, shape or dtype."""
        if isinstance(result, np.ndarray | np.generic):
            if result.shape == call.shape and result.dtype == call.dtype.numpy:
                return
            got = f"{result.dtype}{result.shape}"
        else:
            got = f"a {type(result).__name__}"
        raise DeviceError(
            f"{self._device.backend}: the kernel of {call.op} gave {got}, "
            f"expected {call.dtype.name}{call.shape}; mend the kernel"
        )


def _own(result: Any) -> Array:
    """Give a contiguous array that shares no memory with an operand or with the kernel."""
    array = np.asarray(result)
    if array.base is None and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.array(array, order="C", copy=True)


def _window(operand: _Operand, array: Array) -> Array:
    """Give the strided view of a slot; a rank-0 slot (a host number) serves any shape."""
    return np.ndarray(
        operand.shape, array.dtype, array.data, operand.offset, operand.strides
    )


def _bind(plan: Plan, table: Mapping[str, Kernel]) -> tuple[_Bound, ...]:
    last: dict[int, int] = {}
    for i, step in enumerate(plan.steps):
        for slot in (step.write, *(o.slot for o in step.operands)):
            last[slot] = i
    temps = {s.index for s in plan.slots if s.kind is SlotKind.TEMP}
    return tuple(
        _Bound(
            i,
            tuple((call, table[call.op]) for call in step.calls),
            tuple(_operand(o.slot, o.view, plan.slots[o.slot]) for o in step.operands),
            step.write,
            tuple(slot for slot, when in last.items() if when == i and slot in temps),
        )
        for i, step in enumerate(plan.steps)
    )
