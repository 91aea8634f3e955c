"""Times Python: `python benchmarks/host.py [--device vulkan|cpu] [--rounds N]`, a JSON line a row.

Rows: recording an operation lazily, realising a graph whose plan is cached, and `Executable.run` of
plans whose buffers recur. On Vulkan the time inside the driver (submitting and waiting) is measured
apart: `python_us` is what remains. A driver that runs on the processor takes cores and caches from
Python, so runs are measured once more with nothing submitted: `alone_us`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from rows import show, vkml_place

import vkml
from vkml_core.graph import Node, Storage, build, data, pending_inputs, reachable
from vkml_core.plugins import open_device
from vkml_core.schedule import schedule

WAITING: Final = {
    "vkQueueSubmit": "VK_SUCCESS",
    "vkWaitForFences": "VK_SUCCESS",
    "vkGetFenceStatus": "VK_SUCCESS",
    "vkGetEventStatus": "VK_EVENT_SET",
}
"""Calls of the driver whose time is not Python's, and what they give when all went well."""
Run = Callable[[], object]


class Driver:
    """Stands before the driver's functions and adds up the time inside some of them."""

    def __init__(self, lib: Any) -> None:
        self._lib = lib
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._lib, name)
        if name in WAITING:
            found = self._timed(found)
        setattr(self, name, found)  # looked up once
        return found

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Submit nothing inside: it counts as finished when it is asked for, before the end."""
        real = {name: getattr(self, name) for name in WAITING}
        for name, result in WAITING.items():
            done = getattr(self._lib, result)
            setattr(self, name, lambda *_, done=done: done)
        yield
        for name, function in real.items():
            setattr(self, name, function)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        clock = time.perf_counter

        def timed(*arguments: Any) -> Any:
            start = clock()
            result = function(*arguments)
            self.seconds += clock() - start
            return result

        return timed


@contextmanager
def driver(device: str) -> Iterator[Driver]:
    """Time the driver of a Vulkan device; other devices have none."""
    if not device.startswith("vulkan"):
        yield Driver(None)
        return
    from vkml_backend_vulkan import vk

    made = vk.lib = Driver(vk.lib)  # type: ignore[misc]
    try:
        yield made
    finally:
        vk.lib = made._lib  # type: ignore[misc]


def measured(
    run: Run, finish: Run, inside: Driver, *, rounds: int, repeat: int
) -> dict[str, float]:
    """Give minimum and median microseconds a call, and of those what is not the driver's."""
    wall, python = [], []
    for _ in range(rounds):
        finish()
        before, start = inside.seconds, time.perf_counter()
        for _ in range(repeat):
            run()
        spent = time.perf_counter() - start
        wall.append(spent / repeat * 1e6)
        python.append((spent - inside.seconds + before) / repeat * 1e6)
    return {
        "min_us": round(min(wall), 2),
        "median_us": round(statistics.median(wall), 2),
        "python_us": round(min(python), 2),
        "python_median_us": round(statistics.median(python), 2),
    }


def executable(device: str, roots: Sequence[Node], donate: Sequence[Node]) -> tuple[Run, Any]:
    """Compile a graph; give what runs it again and again on the same tensors, and its plan."""
    opened = open_device(device)
    order = reachable(roots, pending_inputs)
    made = schedule(order, roots, donate=donate, capabilities=opened.capabilities())
    inputs = [order[i].storage.buffer for i in made.inputs]  # type: ignore[union-attr]
    scalars = [order[i].value for i in made.scalars]
    ready = opened.compile(made.plan)
    return lambda: ready.run(inputs, scalars), made.plan  # type: ignore[arg-type]


def leaf(device: str, *shape: int) -> Node:
    """Upload ones."""
    opened, ones = open_device(device), np.ones(shape, np.float32)
    return data(Storage(opened.upload(ones), opened), shape, vkml.float32, device)


def one_op(device: str) -> tuple[Run, Any]:
    """A plan of one addition."""
    x = leaf(device, 1000)
    return executable(device, [build.add(x, x)], ())


def sixteen(device: str) -> tuple[Run, Any]:
    """A plan of 16 dispatches over 30 buffers: four states, eighteen inputs, eight results."""
    states, inputs = [leaf(device, 64) for _ in range(12)], [leaf(device, 64) for _ in range(10)]
    sums = [build.add(w, inputs[i % 10]) for i, w in enumerate(states)]
    raised = [
        build.assign(w, build.cumsum(s, axis=0)) for w, s in zip(states[:4], sums, strict=False)
    ]
    return executable(device, [*raised, *sums[4:]], states[:4])


def mlp_step(device: str, *, labels: bool) -> tuple[Run, Any]:
    """A training step of 784-128-10 at batch 64, SGD with momentum; labels are indices or not."""
    draw = np.random.default_rng(0).standard_normal
    shapes = (784, 128), (128,), (128, 10), (10,)
    params, moments = (
        [vkml.tensor(draw(s).astype(np.float32) * 0.05, device=device) for s in shapes]
        for _ in range(2)
    )
    for p in params:
        p.requires_grad_(True)
    x = vkml.tensor(draw((64, 784)).astype(np.float32), device=device)
    y = vkml.randint(0, 10, (64,), seed=2, device=device)
    target = vkml.tensor(draw((64, 10)).astype(np.float32), device=device)
    vkml.realize(x, y, target)
    found = vkml.relu(x @ params[0] + params[1]) @ params[2] + params[3]
    loss = vkml.cross_entropy(found, y) if labels else ((found - target) ** 2).mean()
    gradients: Any = vkml.grad(loss, params)
    with vkml.no_grad():
        kept = [m * 0.9 + g for m, g in zip(moments, gradients, strict=True)]
        moved = [p - 0.05 * m for p, m in zip(params, kept, strict=True)]
    states = [t.node for t in (*params, *moments)]
    values = [t.node for t in (*moved, *kept)]
    raised = [build.assign(s, v) for s, v in zip(states, values, strict=True)]
    return executable(device, [loss.node, *raised], states)


def recorded(device: str, count: int) -> Run:
    """Record `count` operations that nobody computes."""
    x = vkml.tensor([1.0, 2.0], device=device)

    def run() -> None:
        y = x
        for _ in range(count):
            y = y + x

    return run


def realised(device: str) -> Run:
    """Record and compute ten operations whose plan is in the cache."""
    x = vkml.tensor([1.0, 2.0], device=device)

    def run() -> None:
        y = x
        for _ in range(10):
            y = y + x
        vkml.realize(y)

    return run


def rows(device: str, rounds: int) -> Iterator[dict[str, Any]]:
    """Measure everything, a row at a time."""
    finish = open_device(device).synchronize
    with driver(device) as inside:
        yield {"row": "record, an operation", **_per(recorded(device, 100), finish, inside, rounds)}
        found = measured(realised(device), finish, inside, rounds=rounds, repeat=20)
        yield {"row": "record 10 and realize, plan cached", **found}
        for name, (run, plan) in _plans(device).items():
            for _ in range(20):
                run()
            found = measured(run, finish, inside, rounds=rounds, repeat=20)
            buffers = len(plan.inputs) + sum(s.kind.value == "output" for s in plan.slots)
            counts = {"steps": len(plan.steps), "buffers": buffers}
            if device.startswith("vulkan"):
                alone = _alone(run, finish, inside, rounds)
                found["alone_us"], found["alone_median_us"] = alone["min_us"], alone["median_us"]
            yield {"row": f"run: {name}", **counts, **found}


def _alone(run: Run, finish: Run, inside: Driver, rounds: int) -> dict[str, float]:
    """Measure while nothing is submitted; all that was, or is thought to be, is finished first."""
    finish()
    with inside.idle():
        found = measured(run, finish, inside, rounds=rounds, repeat=50)
        finish()
    return found


def _plans(device: str) -> dict[str, tuple[Run, Any]]:
    return {
        "one operation": one_op(device),
        "sixteen dispatches": sixteen(device),
        "MLP step, no labels": mlp_step(device, labels=False),
        "MLP step, labels": mlp_step(device, labels=True),
    }


def _per(run: Run, finish: Run, inside: Driver, rounds: int) -> dict[str, float]:
    """Give what one of the 100 operations of a run costs."""
    found = measured(run, finish, inside, rounds=rounds, repeat=10)
    return {name: round(us / 100, 3) for name, us in found.items()}


def main() -> None:
    """Print a JSON line a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    for row in rows(args.device, args.rounds):
        show({**row, **vkml_place(args.device)})


if __name__ == "__main__":
    main()
