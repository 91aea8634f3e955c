"""What the step-by-step executor keeps, overwrites and frees, and what a failure leaves."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from toy import COPY_4, INPUT, OUTPUT, STATE, TEMP, V4, device, plan, run, same, step

from vkml_core.backend import Array
from vkml_core.dtypes import float32, int32
from vkml_core.errors import IndexError_, OutOfMemoryError
from vkml_core.plan import Call, Operand, Plan, Step


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
