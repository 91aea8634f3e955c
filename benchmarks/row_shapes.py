"""Times kernels for rows by who holds a row: `python benchmarks/row_shapes.py [--elements 26]`.

One JSON line for each operation, length of rows, invocations that hold a row, and quads of each:
what decides the table `HELD` in vkml_backend_vulkan/lower/rows.py. The rate is that of the bytes
that must move; `of_copy` compares with the copy in the same run; `table` marks the table's choice.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from ops import FLOAT, kernel
from rows import rounds, show, vkml_place

import vkml
from vkml_backend_vulkan.lower import rows as lower
from vkml_core import runtime

LENGTHS: Final = (10, 32, 100, 128, 256, 512, 768, 1000, 1024, 2048, 4096)
LEAST_WIDTH, MOST_WIDTH, MOST_QUADS = 1, 256, 8
Make = Callable[..., Any]


def backward(function: Make) -> Make:
    """Give the gradient of a function of one tensor, for another."""

    def run(x: Any, g: Any) -> Any:
        leaf = x.detach().requires_grad_()
        function(leaf).backward(g)
        return leaf.grad

    return run


OPS: Final[dict[str, tuple[Make, int]]] = {
    "softmax": (lambda x, g: vkml.softmax(x, -1), 2),
    "log softmax": (lambda x, g: vkml.log_softmax(x, -1), 2),
    "layer norm": (lambda x, g: vkml.layer_norm(x, 1), 2),
    "softmax backward": (backward(lambda x: vkml.softmax(x, -1)), 3),
    "layer norm backward": (backward(lambda x: vkml.layer_norm(x, 1)), 3),
}
"""What to run, and how many arrays must move."""


def shapes(n: int) -> Iterator[tuple[int, int]]:
    """List (invocations, quads) with room for a row, and without twice the room."""
    width = LEAST_WIDTH
    while width <= MOST_WIDTH:
        quads = 1
        while quads <= MOST_QUADS:
            if n <= 4 * width * quads < 2 * n or (n <= 4 and width * quads == 1):
                yield width, quads
            quads *= 2
        width *= 2


def row(op: str, n: int, shape: tuple[int, int], elements: int, device: str) -> dict[str, Any]:
    """Time one operation with rows held so."""
    make, arrays = OPS[op]
    count = max(elements // n, 1)
    drawn = np.random.default_rng(1).standard_normal(1 << 20, np.float32)
    x, g = (vkml.tensor(np.resize(drawn, (count, n)), device=device) for _ in range(2))
    table = lower.held

    def held(n: int, rows: int) -> tuple[int, int]:
        return shape

    lower.held = held
    runtime.clear_cache()
    try:

        def run() -> None:
            vkml.realize(make(x, g))

        start = time.perf_counter()
        run()
        vkml.device(device).synchronize()
        first = time.perf_counter() - start
        found, steps = rounds(run, vkml.device(device).synchronize)
        timed = kernel(run, device, min(steps, 20))
    finally:
        lower.held = table
    seconds = (timed or 1e3 * min(found)) / 1e3
    return {
        "bench": "row_shapes",
        "op": op,
        "n": n,
        "rows": count,
        "invocations": shape[0],
        "quads": shape[1],
        "table": shape == table(n, count),
        "kernel_ms": timed,
        "first_s": round(first, 3),
        "gbps": round(arrays * FLOAT * count * n / seconds / 1e9, 3),
    }


def copy_rate(elements: int, device: str) -> float:
    """Give the rate of a copy, in GB/s."""
    x = vkml.randn(elements, seed=1, device=device).realize()

    def run() -> None:
        vkml.realize(-x)

    run()
    found, steps = rounds(run, vkml.device(device).synchronize)
    seconds = (kernel(run, device, min(steps, 20)) or 1e3 * min(found)) / 1e3
    return 2 * FLOAT * elements / seconds / 1e9


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--elements", type=int, default=26, help="a power of two")
    parser.add_argument("--lengths", nargs="*", type=int, default=LENGTHS)
    parser.add_argument("--ops", nargs="*", choices=OPS, default=list(OPS))
    args = parser.parse_args()
    copied = copy_rate(1 << args.elements, args.device)
    for op in args.ops:
        for n in args.lengths:
            for shape in shapes(n):
                made = row(op, n, shape, 1 << args.elements, args.device)
                of_copy = round(made["gbps"] / copied, 4)
                show({**made, "of_copy": of_copy, **vkml_place(args.device)})


if __name__ == "__main__":
    main()
