"""Times products by tile: `python benchmarks/tiles.py [--batch 64 4096] [--depths 16 32 64 128]`.

One JSON line for each product, tile and number of steps of k at a time: what decides the shapes in
vkml_backend_vulkan/lower/tiles.py and the choice among them. The time is the device's own, from the
first dispatch to the last, after a while of other work: a card that waits for pipelines to be made
clocks down. `table` marks what is chosen without this program, and `equal` says that the bits
are those of that choice.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any, Final, cast
from unittest import mock

from kernels import Kernel, convolutions, products
from ops import kernel
from rows import show, vkml_place

import vkml
from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.lower import conv, matmul
from vkml_backend_vulkan.lower.tiles import SHAPES, WINDOWS, Product, Tile, tile_of
from vkml_core import runtime
from vkml_core.plugins import open_device

NAME: Final = "tile_of"
"""What the modules that want a tile call to get one."""
REPEAT: Final = 20
BUSY: Final = 100.0
"""Milliseconds of work before a product is timed."""
ENOUGH: Final = 0.5
"""Milliseconds of a run of this work."""
Choose = Callable[..., Tile | None]


def tiles(depths: Sequence[int], rows: Sequence[int], others: Sequence[str]) -> Iterator[Tile]:
    """List every shape with every number of steps of k, and of an invocation's rows besides its
    own; the tables' and others, as `128x64x8`.
    """
    found: dict[Tile, None] = {}
    for tile in (*SHAPES, *WINDOWS, *(Tile(*map(int, o.split("x"))) for o in others)):
        for each in (r for r in (tile.each_rows, *rows) if not tile.rows % (4 * r)):
            made = (replace(tile, each_rows=each, depth=depth) for depth in depths)
            found |= dict.fromkeys(made)
    return iter(found)


def layers(device: str, batch: int) -> Iterator[Kernel]:
    """Products of the largest linear layers in benchmarks/steps.py: forward, and the gradients."""
    for inputs, outputs in ((784, 128), (2048, 100)):
        x = vkml.randn(batch, inputs, seed=1, device=device).realize()
        w = vkml.randn(outputs, inputs, seed=2, device=device).realize()
        g = vkml.randn(batch, outputs, seed=3, device=device).realize()
        work, name = 2 * batch * inputs * outputs, f"{inputs}→{outputs} batch {batch}"
        yield Kernel(f"linear {name}", partial(vkml.matmul, x, w.T), work, "FLOP/s")
        yield Kernel(f"linear {name} d weight", partial(vkml.matmul, g.T, x), work, "FLOP/s")
        yield Kernel(f"linear {name} d input", partial(vkml.matmul, g, w), work, "FLOP/s")


@contextmanager
def choosing(choose: Choose) -> Iterator[None]:
    """Let a function choose tiles, and forget what was lowered with others."""
    runtime.clear_cache()
    with mock.patch.object(matmul, NAME, choose), mock.patch.object(conv, NAME, choose):
        try:
            yield
        finally:
            runtime.clear_cache()


def run(made: Kernel, device: str, choose: Choose) -> tuple[float | None, bytes]:
    """Give the device's milliseconds, where it tells them, and the bits of the result."""
    with choosing(choose):
        bits = made.build().numpy().tobytes()
        keep_busy(device)
        return kernel(lambda: vkml.realize(made.build()), device, REPEAT), bits


def keep_busy(device: str) -> None:
    """Give the device other work for a while: a card clocks down while pipelines are made, and
    comes back only when it has enough to do.
    """
    x, took = load(device)
    for _ in range(math.ceil(BUSY / took)):
        work(x)


@cache
def load(device: str) -> tuple[vkml.Tensor, float]:
    """Give an operand of such work that takes the device long enough, and its milliseconds."""
    count, took = 1 << 10, 0.0
    while took < ENOUGH:
        count *= 4
        x = vkml.randn(count, seed=1, device=device).realize()
        took = kernel(partial(work, x), device, 1) or ENOUGH
    return x, took


def work(x: vkml.Tensor) -> None:
    """Compute what no choice of tiles changes."""
    vkml.realize(x.tan())


def chosen(made: Kernel, device: str) -> tuple[Tile | None, bytes]:
    """Give the tile that is chosen for a product otherwise, and the bits of its result."""
    found: list[Tile | None] = []

    def noting(product: Product, limits: Limits, shapes: Any) -> Tile | None:
        found.append(tile_of(product, limits, shapes))
        return found[-1]

    with choosing(noting):
        bits = made.build().numpy().tobytes()
    return found[-1], bits


def rows(
    made: Kernel, device: str, limits: Limits, which: Sequence[Tile]
) -> Iterator[dict[str, Any]]:
    """Time a product with each tile that the device can have."""
    table, bits = chosen(made, device)
    for tile in which:
        if not tile.fits(limits):
            continue
        milliseconds, found = run(made, device, lambda *_, tile=tile: tile)
        yield {
            "bench": "tiles",
            "product": made.name,
            "tile": str(tile),
            "each_rows": tile.each_rows,
            "depth": tile.depth,
            "table": tile == table,
            "equal": found == bits,
            "kernel_us": round(1e3 * milliseconds, 2) if milliseconds else None,
            "tflops": round(made.work / milliseconds / 1e9, 2) if milliseconds else None,
        }


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--batch", nargs="*", type=int, default=[64, 512, 4096])
    parser.add_argument("--sides", nargs="*", type=int, default=[1024])
    parser.add_argument("--depths", nargs="*", type=int, default=[16, 32, 64, 128])
    parser.add_argument("--rows", nargs="*", type=int, default=[], help="of an invocation: 1 2 4 8")
    parser.add_argument("--shapes", nargs="*", default=[], help="others: 64x128x8 and so on")
    parser.add_argument("--only", nargs="*", default=[""], help="products whose names start so")
    args = parser.parse_args()
    place = vkml_place(args.device)
    limits = cast("VulkanDevice", open_device(args.device)).physical.limits
    which = list(tiles(args.depths, args.rows, args.shapes))
    batches = ((layers(args.device, b), convolutions(args.device, b)) for b in args.batch)
    for made in chain(*chain(*batches), products(args.device, tuple(args.sides))):
        if made.name.startswith(tuple(args.only)):
            for found in rows(made, args.device, limits, which):
                show({**found, **place})


if __name__ == "__main__":
    main()
