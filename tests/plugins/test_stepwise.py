"""The step-by-step executor on small plans written by hand."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vkml_core.backend import Array, Available, Backend, Unavailable
from vkml_core.dtypes import DType, bool_, float16, float32, int32, int64
from vkml_core.errors import (
    DeviceError,
    IndexError_,
    OutOfMemoryError,
    RegistrationError,
    UnsupportedOpError,
)
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import Shape, View
from vkml_core.stepwise import Conversions, StepwiseDevice
from vkml_core.table_backend import table_backend

INPUT, SCALAR, STATE = SlotKind.INPUT, SlotKind.SCALAR, SlotKind.STATE
TEMP, OUTPUT = SlotKind.TEMP, SlotKind.OUTPUT
Kernel = Callable[..., Any]


def add(attrs: Any, a: Array, b: Array) -> Array:
    return a + b


def same(attrs: Any, a: Array) -> Array:
    return a


TABLE: dict[str, Kernel] = {
    "add": add,
    "mul": lambda attrs, a, b: a * b,
    "neg": lambda attrs, a: -a,
    "contiguous": same,
}


def device(**rows: Kernel) -> StepwiseDevice:
    return StepwiseDevice("host", "cpu", TABLE | rows, backend="toy")


def plan(slots: Sequence[tuple[SlotKind, Shape, DType]], *steps: Step, outputs: Any) -> Plan:
    made = tuple(Slot(i, k, s, t) for i, (k, s, t) in enumerate(slots))
    bound = tuple(s.index for s in made if s.kind in (INPUT, STATE))
    scalars = tuple(s.index for s in made if s.kind is SCALAR)
    return Plan(made, steps, bound, scalars, tuple(outputs))


def step(
    op: str, views: Sequence[tuple[int, View]], write: int, shape: Shape, dtype: DType
) -> Step:
    operands = tuple(Operand(slot, view) for slot, view in views)
    return Step((Call(op, None, tuple(range(len(views))), shape, dtype),), operands, write)


def run(
    have: StepwiseDevice, what: Plan, *inputs: Array, scalars: Sequence[Any] = ()
) -> list[Array]:
    buffers = have.compile(what).run([have.upload(i) for i in inputs], scalars)
    slots = [what.slots[i] for i in what.outputs]
    return [have.download(b, s.shape, s.dtype) for b, s in zip(buffers, slots, strict=True)]


V4 = View.of((4,))
COPY_4 = [(INPUT, (4,), float32), (OUTPUT, (4,), float32)]


@pytest.mark.parametrize("dtype", [bool_, int32, int64, float16, float32], ids=str)
def test_upload_and_download_copy(dtype: DType) -> None:
    have = device()
    array = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    buffer = have.upload(array.T)
    kept = array.T.copy()
    array[:] = 0
    for _ in range(2):
        got = have.download(buffer, (3, 2), dtype)
        np.testing.assert_array_equal(got, kept)
        got[:] = 0
    assert buffer.nbytes == 6 * dtype.itemsize
    assert not buffer.array.flags.writeable


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1, 1, 1)])
def test_unusual_shapes(shape: Shape) -> None:
    view = View.of(shape)
    what = plan(
        [(INPUT, shape, float32), (OUTPUT, shape, float32)],
        step("add", [(0, view), (0, view)], 1, shape, float32),
        outputs=[1],
    )
    (got,) = run(device(), what, np.full(shape, 3, np.float32))
    assert got.shape == shape
    assert (got == 6).all()


VIEWS: dict[str, tuple[View, Callable[[Array], Array]]] = {
    "transposed": (View.of((3, 4)).permute((1, 0)), lambda x: x.T),
    "broadcast": (View((2, 3, 4), (0, 4, 1)), lambda x: np.broadcast_to(x, (2, 3, 4))),
    "reversed": (View.of((3, 4)).slice((2, 3), (3, 4), (-1, -1)), lambda x: x[::-1, ::-1]),
    "every other": (View.of((3, 4)).slice((0, 1), (2, 2), (2, 2)), lambda x: x[::2, 1::2]),
    "nothing": (View.of((3, 4)).slice((3, 0), (0, 4), (1, 1)), lambda x: x[3:]),
    "beyond the end, of nothing": (View((0,), (1,), 99), lambda x: x.ravel()[:0]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_operands_are_views(name: str) -> None:
    view, expected = VIEWS[name]
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    what = plan(
        [(INPUT, (3, 4), int32), (OUTPUT, view.shape, int32)],
        step("neg", [(0, view)], 1, view.shape, int32),
        outputs=[1],
    )
    (got,) = run(device(), what, x)
    np.testing.assert_array_equal(got, -expected(x))


def test_a_view_that_leaves_its_buffer_is_refused() -> None:
    what = plan(COPY_4, step("neg", [(0, View((4,), (1,), 1))], 1, (4,), float32), outputs=[1])
    with pytest.raises(ValueError, match="incompatible"):
        run(device(), what, np.ones(4, np.float32))


@pytest.mark.parametrize("view", [View((2, 3), (0, 0)), View.of((2, 3))], ids=repr)
@pytest.mark.parametrize(
    ("dtype", "number", "stored"),
    [
        (float32, 0.1, np.float32(0.1)),
        (float32, 1e300, np.float32(np.inf)),
        (int32, -7, np.int32(-7)),
        (int64, 2**62 + 1, np.int64(2**62 + 1)),
        (bool_, True, np.True_),
    ],
)
def test_scalars_have_the_slots_dtype_and_serve_any_shape(
    dtype: DType, number: Any, stored: Any, view: View
) -> None:
    what = plan(
        [(SCALAR, (), dtype), (OUTPUT, (2, 3), dtype)],
        step("contiguous", [(0, view)], 1, (2, 3), dtype),
        outputs=[1],
    )
    (got,) = run(device(), what, scalars=[number])
    assert got.dtype == dtype.numpy
    np.testing.assert_array_equal(got, np.full((2, 3), stored))


def test_kernels_get_the_attributes() -> None:
    attrs = SimpleNamespace(axes=(0,))
    call = Call("sum", attrs, (0,), (), float32)
    what = plan(
        [(INPUT, (4,), float32), (OUTPUT, (), float32)],
        Step((call,), (Operand(0, V4),), 1),
        outputs=[1],
    )
    have = device(sum=lambda a, x: x.sum(axis=a.axes))
    assert run(have, what, np.arange(4, dtype=np.float32))[0] == 6


def test_fused_steps_run_their_calls_in_order() -> None:
    calls = (
        Call("add", None, (0, 1), (4,), int32),
        Call("mul", None, (-1, 0), (4,), int32),
        Call("neg", None, (-2,), (4,), int32),
        Call("add", None, (-3, -1), (4,), int32),
    )
    what = plan(
        [(INPUT, (4,), int32), (INPUT, (4,), int32), (OUTPUT, (4,), int32)],
        Step(calls, (Operand(0, V4), Operand(1, V4)), 2),
        outputs=[2],
    )
    x, y = np.arange(4, dtype=np.int32), np.full(4, 5, np.int32)
    np.testing.assert_array_equal(run(device(), what, x, y)[0], -((x + y) * x) + (x + y))


def half_plan(*ops: str) -> Plan:
    """A fused step: 0 + 1, then each of `ops` on what came before and operand 1."""
    calls = [Call("add", None, (0, 1), (1,), float16)]
    calls += [Call(op, None, (~i, 1), (1,), float16) for i, op in enumerate(ops)]
    view = View.of((1,))
    return plan(
        [(INPUT, (1,), float16), (INPUT, (1,), float16), (OUTPUT, (1,), float16)],
        Step(tuple(calls), (Operand(0, view), Operand(1, view)), 2),
        outputs=[2],
    )


def test_float16_is_computed_in_float32_and_narrowed_at_every_call() -> None:
    x, y = np.array([2048], np.float16), np.array([1], np.float16)
    seen: list[Any] = []

    def spy(attrs: Any, a: Array, b: Array) -> Array:
        seen.append((a.dtype, b.dtype))
        return a + b

    (got,) = run(device(add=spy), half_plan("add"), x, y)
    assert seen == [(np.float32, np.float32)] * 2
    assert got[0] == 2048  # 2048 + 1 ties to 2048, twice; narrowed only at the end it were 2050


def test_conversions_can_be_given() -> None:
    asked: list[str] = []

    def hook(name: str, dtype: Any) -> Callable[[Array], Array]:
        def convert(array: Array) -> Array:
            asked.append(name)
            return array.astype(dtype)

        return convert

    conversions = Conversions(
        hook("widen", np.float32), hook("narrow", np.float16), hook("canonical", np.float16)
    )
    have = StepwiseDevice("host", "cpu", TABLE, backend="toy", conversions=conversions)
    run(have, half_plan(), np.ones(1, np.float16), np.ones(1, np.float16))
    assert asked == ["widen", "widen", "narrow", "canonical"]


def test_a_kernel_may_give_float16_itself() -> None:
    have = device(add=lambda attrs, a, b: (a + b).astype(np.float16))
    one = np.ones(1, np.float16)
    assert run(have, half_plan(), one, one)[0][0] == 2


@pytest.mark.parametrize(
    ("dtype", "unsigned", "payload", "canonical"),
    [(float32, np.uint32, 0xFFA12345, 0x7FC00000), (float16, np.uint16, 0xFE01, 0x7E00)],
)
def test_every_nan_gets_the_contracts_bits(
    dtype: DType, unsigned: Any, payload: int, canonical: int
) -> None:
    x = np.array([payload, 0, 1], unsigned).view(dtype.numpy)
    view = View.of((3,))
    what = plan(
        [(INPUT, (3,), dtype), (OUTPUT, (3,), dtype)],
        step("contiguous", [(0, view)], 1, (3,), dtype),
        outputs=[1],
    )
    (got,) = run(device(), what, x)
    assert got.view(unsigned).tolist() == [canonical, 0, 1]


def test_nothing_warns() -> None:
    what = plan(COPY_4, step("mul", [(0, V4), (0, V4)], 1, (4,), float32), outputs=[1])
    (got,) = run(device(), what, np.array([3e38, np.inf, 1e-40, np.nan], np.float32))
    assert got[0] == np.inf


def test_all_missing_operations_are_told_before_anything_runs() -> None:
    what = plan(
        COPY_4,
        step("exp", [(0, V4)], 1, (4,), float32),
        step("add", [(0, V4), (0, V4)], 1, (4,), float32),
        step("cumsum", [(0, V4)], 1, (4,), float32),
        step("exp", [(0, V4)], 1, (4,), float32),
        outputs=[1],
    )
    with pytest.raises(UnsupportedOpError, match="toy: lacks cumsum, exp, which"):
        device().compile(what)


WRONG: dict[str, tuple[Kernel, str]] = {
    "shape": (lambda attrs, a: a[:2], "float32(2,)"),
    "dtype": (lambda attrs, a: a.astype(np.float64), "float64(4,)"),
    "half": (lambda attrs, a: a.astype(np.float16), "float16(4,)"),
    "nothing": (lambda attrs, a: None, "a NoneType"),
    "a list": (lambda attrs, a: [1.0, 2.0, 3.0, 4.0], "a list"),
    "a number": (lambda attrs, a: np.float32(1), "float32()"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_kernel_that_gives_the_wrong_thing(name: str) -> None:
    kernel, got = WRONG[name]
    what = plan(COPY_4, step("neg", [(0, V4)], 1, (4,), float32), outputs=[1])
    told = f"toy: the kernel of neg gave {got}, expected float32(4,)"
    with pytest.raises(DeviceError, match=re.escape(told)):
        run(device(neg=kernel), what, np.ones(4, np.float32))


def test_kernels_cannot_change_their_operands() -> None:
    def cheat(attrs: Any, a: Array) -> Array:
        a += 1
        return a

    twice = (Call("neg", None, (0,), (4,), int32), Call("exp", None, (-1,), (4,), int32))
    what = plan(
        [(INPUT, (4,), int32), (OUTPUT, (4,), int32)],
        Step(twice, (Operand(0, V4),), 1),
        outputs=[1],
    )
    for rows in ({"neg": cheat, "exp": same}, {"neg": lambda _, a: -a, "exp": cheat}):
        with pytest.raises(ValueError, match="read-only"):
            run(device(**rows), what, np.ones(4, np.int32))


def test_results_share_no_memory_with_operands_or_kernels() -> None:
    work = np.zeros(8, np.float32)

    def careless(attrs: Any, a: Array) -> Array:
        work[:4] = -a
        return work[:4]

    have = device(neg=careless)
    copy = plan(COPY_4, step("contiguous", [(0, V4)], 1, (4,), float32), outputs=[1])
    negate = have.compile(plan(COPY_4, step("neg", [(0, V4)], 1, (4,), float32), outputs=[1]))
    x, y = (have.upload(np.full(4, n, np.float32)) for n in (1, 2))
    (copied,) = have.compile(copy).run([x], [])
    assert not np.shares_memory(copied.array, x.array)
    (first,) = negate.run([x], [])
    (second,) = negate.run([y], [])
    assert (first.array == -1).all()
    assert (second.array == -2).all()


def test_a_kernel_may_give_one_array_again() -> None:
    constant = np.array([1, np.nan, 3, 4], np.float32)
    have = device(neg=lambda attrs, a: constant)
    what = plan(COPY_4, step("neg", [(0, V4)], 1, (4,), float32), outputs=[1])
    for _ in range(2):
        np.testing.assert_array_equal(run(have, what, np.ones(4, np.float32))[0], constant)


def test_inputs_and_repeats_may_be_outputs() -> None:
    what = plan(COPY_4, step("neg", [(0, V4)], 1, (4,), float32), outputs=[1, 0, 1])
    have = device()
    given = have.upload(np.ones(4, np.float32))
    first, middle, last = have.compile(what).run([given], [])
    assert middle is given
    assert first is last


def update(second: str = "neg") -> Plan:
    """p, q := p + p, −(new p); a third slot gets the new p too."""
    return plan(
        [(STATE, (4,), float32), (STATE, (4,), float32), (OUTPUT, (4,), float32)],
        step("add", [(0, V4), (0, V4)], 0, (4,), float32),
        step(second, [(0, V4)], 1, (4,), float32),
        step("contiguous", [(0, V4)], 2, (4,), float32),
        outputs=[0, 1, 2],
    )


def test_state_is_overwritten_in_place() -> None:
    have = device()
    p, q = have.upload(np.ones(4, np.float32)), have.upload(np.zeros(4, np.float32))
    what = have.compile(update())
    for n in (2, 4, 8):
        out = what.run([p, q], [])
        assert out[0] is p
        assert out[1] is q
        assert p.array.tolist() == [n] * 4
        assert q.array.tolist() == [-n] * 4
        assert out[2].array.tolist() == [n] * 4
    assert have.stats()["in_use_bytes"] == 48


@pytest.mark.parametrize(
    "error", [IndexError_("gather: 7"), KeyError("x"), KeyboardInterrupt(), SystemExit()], ids=repr
)
def test_a_run_that_fails_changes_nothing(error: BaseException) -> None:
    def fail(attrs: Any, a: Array) -> Array:
        raise error

    have = device(neg=fail)
    p, q = have.upload(np.ones(4, np.float32)), have.upload(np.zeros(4, np.float32))
    with pytest.raises(type(error)) as caught:
        have.compile(update()).run([p, q], [])
    assert caught.value is error
    assert p.array.tolist() == [1] * 4
    assert q.array.tolist() == [0] * 4


def chain(length: int) -> Plan:
    slots = [(INPUT, (4,), float32), *[(TEMP, (4,), float32)] * length, (OUTPUT, (4,), float32)]
    steps = [step("add", [(i, V4), (i, V4)], i + 1, (4,), float32) for i in range(length + 1)]
    return plan(slots, *steps, outputs=[length + 1])


def test_temporaries_are_freed_after_their_last_use() -> None:
    have = device()
    given = have.upload(np.ones(4, np.float32))
    (result,) = have.compile(chain(20)).run([given], [])
    assert result.array[0] == 2**21
    stats = have.stats()
    assert stats["in_use_bytes"] == 32
    assert stats["live_allocations"] == 2
    assert stats["peak_bytes"] == 48
    assert (stats["submissions"], stats["dispatches"]) == (1, 21)
    del given, result
    gc.collect()
    assert have.stats()["in_use_bytes"] == 0


def test_a_temporary_that_nobody_reads_is_freed() -> None:
    what = plan(
        [(INPUT, (4,), float32), (TEMP, (4,), float32), (OUTPUT, (4,), float32)],
        step("neg", [(0, V4)], 1, (4,), float32),
        step("neg", [(0, V4)], 2, (4,), float32),
        outputs=[2],
    )
    have = device()
    given = have.upload(np.ones(4, np.float32))
    results = have.compile(what).run([given], [])
    assert have.stats()["peak_bytes"] == 32
    assert len(results) == 1


def test_out_of_memory_names_the_largest_holders() -> None:
    def hungry(attrs: Any, a: Array) -> Array:
        raise MemoryError("unable to allocate")

    have = device(neg=hungry)
    held = [have.upload(np.zeros((16, 16), np.float32)) for _ in range(3)]
    what = have.compile(plan(COPY_4, step("neg", [(0, V4)], 1, (4,), float32), outputs=[1]))
    with pytest.raises(OutOfMemoryError) as caught:
        what.run([have.upload(np.ones(4, np.float32))], [])
    told = str(caught.value)
    assert told.startswith("toy: out of host memory: step 0: neg float32(4,); 3,088 bytes in use")
    assert "largest holders: 3 × float32(16, 16) of 1,024 bytes, 1 × float32(4,)" in told
    assert len(held) == 3


def test_out_of_memory_at_upload() -> None:
    huge = np.broadcast_to(np.float32(1), (2**40, 2**10))
    with pytest.raises(OutOfMemoryError, match="upload of 4,503,599,627,370,496 bytes"):
        device().upload(huge)


def test_vkmls_own_out_of_memory_passes_unchanged() -> None:
    error = OutOfMemoryError("mine")

    def fail(attrs: Any, a: Array) -> Array:
        raise error

    what = plan(COPY_4, step("neg", [(0, V4)], 1, (4,), float32), outputs=[1])
    with pytest.raises(OutOfMemoryError) as caught:
        run(device(neg=fail), what, np.ones(4, np.float32))
    assert caught.value is error


BAD_ROWS: dict[str, tuple[str, Any, str]] = {
    "unknown": ("frobnicate", same, "no operation of vkml has that name"),
    "too few": ("add", same, "a kernel is called as kernel(attrs, array0, array1)"),
    "too many": ("neg", add, "a kernel is called as kernel(attrs, array0)"),
    "keyword only": ("neg", lambda attrs, *, a: a, "kernel(attrs, array0)"),
    "not variadic": (
        "cat",
        lambda attrs, a=None: a,
        "a kernel is called as kernel(attrs, *arrays)",
    ),
    "no function": ("add", 3, "a kernel is a function, got int"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused_when_the_table_is_given(case: str) -> None:
    row, kernel, rule = BAD_ROWS[case]
    for make in (
        lambda: table_backend("toy", {row: kernel}, api_version=(1, 0)),
        lambda: StepwiseDevice("host", "cpu", {row: kernel}, backend="toy"),
    ):
        with pytest.raises(RegistrationError) as caught:
            make()
        assert str(caught.value).startswith(f"backend 'toy': row {row!r}: ")
        assert rule in str(caught.value)


def test_good_rows_of_every_form() -> None:
    table: dict[str, Kernel] = {
        "add": lambda *arrays: arrays[1],
        "neg": lambda attrs, a, extra=None: a,
        "cat": lambda attrs, *arrays: arrays[0],
        "mul": SimpleNamespace(__call__=add).__call__,
    }
    assert table_backend("toy", table, api_version=(1, 0)).open(0).capabilities().ops == set(table)


def test_table_backend_is_a_whole_backend() -> None:
    backend = table_backend(
        "toy",
        TABLE,
        api_version=(1, 0),
        device_name="a toy",
        kind="other",
        level="exact-normal",
        probe=lambda: Unavailable("away", "come back"),
    )
    assert isinstance(backend, Backend)
    assert backend.probe() == Unavailable("away", "come back")
    assert table_backend("toy", TABLE, api_version=(1, 0)).probe() == Available()
    opened = backend.open(0)
    assert (opened.name, opened.kind) == ("a toy", "other")
    assert opened.capabilities().level == "exact-normal"
    assert opened.report()["operations"] == str(len(TABLE))
    with pytest.raises(DeviceError, match="toy: has one device, got index 1"):
        backend.open(1)
