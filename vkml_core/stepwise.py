"""The step-by-step executor: runs a plan on the host with a table `op → kernel`.

A kernel is `kernel(attrs, *arrays) -> array`. `attrs` is the attribute object of the operation's
row, or None. The arrays are read-only, strided and broadcast as the graph asks; float16 operands
come widened to float32. The result has the operation's shape and dtype; where that is float16 it
may be float32 and is narrowed here, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vkml_core.backend import Array, Capabilities, DeviceKind, Level
from vkml_core.checks import check_table
from vkml_core.dtypes import DType, Scalar
from vkml_core.errors import DeviceError, OutOfMemoryError, UnsupportedOpError
from vkml_core.host_memory import HostBuffer, HostMemory
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.profile import Dispatch, History, SubmissionProfile
from vkml_core.shapes import Shape

Kernel = Callable[..., Array]
"""What computes an operation: `kernel(attrs, *arrays)` gives an array."""
_HALF: Final = np.dtype(np.float16)
_SINGLE: Final = np.dtype(np.float32)


def _canonical_nan(array: Array) -> Array:
    nan = np.isnan(array)
    if nan.any():
        array[nan] = np.nan
    return array


@dataclass(frozen=True, slots=True)
class Conversions:
    """How float16 is widened and narrowed, and how every NaN gets the contract's bits.

    `canonical` takes a floating-point array that it may change in place.
    """

    widen: Callable[[Array], Array] = lambda array: array.astype(_SINGLE)
    narrow: Callable[[Array], Array] = lambda array: array.astype(_HALF)
    canonical: Callable[[Array], Array] = _canonical_nan


class StepwiseDevice:
    """A device made of a table of kernels: the whole `Device` contract, a call at a time."""

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
        """Make a device of the backend called `backend`; `name` is the hardware's.

        Raises RegistrationError naming each row of the table and the rule that it breaks.
        """
        check_table(backend, table)
        self.name = name
        self.kind = kind
        self.backend = backend
        self.table = dict(table)
        self.conversions = conversions or Conversions()
        self.memory = HostMemory()
        self.submissions = 0
        self.dispatches = 0
        self.history = History()
        self.profiling = False
        self._capabilities = Capabilities(level=level, ops=frozenset(table), profiling=True)

    def capabilities(self) -> Capabilities:
        """Tell what it can do: the operations of its table, one call in a step."""
        return self._capabilities

    def upload(self, array: Array) -> HostBuffer:
        """Copy an array. Raises OutOfMemoryError."""
        try:
            return HostBuffer(np.array(array, order="C"), self.memory)
        except MemoryError as error:
            raise self.out_of_memory(f"upload of {array.nbytes:,} bytes") from error

    def download(self, buffer: HostBuffer, shape: Shape, dtype: DType) -> Array:
        """Copy a buffer into a new array that may be written to. Raises OutOfMemoryError."""
        try:
            return np.ndarray(shape, dtype.numpy, buffer.array).copy()
        except MemoryError as error:
            raise self.out_of_memory(f"download of {buffer.nbytes:,} bytes") from error

    def compile(self, plan: Plan) -> StepwiseExecutable:
        """Bind a plan to the table. Raises UnsupportedOpError listing all that is missing."""
        missing = sorted(set(plan.ops()) - self.table.keys())
        if missing:
            raise UnsupportedOpError(
                f"{self.backend}: lacks {', '.join(missing)}, which this graph needs; "
                "add rows to the backend's table, or move the tensors with .to(device)"
            )
        return StepwiseExecutable(self, plan)

    def synchronize(self) -> None:
        """Return at once: nothing runs after `run` has returned."""

    def stats(self) -> Mapping[str, float]:
        """Count bytes and buffers; a run is a submission and a step a dispatch."""
        return {
            **self.memory.stats(),
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

    @property
    def timestamps_supported(self) -> bool:
        """Whether single steps are timed: always."""
        return True

    def set_profiling(self, on: bool) -> None:
        """Time the steps of every run from now on, and forget what was kept; or stop."""
        if on:
            self.history.clear()
        self.profiling = on

    def profile_records(self) -> Sequence[SubmissionProfile]:
        """Give the runs kept, oldest first."""
        return self.history.records()

    def set_profile_history(self, most: int) -> None:
        """Keep the newest `most` runs. Raises ArgumentError."""
        self.history.keep(most)

    def out_of_memory(self, what: str) -> OutOfMemoryError:
        """Make the error of an allocation that failed."""
        return OutOfMemoryError(
            f"{self.backend}: out of host memory: {what}; {self.memory.in_use:,} bytes in use, "
            f"largest holders: {self.memory.holders()}; free tensors or use smaller batches"
        )


class StepwiseExecutable:
    """A plan bound to the kernels of a device."""

    def __init__(self, device: StepwiseDevice, plan: Plan) -> None:
        self._device = device
        self._plan = plan
        self._steps = tuple(_bind(plan, device.table))

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        """Run all steps in order; STATE buffers change only after the last one succeeded."""
        plan, device = self._plan, self._device
        given = dict(zip(plan.inputs, inputs, strict=True))
        arrays = {slot: buffer.array for slot, buffer in given.items()}
        made: dict[int, HostBuffer] = {}
        device.submissions += 1
        timed: list[Dispatch] | None = [] if device.profiling else None
        began = 0 if timed is None else time.perf_counter_ns()
        with np.errstate(all="ignore"):
            for slot, number in zip(plan.scalars, scalars, strict=True):
                arrays[slot] = np.array(number, plan.slots[slot].dtype.numpy)
            for step in self._steps:
                if timed is None:
                    made[step.write] = self._step(step, arrays)
                else:
                    made[step.write] = self._timed(step, arrays, timed)
                arrays[step.write] = made[step.write].array
                for slot in step.free:
                    del arrays[slot], made[slot]
        for slot in given.keys() & made.keys():
            given[slot].array = made[slot].array
        if timed is not None:
            self._keep(began, timed)
        return [given[slot] if slot in given else made[slot] for slot in plan.outputs]

    def _step(self, step: _Step, arrays: Mapping[int, Array]) -> HostBuffer:
        self._device.dispatches += 1
        try:
            operands = [
                np.ndarray(o.shape, o.dtype, arrays[o.slot], o.offset, o.strides)
                for o in step.operands
            ]
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

    def _timed(self, step: _Step, arrays: Mapping[int, Array], timed: list[Dispatch]) -> HostBuffer:
        start = time.perf_counter_ns()
        made = self._step(step, arrays)
        name = " + ".join(call.op for call, _ in step.calls)
        timed.append(Dispatch(step.index, name, start, time.perf_counter_ns()))
        return made

    def _keep(self, began: int, timed: list[Dispatch]) -> None:
        ended, device = time.perf_counter_ns(), self._device
        number = device.submissions
        device.history.add(
            SubmissionProfile(number, self._plan, began, ended, tuple(timed), {}, "host")
        )

    def _call(self, call: Call, kernel: Kernel, args: Iterable[Array]) -> Array:
        how = self._device.conversions
        result = kernel(call.attrs, *(how.widen(a) if a.dtype == _HALF else a for a in args))
        if not isinstance(result, np.ndarray | np.generic):
            raise self._wrong(call, f"a {type(result).__name__}")
        array = np.asarray(result)
        if call.dtype.numpy == _HALF and array.dtype == _SINGLE:
            array = how.narrow(array)
        if array.shape != call.shape or array.dtype != call.dtype.numpy:
            raise self._wrong(call, f"{array.dtype}{array.shape}")
        array = _own(array)
        if call.dtype.is_floating_point:
            array = how.canonical(array)
        array.flags.writeable = False
        return array

    def _wrong(self, call: Call, got: str) -> DeviceError:
        expected = f"{call.dtype.numpy}{call.shape}"
        return DeviceError(
            f"{self._device.backend}: the kernel of {call.op} gave {got}, expected {expected}; "
            "this is an error of the backend"
        )


def _own(array: Array) -> Array:
    """Give a contiguous array that shares no memory with an operand or with the kernel's own.

    An array that was a result before is read-only, so a kernel that gives it again is caught.
    """
    mine = array.base is None and array.flags.c_contiguous and array.flags.writeable
    return array if mine else np.array(array, order="C")


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand as NumPy wants it: offset and strides in bytes."""

    slot: int
    shape: Shape
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A step with its kernels, and the TEMP slots that nobody reads after it."""

    index: int
    calls: tuple[tuple[Call, Kernel], ...]
    operands: tuple[_Operand, ...]
    write: int
    free: tuple[int, ...]


def _bind(plan: Plan, table: Mapping[str, Kernel]) -> Iterable[_Step]:
    last = {slot: i for i, step in enumerate(plan.steps) for slot in _touched(step)}
    for i, step in enumerate(plan.steps):
        yield _Step(
            index=i,
            calls=tuple((call, table[call.op]) for call in step.calls),
            operands=tuple(_operand(o, plan.slots[o.slot]) for o in step.operands),
            write=step.write,
            free=tuple(
                slot
                for slot in sorted(_touched(step))
                if last[slot] == i and plan.slots[slot].kind is SlotKind.TEMP
            ),
        )


def _touched(step: Step) -> set[int]:
    return {step.write, *(o.slot for o in step.operands)}


def _operand(operand: Operand, slot: Slot) -> _Operand:
    """Turn elements into bytes. A host number has one element, which serves any shape."""
    view, item = operand.view, slot.dtype.itemsize
    if slot.kind is SlotKind.SCALAR or 0 in view.shape:
        return _Operand(slot.index, view.shape, slot.dtype.numpy, 0, (0,) * len(view.shape))
    strides = tuple(s * item for s in view.strides)
    return _Operand(slot.index, view.shape, slot.dtype.numpy, view.offset * item, strides)
