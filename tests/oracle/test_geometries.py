"""Windows of every geometry: convolutions, their gradients, columns and pools by scalars."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from .cases import size_of
from .reference import judge
from .reference_sums import places
from .reference_windows import tap
from .run import attributes
from .values import anything, ints, rough

often = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def pairs(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


windows = st.fixed_dictionaries(
    {"stride": pairs(1, 3), "padding": pairs(0, 3), "dilation": pairs(1, 3)}
)


@often
@given(windows, pairs(1, 6), pairs(1, 3), st.integers(1, 3), pairs(1, 2), st.integers(0, 2))
def test_convolutions(
    window: dict[str, Any], image: Any, kernel: Any, groups: int, each: Any, n: int
) -> None:
    size = size_of(window, image, kernel)
    assume(min(size) >= 1)
    (inputs, outputs), geometry = each, window | {"groups": groups}
    x, g = rough("x", n, groups * inputs, *image), rough("g", n, groups * outputs, *size)
    w = rough("w", groups * outputs, inputs, *kernel)
    judge("conv2d", attributes("conv2d", **geometry), x, w)
    to_input = attributes("conv2d_input_grad", image=image, **geometry)
    judge("conv2d_input_grad", to_input, g, w)
    to_weight = attributes("conv2d_weight_grad", kernel=kernel, **geometry)
    judge("conv2d_weight_grad", to_weight, x, g)


@often
@given(windows, pairs(1, 6), pairs(1, 3), st.integers(1, 2), st.integers(0, 2))
def test_columns(window: dict[str, Any], image: Any, kernel: Any, c: int, n: int) -> None:
    size = size_of(window, image, kernel)
    assume(min(size) >= 1)
    both = window | {"kernel": kernel}
    judge("im2col", attributes("im2col", **both), anything("x", n, c, *image))
    cols = rough("cols", n, c * kernel[0] * kernel[1], size[0] * size[1])
    judge("col2im", attributes("col2im", image=image, **both), cols)


@often
@given(windows, pairs(1, 6), pairs(1, 4), st.booleans())
def test_pools(window: dict[str, Any], image: Any, kernel: Any, ties: bool) -> None:
    assume(all(2 * p <= k for p, k in zip(window["padding"], kernel, strict=True)))
    plain = {k: v for k, v in window.items() if k != "dilation"}
    x = ints("x", -1, 2, 2, 2, *image).astype("float32") if ties else anything("x", 2, 2, *image)
    if min(size_of(window | {"dilation": (1, 1)}, image, kernel)) >= 1:
        judge("avg_pool2d", attributes("avg_pool2d", kernel=kernel, **plain), x)
    size = size_of(window, image, kernel)
    assume(min(size) >= 1)
    attrs = attributes("max_pool2d", kernel=kernel, **window)
    # A dilated window may step over the whole image and see padding alone; that has no largest.
    assume(all(any(tap(attrs, p, k, image) for k in places(kernel)) for p in places(size)))
    judge("max_pool2d", attrs, x)
    judge("max_pool2d_indices", attrs, x)
    g = rough("g", 2, 2, *size)
    judge(
        "max_pool2d_input_grad", attributes("max_pool2d_input_grad", kernel=kernel, **window), g, x
    )
