"""Convolutions, columns and pools on Vulkan: the oracle's bits for every geometry and kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.oracle.cases import CASES, Case, size_of
from tests.oracle.reference_sums import places
from tests.oracle.reference_windows import tap
from tests.oracle.run import attributes
from tests.oracle.test_geometries import pairs, windows
from tests.oracle.values import Array, anything, bits, ints, rough
from tests.vulkan.single import TILES, Source, judge, judge_case
from vkml_backend_vulkan.lower import conv
from vkml_backend_vulkan.lower.tiles import Tile
from vkml_core.backend import Device
from vkml_core.errors import IndexError_
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.shapes import View

WINDOWED = [case for case in CASES if REGISTRY[case.op].kind in (Kind.CONV, Kind.POOL)]
often = settings(max_examples=30, suppress_health_check=[HealthCheck.filter_too_much])


@pytest.mark.parametrize("case", WINDOWED, ids=lambda case: case.name)
def test_cases(device: Device, case: Case) -> None:
    judge_case(device, case)


def judge_convolutions(
    device: Device,
    geometry: dict[str, Any],
    n: int,
    channels: tuple[int, int],
    image: tuple[int, int],
    kernel: tuple[int, int],
    lay: Any = Source.plain,
) -> None:
    """Judge a convolution and both gradients; `channels` are inputs and outputs of a group."""
    (inputs, outputs), groups = channels, geometry["groups"]
    size = size_of(geometry, image, kernel)
    x, g = rough("x", n, groups * inputs, *image), rough("g", n, groups * outputs, *size)
    w = rough("w", groups * outputs, inputs, *kernel)
    to_input = attributes("conv2d_input_grad", image=image, **geometry)
    to_weight = attributes("conv2d_weight_grad", kernel=kernel, **geometry)
    judge(device, "conv2d", attributes("conv2d", **geometry), lay(x), lay(w))
    judge(device, "conv2d_input_grad", to_input, lay(g), lay(w))
    judge(device, "conv2d_weight_grad", to_weight, lay(x), lay(g))


def geometry(stride: Any, padding: Any, dilation: Any, groups: int) -> dict[str, Any]:
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


TILED = [
    ((1, 1), (1, 1), (1, 1), 1, 8, (32, 64), (16, 16), (3, 3)),
    ((2, 1), (2, 1), (1, 3), 2, 3, (30, 40), (17, 13), (3, 2)),
    ((2, 3), (0, 0), (1, 1), 1, 2, (65, 70), (19, 23), (3, 3)),
    ((1, 1), (0, 0), (1, 1), 1, 1, (24, 520), (12, 12), (1, 1)),
    ((1, 1), (2, 2), (2, 2), 1, 2, (60, 33), (21, 20), (5, 5)),
]


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups", "n", "channels", "image", "kernel"), TILED
)
@pytest.mark.parametrize("lay", [Source.plain, Source.strange])
def test_tiles(
    device: Device,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    n: int,
    channels: Any,
    image: Any,
    kernel: Any,
    lay: Any,
) -> None:
    """Products large enough for tiles, depths beyond a chunk, cut and whole chains."""
    how = geometry(stride, padding, dilation, groups)
    judge_convolutions(device, how, n, channels, image, kernel, lay)


@pytest.mark.parametrize("tile", TILES, ids=repr)
@pytest.mark.parametrize("case", TILED[:2])
def test_every_tile(device: Device, tile: Tile, case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a device would choose, with four neighbours in a row and not."""
    monkeypatch.setattr(conv, "tile_of", lambda *_: tile)
    stride, padding, dilation, groups, n, channels, image, kernel = case
    judge_convolutions(
        device, geometry(stride, padding, dilation, groups), n, channels, image, kernel
    )


def test_padding_times_infinity_by_tiles(device: Device) -> None:
    x, w = rough("x", 4, 32, 8, 8), rough("w", 32, 32, 3, 3)
    w[3, 5, 0, 1], w[4, 6, 2, 2] = np.inf, np.nan
    got = judge(device, "conv2d", attributes("conv2d", **geometry((1, 1), (1, 1), (1, 1), 1)), x, w)
    assert np.isnan(got[:, 3, 0]).all() and not np.isnan(got[:, 3, 1:]).any()
    to_input = attributes("conv2d_input_grad", image=(8, 8), **geometry((1, 1), (1, 1), (1, 1), 1))
    judge(device, "conv2d_input_grad", to_input, x, w)


@often
@given(windows, pairs(1, 6), pairs(1, 3), st.integers(1, 3), pairs(1, 2), st.integers(0, 2))
def test_convolutions(
    device: Device,
    window: dict[str, Any],
    image: Any,
    kernel: Any,
    groups: int,
    each: Any,
    n: int,
) -> None:
    assume(min(size_of(window, image, kernel)) >= 1)
    judge_convolutions(device, window | {"groups": groups}, n, each, image, kernel)


@often
@given(windows, pairs(1, 6), pairs(1, 3), st.integers(1, 2), st.integers(0, 2))
def test_columns(
    device: Device, window: dict[str, Any], image: Any, kernel: Any, c: int, n: int
) -> None:
    size = size_of(window, image, kernel)
    assume(min(size) >= 1)
    both = window | {"kernel": kernel}
    judge(device, "im2col", attributes("im2col", **both), anything("x", n, c, *image))
    cols = rough("cols", n, c * kernel[0] * kernel[1], size[0] * size[1])
    judge(device, "col2im", attributes("col2im", image=image, **both), cols)


@often
@given(windows, pairs(1, 6), pairs(1, 4), st.booleans())
def test_pools(device: Device, window: dict[str, Any], image: Any, kernel: Any, ties: bool) -> None:
    assume(all(2 * p <= k for p, k in zip(window["padding"], kernel, strict=True)))
    plain = {k: v for k, v in window.items() if k != "dilation"}
    x = ints("x", -1, 2, 2, 2, *image).astype("float32") if ties else anything("x", 2, 2, *image)
    if min(size_of(window | {"dilation": (1, 1)}, image, kernel)) >= 1:
        judge(device, "avg_pool2d", attributes("avg_pool2d", kernel=kernel, **plain), x)
    size = size_of(window, image, kernel)
    assume(min(size) >= 1)
    attrs = attributes("max_pool2d", kernel=kernel, **window)
    assume(all(any(tap(attrs, p, k, image) for k in places(kernel)) for p in places(size)))
    judge(device, "max_pool2d", attrs, x)
    judge(device, "max_pool2d_indices", attrs, x)
    g = rough("g", 2, 2, *size)
    judge(device, "max_pool2d_input_grad", attrs, g, x)
    judge(device, "max_pool2d_input_grad", attrs, Source.strange(g), Source.strange(x))


FEW = np.array([0.0, -0.0, 1.0, np.nan, -np.inf, np.inf, -1e-45, 1e-45], np.float32)


@pytest.mark.parametrize("height", [1, 2, 3, 9])
@pytest.mark.parametrize("width", [4, 8, 12, 6])
@pytest.mark.parametrize("values", ["few", "any", "ties"])
def test_windows_in_pairs(device: Device, height: int, width: int, values: str) -> None:
    """Two pixels wide, side by side: vectors of windows, at every remainder of a row by eight."""
    shape = 3, 5, 2 * height, width
    x = {
        "few": FEW[ints("few", 0, len(FEW), *shape)],
        "any": anything("any", *shape),
        "ties": ints("ties", -1, 2, *shape).astype(np.float32),
    }[values]
    kernel = height, 2
    attrs = attributes("max_pool2d", kernel=kernel, stride=kernel, padding=(0, 0), dilation=(1, 1))
    few = FEW[ints("few g", 0, len(FEW), 3, 5, 2, width // 2)]
    g = few if values == "few" else anything("g", 3, 5, 2, width // 2)
    for lay in (Source.plain, Source.strange, *(partial(shifted, by=n) for n in (1, 2, 4))):
        judge(device, "max_pool2d", attrs, lay(x))
        judge(device, "max_pool2d_input_grad", attrs, lay(g), lay(x))
    judge(device, "max_pool2d", attrs, x[:0])
    judge(device, "max_pool2d_input_grad", attrs, g[:0], x[:0])


def shifted(x: Array, by: int) -> Source:
    """The same values in order, `by` elements into the memory."""
    memory = np.concatenate([np.full(by, 77, x.dtype), x.ravel()])
    return Source(memory, View(x.shape, View.of(x.shape).strides, by))


def test_infinities_alone(device: Device) -> None:
    """Nothing is larger than the first one: it wins though it is the smallest number."""
    x, g = np.full((1, 2, 4, 8), -np.inf, np.float32), rough("g", 1, 2, 2, 4)
    for padding in ((0, 0), (1, 1)):
        window = {"kernel": (2, 2), "stride": (2, 2), "padding": padding, "dilation": (1, 1)}
        attrs = attributes("max_pool2d", **window)
        judge(device, "max_pool2d", attrs, x)
        size = size_of(window, (4, 8), (2, 2))
        judge(device, "max_pool2d_input_grad", attrs, np.resize(g, (1, 2, *size)), x)


@pytest.mark.parametrize("kernel", [(1, 1), (1, 2), (2, 2), (4, 4)])
@pytest.mark.parametrize("image", [(8, 8), (96, 96)])
def test_negative_zeros(device: Device, kernel: Any, image: Any) -> None:
    """A sum begins with +0, though drivers take 0 + x for x; the largest may be -0."""
    window = {"kernel": kernel, "stride": kernel, "padding": (0, 0)}
    for dtype in (np.float32, np.float16):
        x = np.full((2, 4, *image), -0.0, dtype)
        g = np.full((2, 4, *(n // k for n, k in zip(image, kernel, strict=True))), -0.0, dtype)
        judge(device, "avg_pool2d", attributes("avg_pool2d", **window), x)
        attrs = attributes("max_pool2d", **window, dilation=(1, 1))
        judge(device, "max_pool2d", attrs, x)
        judge(device, "max_pool2d_input_grad", attrs, g, x)


@pytest.mark.parametrize("kernel", [(2, 2), (3, 2), (4, 4)])
def test_windows_known_to_kernels(device: Device, kernel: Any) -> None:
    """Enough pixels for kernels of their own: in each way to find the largest."""
    for stride, padding in ((kernel, (0, 0)), ((2, 1), (1, 1))):
        window = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": (1, 1)}
        x = ints("x", -2, 3, 4, 8, 24, 96).astype(np.float32)
        g = rough("g", 4, 8, *size_of(window, (24, 96), kernel))
        attrs = attributes("max_pool2d", **window)
        judge(device, "max_pool2d", attrs, x)
        judge(device, "max_pool2d_input_grad", attrs, g, x)
        halves = g.astype(np.float16), x.astype(np.float16)
        judge(device, "max_pool2d_input_grad", attrs, *halves)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_places_of_the_largest_integers(device: Device, dtype: Any) -> None:
    window = {"kernel": (2, 2), "stride": (1, 2), "padding": (1, 0), "dilation": (1, 1)}
    attrs = attributes("max_pool2d_indices", **window)
    judge(device, "max_pool2d_indices", attrs, bits("x", 2, 3, 5, 6, dtype=dtype))
    few = ints("few", -1, 2, 2, 3, 5, 6, dtype=dtype)
    judge(device, "max_pool2d_indices", attrs, few)


def test_unpool_of_overlapping_windows(device: Device) -> None:
    """Many windows name one pixel; -1 + 2^24 - 2^24 shows the order."""
    window = {"kernel": (3, 3), "stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}
    image = ints("few", 0, 3, 2, 3, 9, 11).astype(np.float32)
    attrs = attributes("max_pool2d_indices", **window)
    index = judge(device, "max_pool2d_indices", attrs, image)
    g = np.resize(np.array([-1.0, 2.0**24, -(2.0**24), 0.5], np.float32), index.shape)
    judge(device, "max_pool2d_input_grad", attrs, g, image)
    judge(device, "max_unpool2d", attributes("max_unpool2d", image=(9, 11)), g, index)


@pytest.mark.parametrize("wrong", [-1, 6])
def test_unpool_refuses_places_outside_of_the_image(device: Device, wrong: int) -> None:
    index = ints("unpool", 0, 6, 2, 3, 4, 5)
    index[1, 2, 3, 4] = wrong
    with pytest.raises(IndexError_, match=f"index {wrong} .* size 6"):
        judge(
            device,
            "max_unpool2d",
            attributes("max_unpool2d", image=(2, 3)),
            rough("unpool", 2, 3, 4, 5),
            index,
        )
