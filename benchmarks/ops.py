"""Times single operations: `python benchmarks/ops.py [--elements 26 28] [--sides 1024 4096]`.

One JSON line a row: milliseconds on the device by its timestamps (`kernel_ms`, None without), all
in all back to back (`min_ms`, `median_ms`), and the rate of what has to be moved or added at least,
whatever the kernels do: bytes, or operations, two for a multiply-add. `of_copy` compares with the
copy in the same run. Values are random, never zeros.

With `--rest 0.5` a few runs follow, each after half a second without work (`rested_ms`): a card at
its limit of power clocks down over seconds, so that the two differ where power is what bounds.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from rows import rounds, show, spread, torch_place, vkml_place

import vkml
from vkml_core.errors import Error

FLOAT: Final = 4
COLUMNS: Final = 1024
RESTED: Final = 8
"""Runs that each follow a rest."""
Run = Callable[[], object]


@dataclass(frozen=True)
class Op:
    """What to run in vkml, the same in PyTorch, and the least work that it is."""

    name: str
    size: int
    run: Callable[[Any, Any], Run]
    """(library, inputs) → what runs it once."""
    inputs: tuple[tuple[int, ...], ...]
    bytes: int = 0
    flops: int = 0


def memory_ops(exponent: int) -> Iterator[Op]:
    """Operations that memory limits, on 2^exponent float32 elements."""
    n = 1 << exponent
    flat, rows = (n,), (n // COLUMNS, COLUMNS)
    size = FLOAT * n
    yield Op("copy", n, lambda lib, x: lambda: -x[0], (flat,), 2 * size)
    yield Op("exp", n, lambda lib, x: lambda: lib.exp(x[0]), (flat,), 2 * size)
    yield Op("sum", n, lambda lib, x: lambda: x[0].sum(), (flat,), size)
    yield Op("softmax", n, lambda lib, x: lambda: lib.softmax(x[0], -1), (rows,), 2 * size)
    yield Op("layer norm", n, layer_norm, (rows,), 2 * size)
    yield Op("Adam update", n, adam, (flat, flat), 7 * size)


def products(side: int) -> Iterator[Op]:
    """Square matrix products, plain and with a transposed factor."""
    square, flops = (side, side), 2 * side**3
    inputs = (square, square)
    yield Op("matmul", side, lambda lib, x: lambda: x[0] @ x[1], inputs, flops=flops)
    yield Op("matmul a.T", side, lambda lib, x: lambda: x[0].T @ x[1], inputs, flops=flops)
    yield Op("matmul b.T", side, lambda lib, x: lambda: x[0] @ x[1].T, inputs, flops=flops)


def layer_norm(lib: Any, x: Any) -> Run:
    """Normalise rows, without weights."""
    if lib is vkml:
        return lambda: vkml.layer_norm(x[0], 1)
    return lambda: lib.nn.functional.layer_norm(x[0], (COLUMNS,))


def adam(lib: Any, x: Any) -> Run:
    """Update one parameter: four arrays are read, three written."""
    parameter = x[0].detach().requires_grad_()
    optimizer = lib.optim.Adam([parameter], lr=1e-3)
    parameter.grad = x[1]

    def run() -> object:
        optimizer.step()
        return parameter

    return run


def vkml_row(op: Op, device: str, rest: float) -> dict[str, Any]:
    """Time an operation in vkml."""
    drawn = np.random.default_rng(1).standard_normal(1 << 20, np.float32)
    inputs = [vkml.tensor(np.resize(drawn, shape), device=device) for shape in op.inputs]
    make, place = op.run(vkml, inputs), vkml.device(device)

    def run() -> None:
        vkml.realize(make())  # type: ignore[arg-type]

    run()
    found, steps = rounds(run, place.synchronize)
    row = {**spread(found), "kernel_ms": kernel(run, device, min(steps, 20)), "steps": steps}
    return row | ({"rested_ms": kernel(run, device, RESTED, rest)} if rest else {})


def kernel(run: Run, device: str, repeat: int, rest: float = 0.0) -> float | None:
    """Give the device's own milliseconds of the best run, from its first to its last dispatch; each
    comes after `rest` seconds without work.
    """
    place = vkml.device(device)
    if not place.timestamps_supported:
        return None
    place.set_profiling(True)
    run()  # what is recorded anew
    place.synchronize()
    place.set_profiling(True)
    for _ in range(repeat):
        if rest:
            place.synchronize()
            time.sleep(rest)
        run()
    records = place.profile_records()
    place.set_profiling(False)
    each = len(records) // repeat  # submissions of a run
    spans = [
        max(d.end for d in r.dispatches) - min(d.start for d in r.dispatches) if r.dispatches else 0
        for r in records
    ]
    return min(sum(spans[i : i + each]) for i in range(0, len(spans), each)) / 1e6


def torch_row(op: Op, torch: Any, rest: float) -> dict[str, Any]:
    """Time an operation in PyTorch, float32 without TF32."""
    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    run = op.run(torch, [torch.randn(*shape, device=device) for shape in op.inputs])

    def finish() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    run()
    found, steps = rounds(run, finish)
    row = {**spread(found), "kernel_ms": None, "steps": steps}
    return row | ({"rested_ms": round(min(rested(run, finish, rest)), 4)} if rest else {})


def rested(run: Run, finish: Run, rest: float) -> Iterator[float]:
    """Give the milliseconds until a run has finished, each after `rest` seconds without work."""
    for _ in range(RESTED):
        finish()
        time.sleep(rest)
        start = time.perf_counter()
        run()
        finish()
        yield 1e3 * (time.perf_counter() - start)


def rated(op: Op, row: dict[str, Any], copies: dict[str, float]) -> dict[str, Any]:
    """Add the rates, by the device's own time where it is known."""
    seconds = (row["kernel_ms"] or row["min_ms"]) / 1e3
    library = row["library"]
    if op.flops:
        found = {"tflops": round(op.flops / seconds / 1e12, 4)}
        if milliseconds := row.get("rested_ms"):
            found["rested_tflops"] = round(op.flops / milliseconds / 1e9, 4)
        return row | found
    rate = op.bytes / seconds / 1e9
    copy = copies.setdefault(library, rate) if op.name == "copy" else copies.get(library, math.nan)
    return row | {"gbps": round(rate, 3), "of_copy": round(rate / copy, 4)}


def main() -> None:
    """Print a row for each operation, size and library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="vulkan")
    parser.add_argument("--elements", nargs="*", type=int, default=[26, 28], help="powers of two")
    parser.add_argument("--sides", nargs="*", type=int, default=[1024, 4096])
    parser.add_argument("--only", nargs="*", default=[], help="operations, by name")
    parser.add_argument("--compare", choices=["torch"])
    parser.add_argument("--rest", type=float, default=0.0, help="seconds before single runs")
    args = parser.parse_args()
    libraries = ["vkml"] + ([args.compare] if args.compare else [])
    groups = [list(memory_ops(n)) for n in args.elements] + [list(products(s)) for s in args.sides]
    for ops in groups:
        copies: dict[str, float] = {}
        for op in ops:
            if not args.only or op.name in args.only:
                for library in libraries:
                    measure(op, library, args, copies)


def measure(op: Op, library: str, args: argparse.Namespace, copies: dict[str, float]) -> None:
    """Print one row; what does not fit into memory is a row that says so."""
    row: dict[str, Any] = {"bench": "ops", "library": library, "op": op.name, "size": op.size}
    place: dict[str, Any]
    try:
        if library == "torch":
            import torch

            place = torch_place(torch)
            found = torch_row(op, torch, args.rest)
        else:
            place = vkml_place(args.device)
            found = vkml_row(op, args.device, args.rest)
        row = rated(op, row | found, copies) | place
    except (Error, RuntimeError) as error:
        row |= {"failed": f"{type(error).__name__}: {error}"}
    show(row)


if __name__ == "__main__":
    main()
