"""Matrix products on Vulkan: the oracle's bits for every dtype, layout, size and kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest

from tests.oracle.cases import CASES, Case
from tests.oracle.run import assert_same_bits
from tests.oracle.values import EDGES, anything, bits, rough
from tests.vulkan.single import TILES, Source, judge, judge_case, plan_of, result
from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.lower import matmul
from vkml_backend_vulkan.lower.tiles import SHAPES, Product, Tile, fills, tile_of
from vkml_core.backend import Device
from vkml_core.ops.spec import Kind
from vkml_core.shapes import View

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

PRODUCTS = [case for case in CASES if case.op == "matmul"]
LARGE = Limits(invocations=1024, shared=32768, groups=(65535, 65535, 65535))


@pytest.mark.parametrize("case", PRODUCTS, ids=lambda case: case.name)
def test_cases(device: Device, case: Case) -> None:
    judge_case(device, case)


@pytest.mark.parametrize("k", EDGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
def test_depths(device: Device, k: int, dtype: Any) -> None:
    if np.issubdtype(dtype, np.integer):
        a, b = bits("a", 3, k, dtype=dtype), bits("b", k, 5, dtype=dtype)
    else:
        with np.errstate(over="ignore"):
            a, b = rough("a", 3, k).astype(dtype), rough("b", k, 5).astype(dtype)
    judge(device, "matmul", None, a, b)


PRODUCTS = [
    ((), 64, 64, 64),
    ((), 65, 511, 70),
    ((2,), 64, 512, 64),
    ((3,), 100, 513, 33),
    ((2, 1), 24, 2049, 33),
]


@pytest.mark.parametrize(("batch", "m", "k", "n"), PRODUCTS)
@pytest.mark.parametrize("lay", [Source.plain, Source.strange])
def test_tiles(device: Device, batch: tuple[int, ...], m: int, k: int, n: int, lay: Any) -> None:
    """Large enough for tiles, with and without a part left over, of one slice and of several."""
    a, b = rough("a", *batch, m, k), rough("b", *batch, k, n)
    judge(device, "matmul", None, lay(a), lay(b))


@pytest.mark.parametrize("tile", TILES, ids=repr)
def test_every_tile(device: Device, tile: Tile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a device would choose, with factors read as vectors and one by one."""
    monkeypatch.setattr(matmul, "tile_of", lambda *_: tile)
    for batch, m, k, n in ((), 64, 576, 68), ((2,), 65, 517, 71):
        a, b = rough("a", *batch, m, k), rough("b", *batch, k, n)
        judge(device, "matmul", None, a, b)
        order = (*range(len(batch)), -1, -2)
        left, right = (np.ascontiguousarray(x.transpose(order)) for x in (a, b))
        turned = (Source(x, View.of(x.shape).permute(order)) for x in (left, right))
        judge(device, "matmul", None, *turned)


@pytest.mark.parametrize("k", [128, 129, 130, 131, 513])
@pytest.mark.parametrize("turned", [False, True])
def test_a_nan_stays_in_its_row_and_column(device: Device, k: int, turned: bool) -> None:
    """What lies next in memory after the end of a row is no part of it, and of a column."""
    a, b = rough("a", 40, k), rough("b", k, 40)
    a[5, 0], b[0, 7] = np.nan, np.inf
    if turned:
        left, right = (np.ascontiguousarray(x.T) for x in (a, b))
        sources = (Source(x, View.of(x.shape).permute((1, 0))) for x in (left, right))
        got = judge(device, "matmul", None, *sources)
    else:
        got = judge(device, "matmul", None, a, b)
    assert np.isfinite(np.delete(np.delete(got, 5, 0), 7, 1)).all()


@pytest.mark.parametrize("slices", [63, 64, 65, 129])
def test_many_slices(device: Device, slices: int) -> None:
    """Last ones with a part of a chunk, and results that are no multiple of a workgroup's."""
    k = 512 * slices - 300
    judge(device, "matmul", None, rough("a", 9, k), rough("b", k, 11))


def test_tiles_of_transposed_matrices(device: Device) -> None:
    a, b = rough("a", 513, 70), rough("b", 66, 513)
    left, right = (Source(x, View.of(x.shape).permute((1, 0))) for x in (a, b))
    judge(device, "matmul", None, left, right)


def test_tiles_of_any_bits(device: Device) -> None:
    judge(device, "matmul", None, anything("a", 64, 80), anything("b", 80, 64))


def test_rows_do_not_change_with_the_batch(device: Device) -> None:
    """The row alone is too small for tiles."""
    a, b = rough("a", 64, 700), rough("b", 700, 64)
    whole = judge(device, "matmul", None, a, b)
    alone = judge(device, "matmul", None, a[7:8], b)
    assert alone.tobytes() == whole[7:8].tobytes()


@pytest.mark.parametrize(("m", "k", "n"), [(30, 5, 29), (130, 600, 190)])
def test_rows_of_workgroups(device: VulkanDevice, m: int, k: int, n: int) -> None:
    """More workgroups than a device takes in x, and a row of them that is not full."""
    sources = [Source.plain(rough("a", m, k)), Source.plain(rough("b", k, n))]
    plan = plan_of("matmul", None, sources)
    few = replace(LARGE, groups=(5, 65535, 65535))
    lowered = matmul.lower(plan.steps[0], plan.slots, few)
    assert all(d.groups[0] == 5 and d.groups[1] > 1 for d in lowered.dispatches)
    kernels = replace(device.kernels, lower={Kind.MATMUL: lambda *_: lowered})
    with patch.object(device, "kernels", kernels):
        got = result(device, plan, sources)
    assert_same_bits(got, result(oracle.open(0), plan, sources))


def modules(m: int, k: int, n: int, limits: Limits = LARGE) -> list[str]:
    sources = [Source.plain(np.zeros(s, np.float32)) for s in ((m, k), (k, n))]
    plan = plan_of("matmul", None, sources)
    return [d.module for d in matmul.lower(plan.steps[0], plan.slots, limits).dispatches]


@pytest.mark.parametrize(
    ("product", "chains", "tile"),
    [
        ((4096, 4096, 4096), 1, (64, 64)),
        ((32, 65536, 27), 1, (32, 64)),  # 64 rows would be half empty
        ((65536, 32, 27), 1, (64, 32)),
        ((32, 27, 65536), 128, (32, 32)),
        ((64, 128, 784), 1, (16, 16)),  # few workgroups
        ((64, 64, 64), 1, (16, 16)),
        ((4096, 128, 784), 2, (64, 64)),
        ((4096, 128, 2048), 4, (64, 32)),  # no slices to be added
        ((128, 576, 4096), 8, (64, 32)),  # 144 workgroups of 64 × 64, 288 of these
        ((128, 784, 4096), 8, (64, 64)),  # 208
    ],
)
def test_which_tile(product: tuple[int, int, int], chains: int, tile: tuple[int, int]) -> None:
    found = tile_of(Product(*product, chains=chains), LARGE, SHAPES)
    assert found is not None and (found.rows, found.columns) == tile


@pytest.mark.parametrize(
    ("product", "chains", "rows"),
    [
        ((1024, 1024, 1024), 2, 8),  # 256 tiles
        ((4096, 128, 784), 2, 4),  # 128 tiles
        ((4096, 4096, 64), 1, 4),  # short sums
        ((32, 32, 65536), 128, 2),  # 128 workgroups of 64 invocations each: of 128 now
        ((64, 4096, 128), 1, 4),  # 128 of 128
        ((64, 128, 784), 1, 1),  # there is no half of one row
    ],
)
def test_how_many_rows_an_invocation_has(
    product: tuple[int, int, int], chains: int, rows: int
) -> None:
    found = tile_of(Product(*product, chains=chains), LARGE, SHAPES)
    assert found is not None and found.each_rows == rows
    small = replace(LARGE, invocations=64)
    found = tile_of(Product(*product, chains=chains), small, SHAPES)
    assert found is not None and found.fits(small)


def test_what_is_at_work_to_the_end() -> None:
    assert not fills(127, LARGE) and fills(128, LARGE)
    assert not fills(144, LARGE), "sixteen workgroups of the second round, the others wait"
    assert fills(171, LARGE) and fills(208, LARGE) and fills(288, LARGE)
    assert all(fills(n, LARGE) for n in range(256, 5000))
    assert all(fills(n, replace(LARGE, filling=1)) for n in range(1, 100))


def test_a_tile_has_an_invocation_for_each_column() -> None:
    for rows, each in ((16, 8), (24, 4)):
        with pytest.raises(
            ValueError, match=f"{rows} × 32: its rows are no multiple of 4 · {each}"
        ):
            Tile(rows, 32, each)
    assert not any(tile.invocations % tile.columns for tile in TILES)


def test_which_tile_where_workgroups_run_one_by_one() -> None:
    found = tile_of(Product(64, 128, 784), replace(LARGE, filling=1), SHAPES)
    assert found is not None and (found.rows, found.columns) == (64, 64)


def test_what_fills_a_device(device: VulkanDevice) -> None:
    physical = device.physical
    assert physical.limits.filling == (1 if physical.kind == "software" else 128)


def test_which_kernel() -> None:
    assert modules(4, 8192, 8) == ["matmul.f32"]
    assert modules(8, 4096, 8) == [
        "matmul.tile.fours",
        "matmul.slices",
    ]  # else each is one long chain
    assert modules(8, 64, 4096) == ["matmul.f32"]
    assert modules(2048, 512, 2048) == ["matmul.tile.fours"]
    assert modules(2048, 512, 2047) == ["matmul.tile"]
    assert modules(128, 4096, 128) == ["matmul.tile.fours", "matmul.slices"]
    small = Limits(invocations=128, shared=16384, groups=LARGE.groups)
    assert modules(2048, 512, 2048, small) == ["matmul.tile.fours"]
    for none in (replace(small, invocations=32), replace(small, shared=4096)):
        assert modules(2048, 512, 2048, none) == ["matmul.f32"]
    assert modules(0, 5, 3) == []
