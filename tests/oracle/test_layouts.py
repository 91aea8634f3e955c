"""Results are functions of values: the layout of the inputs changes no bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vkml_backend_cpu.table import TABLE

from .cases import CASES, Case
from .layouts import Layout, layouts
from .run import assert_same_bits, run

REPEATED = Layout((0, 1, 2, 3), (1, 1, 1, 1), (True,) * 4, 0)
REVERSED = Layout((3, 2, 1, 0), (-1, -1, -1, -1), (False,) * 4, 1)
BY_OP: dict[str, list[Case]] = {
    op: [case for case in CASES if case.op == op] for op in sorted(TABLE)
}


@pytest.mark.parametrize("op", BY_OP)
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(which=st.integers(0, 99), how=st.tuples(layouts, layouts, layouts))
@example(which=0, how=(REPEATED,) * 3)
@example(which=0, how=(REVERSED,) * 3)
@example(which=1, how=(REVERSED, REPEATED, REVERSED))
def test_layout_changes_no_bit(op: str, which: int, how: tuple[Layout, Layout, Layout]) -> None:
    case = BY_OP[op][which % len(BY_OP[op])]
    arrays = [h.constant(a) for h, a in zip(how, case.arrays, strict=False)]
    strange = [h.laid_out(a) for h, a in zip(how, arrays, strict=False)]
    before = [a.tobytes() for a in strange]
    want = run(case.op, case.attrs, *arrays)
    assert_same_bits(run(case.op, case.attrs, *strange), want)
    assert [a.tobytes() for a in strange] == before


def test_the_layouts_are_strange() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    reverse = REVERSED.laid_out(x)
    assert reverse.tolist() == x.tolist()
    assert max(reverse.strides) < 0 and reverse.strides[0] == -4 and not reverse.flags.aligned
    assert REPEATED.laid_out(REPEATED.constant(x)).strides == (0, 0, 0)
