"""Batches, layouts and draws: what is derived, that the oracle passes, that faults do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from faulty import faulty
from vkml_conformance import batches, failing, invariance, seeds
from vkml_conformance.check import Check
from vkml_conformance.engine import judge

from vkml_backend_cpu.kernels import matmul, reduce
from vkml_backend_cpu.kernels.random import philox
from vkml_backend_cpu.table import TABLE
from vkml_core import stepwise
from vkml_core.ops.spec import REGISTRY, Kind

CHECKS = list(invariance.derive())


def bytes_of(check: Check) -> bytes:
    return b"".join(x.tobytes() for x in check.subject.leaves())


def some(part: str, op: str, dtype: str = "float32") -> list[Check]:
    return [c for c in CHECKS if (c.part, c.op, c.dtype) == (part, op, dtype)]


def caught(part: str, op: str, kernel: Callable[..., Any], dtype: str = "float32") -> list[str]:
    """Name the checks that a device with another kernel does not pass."""
    with faulty(**{op: kernel}) as device:
        return [c.id for c in some(part, op, dtype) if judge(c, device, "exact").status != "equal"]


def test_ids_are_unique_and_a_function_of_the_seed() -> None:
    ids = [c.id for c in CHECKS]
    assert len(set(ids)) == len(ids) and ids == [c.id for c in invariance.derive()]
    assert [c.id for c in invariance.derive(7)] == [f"{i}@7" for i in ids]
    more = {c.id for c in invariance.derive(thorough=True)}
    assert more > set(ids)


@pytest.mark.parametrize("part", ["batch", "layout", "seed"])
def test_values_change_with_the_seed_and_with_nothing_else(part: str) -> None:
    kept = [i for i, c in enumerate(CHECKS) if c.part == part][::30]
    again, others = list(invariance.derive()), list(invariance.derive(7))
    for i in kept:
        given, same, changed = (bytes_of(checks[i]) for checks in (CHECKS, again, others))
        assert given == same, CHECKS[i].id
        assert len(given) < 8 or given != changed, CHECKS[i].id


def test_every_row_that_has_a_batch_axis_has_batches() -> None:
    """Not: rows without operands, views, a pad that pads the batch, a gradient summed over it."""
    without = {s.name for s in REGISTRY.values() if not batches.samples(s)}
    kinds = (Kind.LEAF, Kind.VIEW, Kind.GENERATE)
    assert without == {s.name for s in REGISTRY.values() if s.kind in kinds} | {
        "pad",
        "conv2d_weight_grad",
    }
    laid = {c.op for c in CHECKS if c.part == "layout"}
    assert laid == {s.name for s in REGISTRY.values() if s.kind not in (Kind.LEAF, Kind.GENERATE)}


@pytest.mark.parametrize("first", range(3))
def test_the_oracle_passes(first: int) -> None:
    for check in CHECKS[first * 11 :: 41]:
        outcome = judge(check, "cpu", "exact")
        assert outcome.status == "equal" and (outcome.elements or "0" in check.id), (check, outcome)


def test_a_product_that_depends_on_the_batch_is_caught() -> None:
    def kernel(attrs: Any, a: Any, b: Any) -> Any:
        if a.dtype.kind != "f" or a.shape[0] < 64:
            return matmul.matmul(a, b)
        k = a.shape[-1] // 2
        parts = (a[..., :k], b[..., :k, :]), (a[..., k:], b[..., k:, :])
        return matmul.matmul(*parts[0]) + matmul.matmul(*parts[1])

    found = caught("batch", "matmul", kernel)
    assert found == [f"batch/matmul/float32/{n}" for n in (64, 65, 128, 257)]


def test_a_sum_that_depends_on_the_batch_is_caught() -> None:
    def kernel(attrs: Any, x: Any) -> Any:
        right = reduce.sum(x, attrs.axes)
        return x.sum(attrs.axes, dtype=x.dtype) if x.shape[0] == 257 else right

    assert "batch/sum/float32/257" in caught("batch", "sum", kernel)


def test_a_gradient_right_for_contiguous_input_only_is_caught() -> None:
    def kernel(attrs: Any, x: Any) -> Any:
        return TABLE["cos"](attrs, x if x.flags.c_contiguous else np.flip(x, -1))

    with faulty(cos=kernel) as device:
        (check,) = some("layout", "sin")
        outcome = judge(check, device, "exact")
    assert outcome.difference is not None and "gradient" in outcome.difference.what
    assert "contiguous" not in outcome.difference.what


def test_a_random_counter_off_by_one_is_caught() -> None:
    def kernel(attrs: Any, seed: Any, offset: Any) -> Any:
        count = int(np.prod(attrs.shape))
        words = philox(int(seed), int(offset), count + 4)
        kept = np.r_[words[: count - count % 4], words[count - count % 4 + 1 :]][:count]
        return (kept >> np.uint32(32 - attrs.bits)).astype(np.int32).reshape(attrs.shape)

    found = caught("seed", "random_bits", kernel, "int64")
    assert {"seed/24/1", "seed/31/1023", "seed/24/3x5"} <= set(found)


def test_a_draw_has_a_longer_ones_beginning_and_another_seed_has_others() -> None:
    for name in seeds.DRAWS:
        subject = seeds.SeedSubject(name, (1023,), 5, 6)
        draw, beginning, *others = subject.wanted()
        assert draw is beginning
        assert all(np.mean(draw != other) > 0.2 for other in others), name


# Runs that fail.
def test_failures_raise_and_leave_nothing_behind() -> None:
    checks = list(failing.derive())
    assert len({c.id for c in checks}) == len(checks)
    assert all(c.id.startswith("state/") for c in checks)
    assert [c.id for c in failing.derive(3)] == [f"{c.id}@3" for c in checks]
    for check in checks:
        outcome = judge(check, "cpu", "exact")
        assert outcome.status == "equal" and outcome.elements, outcome


def test_what_is_wanted_of_a_failing_run_is_the_old_value() -> None:
    subject = failing.StateSubject("gather", 0)
    _, first, second = subject.leaves()
    wanted = subject.wanted()
    assert np.array_equal(wanted[0], first) and np.array_equal(wanted[1], second)
    assert np.array_equal(wanted[3], second * np.float32(2) + np.float32(1))


def test_an_error_that_is_not_raised_is_told() -> None:
    def clamped(attrs: Any, x: Any, index: Any) -> Any:
        return TABLE["gather"](attrs, x, np.clip(index, 0, x.shape[attrs.axis] - 1))

    (check,) = [c for c in failing.derive() if c.id == "state/gather"]
    with faulty(gather=clamped) as device:
        outcome = judge(check, device, "exact")
    assert outcome.status == "error" and "expected IndexError_ for 6" in outcome.message


class Spoiling(stepwise.StepwiseExecutable):
    """Leaves zeros in the floats that it was given where a run fails."""

    def run(self, inputs: Any, scalars: Any) -> Any:
        try:
            return super().run(inputs, scalars)
        except IndexError:
            for buffer in inputs:
                if buffer.array.dtype == np.float32:
                    buffer.array = np.zeros_like(buffer.array)
            raise


@pytest.mark.parametrize("name", ["gather", "beside-scatter_add", "training-step"])
def test_state_that_is_left_behind_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = failing.StateSubject(name, 0).wanted()
    monkeypatch.setattr(stepwise, "StepwiseExecutable", Spoiling)
    monkeypatch.setattr(failing.StateSubject, "wanted", lambda self: wanted)
    (check,) = [c for c in failing.derive() if c.id == f"state/{name}"]
    with faulty() as device:
        assert judge(check, device, "exact").status == "differs"
