"""The step-by-step executor on small plans written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from toy import COPY_4, INPUT, OUTPUT, SCALAR, TABLE, V4, Kernel, device, plan, run, step

from vkml_core.backend import Array
from vkml_core.dtypes import DType, bool_, float16, float32, int32, int64
from vkml_core.errors import DeviceError, UnsupportedOpError
from vkml_core.plan import Call, Operand, Plan, Step
from vkml_core.shapes import Shape, View
from vkml_core.stepwise import Conversions, StepwiseDevice


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
