"""A printed plan can be read: counts, slots by kind, a line a step, calls of fused steps."""

from __future__ import annotations

from graphs import leaf, plan_of, training_step

from vkml_core.dtypes import float16, int64
from vkml_core.graph import build
from vkml_core.ops.rules import slice_axis, transpose
from vkml_core.printing import format_bytes

PLAIN = """\
plan: 3 steps of 3 calls, 2 barriers, arena of 64 B
  input     1,      96 B: %0:f32[8,3]
  scalar    1,       4 B: %4:f32
  state     1,      60 B: %1:f32[3,5]
  temp      1,      60 B: %3:f32[3,5]@0
  output    1,     160 B: %2:f32[8,5]
  returns: %1 %2

  0  matmul  %2:f32[8,5]  ← %0:f32[8,3] · %1:f32[3,5]
  1  matmul  %3:f32[3,5]  ← %0ᵀ:f32[3,8] · %2:f32[8,5]                           | RAW after 0
  2  mul     %1!:f32[3,5] ← %3:f32[3,5] · %4:f32                                 | RAW after 1"""

FUSED = """\
  1  matmul +1  %1!:f32[3,5] ← %0ᵀ:f32[3,8] · %2:f32[8,5] · %3:f32               | RAW after 0
        a:f32 = matmul(%0, %2)
       %1:f32 = mul(a, %3)"""


def printed(*, fusion: bool) -> str:
    x, w = leaf(8, 3), leaf(3, 5)
    y = build.matmul(x, w)
    new = build.matmul(transpose(x), y) * 0.5
    return str(plan_of([build.assign(w, new), y], [w], fusion=fusion).plan)


def test_a_plan_prints_as_a_table() -> None:
    assert printed(fusion=False) == PLAIN


def test_fused_calls_are_listed_under_their_step() -> None:
    assert printed(fusion=True).endswith(FUSED)


def test_views_are_named() -> None:
    x = leaf(2, 3, 4)
    views = [
        transpose(x),
        build.permute(x, axes=(2, 0, 1)),
        slice_axis(x, 1, 1, 2),
        build.expand(slice_axis(x, 0, 0, 1), shape=(2, 3, 4)),
        build.reshape(x, shape=(24,)),
    ]
    text = str(plan_of([build.neg(v) for v in views]).plan)
    for line in (
        "← %0ᵀ:f32[2,4,3]\n",
        "← %0:f32[4,2,3] (permuted)\n",
        "← %0:f32[2,2,4] (sliced)\n",
        "← %0:f32[2,3,4] (broadcast)\n",
        "← %0:f32[24]",
    ):
        assert line in text + "\n"


def test_attributes_and_dtypes_are_shown() -> None:
    halves, index = leaf(4, 3, dtype=float16), leaf(4, 1, dtype=int64)
    picked = build.gather(build.cast(halves, dtype=int64), index, axis=1)
    text = str(plan_of([build.sum(picked, axes=(0, 1))]).plan)
    assert "%0:f16[4,3] {dtype=int64}" in text
    assert "%1:i64[4,1] {axis=1}" in text
    assert "{axes=(0,1)}" in text


def test_lines_of_a_training_step_fit() -> None:
    for fusion in (False, True):
        roots, donated = training_step(batch=4096)
        lines = str(plan_of(roots, donated, fusion=fusion).plan).splitlines()
        assert max(map(len, lines)) <= 100


def test_bytes_are_printed_in_units() -> None:
    sizes = (0, 1023, 1024, 1536, 5 * 2**30)
    assert [format_bytes(n) for n in sizes] == ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 GiB"]
