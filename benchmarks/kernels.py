"""Times single kernels: `python benchmarks/kernels.py [--device vulkan] [--only NAME…] [--small]`.

Each line gives the minimum and the median of several rounds, and the rate of the minimum: bytes
read and written, or multiply-adds (two operations each), per second. A round submits enough runs
to fill a fifth of a second and waits once. Values are random bits of usual numbers, never zeros.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

import vkml
from vkml_core import graph, runtime
from vkml_core.plugins import open_device

ROUND = 0.2
ROUNDS = 7


@dataclass(frozen=True)
class Kernel:
    """A value to compute, and the work that this is."""

    name: str
    build: Callable[[], vkml.Tensor]
    work: float
    unit: str


def seconds(build: Callable[[], vkml.Tensor], device: str) -> list[float]:
    """Give the seconds of one run in each round."""
    build().realize()
    open_device(device).synchronize()
    start = time.perf_counter()
    build().realize()
    open_device(device).synchronize()
    runs = max(1, min(2000, round(ROUND / (time.perf_counter() - start))))
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(runs):
            build().realize()
        open_device(device).synchronize()
        found.append((time.perf_counter() - start) / runs)
    return found


def memory_kernels(device: str, n: int) -> Iterator[Kernel]:
    """Kernels that memory limits, on `n` float32 elements."""
    drawn = np.random.default_rng(1).standard_normal(min(n, 2**24), np.float32)
    x = vkml.tensor(np.resize(drawn, n), device=device)
    y = vkml.tensor(np.resize(drawn[::-1], n), device=device)
    byte = 4 * n
    yield Kernel("add", lambda: x + y, 3 * byte, "B/s")
    yield Kernel("mul by a number", lambda: x * 0.5, 2 * byte, "B/s")
    yield Kernel("div", lambda: x / y, 3 * byte, "B/s")
    for name in ("sqrt", "exp", "log", "tanh", "sigmoid", "sin", "erf"):
        yield Kernel(name, getattr(x, name), 2 * byte, "B/s")
    yield Kernel("pow", lambda: x.abs() ** y, 3 * byte, "B/s")
    yield Kernel("to float16", lambda: x.to(vkml.float16), 1.5 * byte, "B/s")
    yield Kernel("sum", lambda: x.sum(), byte, "B/s")
    yield Kernel("max", lambda: x.amax(), byte, "B/s")
    side = 1 << (n.bit_length() - 1) // 2
    m = x[: side * side].view(side, side).contiguous().realize()
    yield Kernel("sum of rows", lambda: m.sum(1), 4 * side * side, "B/s")
    yield Kernel("sum of columns", lambda: m.sum(0), 4 * side * side, "B/s")
    yield Kernel("transposed copy", lambda: m.T.contiguous(), 8 * side * side, "B/s")
    yield Kernel("randn", lambda: vkml.randn(n // 8, seed=3, device=device), byte / 8, "B/s")


def products(device: str, sides: tuple[int, ...]) -> Iterator[Kernel]:
    """Square matrix products, and one with a transposed factor."""
    for side in sides:
        a = vkml.randn(side, side, seed=4, device=device).realize()
        b = vkml.randn(side, side, seed=5, device=device).realize()
        work = 2 * side**3
        yield Kernel(f"matmul {side}", partial(vkml.matmul, a, b), work, "FLOP/s")
        yield Kernel(f"matmul {side} a.T", partial(vkml.matmul, a.T, b), work, "FLOP/s")
        yield Kernel(f"matmul {side} b.T", partial(vkml.matmul, a, b.T), work, "FLOP/s")


def convolutions(device: str, batch: int) -> Iterator[Kernel]:
    """The three convolutions of the CNN in benchmarks/steps.py, and their gradients."""
    for inputs, outputs, side in ((3, 32, 32), (32, 64, 16), (64, 128, 8)):
        x = vkml.randn(batch, inputs, side, side, seed=6, device=device).requires_grad_()
        w = vkml.randn(outputs, inputs, 3, 3, seed=7, device=device).requires_grad_()
        g = vkml.randn(batch, outputs, side, side, seed=8, device=device)
        vkml.realize(x, w, g)
        work = 2 * batch * outputs * inputs * 9 * side * side
        name = f"conv {inputs}→{outputs} {side}² batch {batch}"
        forward = partial(vkml.conv2d, x.detach(), w.detach(), padding=1)
        yield Kernel(name, forward, work, "FLOP/s")
        for of, to in (("input", x), ("weight", w)):
            gradient = partial(convolution_gradient, x, w, g, to)
            yield Kernel(f"{name} d {of}", gradient, work, "FLOP/s")


def convolution_gradient(
    x: vkml.Tensor, w: vkml.Tensor, g: vkml.Tensor, to: vkml.Tensor
) -> vkml.Tensor:
    """Give the gradient for one of the operands, where the result has the gradient g."""
    (found,) = vkml.grad(vkml.conv2d(x, w, padding=1), [to], g)
    assert found is not None
    return found


def poolings(device: str, batch: int) -> Iterator[Kernel]:
    """What else the CNN does to images: pooling, its gradient behind a mask, sums of channels."""
    for channels, side in ((32, 32), (64, 16), (128, 8)):
        x = vkml.randn(batch, channels, side, side, seed=9, device=device).requires_grad_()
        g = vkml.randn(batch, channels, side // 2, side // 2, seed=10, device=device)
        vkml.realize(x, g)
        image, name = 4 * x.size, f"{channels}·{side}² batch {batch}"
        pool = partial(vkml.max_pool2d, x.detach(), 2)
        yield Kernel(f"pool {name}", pool, 1.25 * image, "B/s")
        yield Kernel(f"pool d {name}", partial(pool_gradient, x, g), 2.25 * image, "B/s")
        masked = partial(masked_pool_gradient, x, g)
        yield Kernel(f"pool d masked {name}", masked, 2.25 * image, "B/s")
        yield Kernel(f"pool sum {name}", partial(x.detach().sum, (0, 2, 3)), image, "B/s")


def pool_gradient(x: vkml.Tensor, g: vkml.Tensor) -> vkml.Tensor:
    """Give the gradient of pooling 2 × 2 where the result has the gradient g."""
    (found,) = vkml.grad(vkml.max_pool2d(x, 2), [x], g)
    assert found is not None
    return found


def masked_pool_gradient(x: vkml.Tensor, g: vkml.Tensor) -> vkml.Tensor:
    """Give the same where x is above zero, as behind a ReLU."""
    return vkml.where(x.detach() > 0, pool_gradient(x, g), 0.0)


def show(kernel: Kernel, device: str) -> None:
    """Time a kernel and print its line."""
    try:
        found = seconds(kernel.build, device)
    except vkml.Error as error:
        print(f"{kernel.name:32} {type(error).__name__}: {error}", flush=True)
        return
    line(kernel.name, found, f"{kernel.work / min(found) / 1e12:8.3f} T{kernel.unit}")


def overheads(device: str, length: int) -> None:
    """Print the device's time for a small dispatch, and the host's for a submission."""
    x, y = (vkml.tensor(np.full(64, v, np.float32), device=device) for v in (1.5, 0.75))
    long = x
    for k in range(length):
        long = long + y if k % 2 else long * y
    _, waited = executable_times(device, long)
    each = [w / length for w in waited]
    line("dispatch of 64 numbers, device", each, f"in a submission of {length}")
    line("x + y and wait, all in all", seconds(lambda: x + y, device), "graph, plan cache, run")
    line("submission, host", executable_times(device, x + y)[0], "allocate, record, submit")


def executable_times(device: str, root: vkml.Tensor) -> tuple[list[float], list[float]]:
    """Give, for each of many runs of a plan, the seconds until it is submitted, and then done."""
    opened = open_device(device)
    order = graph.reachable([root.node], graph.pending_inputs)
    entry = runtime.prepare(device, order, [root.node])
    buffers = [runtime.buffer_of(order[i], opened) for i in entry.scheduled.inputs]
    submitted, done = [], []
    for _ in range(200):
        start = time.perf_counter()
        entry.executable.run(buffers, [])
        middle = time.perf_counter()
        opened.synchronize()
        submitted.append(middle - start)
        done.append(time.perf_counter() - middle)
    return submitted, done


def line(name: str, found: list[float], note: str) -> None:
    """Print minimum and median."""
    least, middle = min(found) * 1e6, statistics.median(found) * 1e6
    print(f"{name:32} min {least:10.2f} µs  median {middle:10.2f} µs  {note}", flush=True)


def main() -> None:
    """Print device, driver and a line for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--only", nargs="*", default=[], help="kernels whose names start so")
    parser.add_argument("--small", action="store_true", help="sizes for software rasterisers")
    args = parser.parse_args()
    opened = open_device(args.device)
    layers = os.environ.get("VK_INSTANCE_LAYERS", "none")
    print(f"{opened.name}: {dict(opened.report())}; layers: {layers}")
    n, sides, batches = (2**16, (64, 256), [2]) if args.small else (2**28, (1024, 4096), [64, 4096])

    def wanted(name: str) -> bool:
        return not args.only or any(name.startswith(only) for only in args.only)

    if wanted("overheads"):
        overheads(args.device, 100 if args.small else 2000)
    for kernel in chain(
        memory_kernels(args.device, n),
        products(args.device, sides),
        *(convolutions(args.device, b) for b in batches if wanted("conv")),
        *(poolings(args.device, b) for b in batches if wanted("pool")),
    ):
        if wanted(kernel.name):
            show(kernel, args.device)


if __name__ == "__main__":
    main()
