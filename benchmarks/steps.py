"""Training steps to be timed: the same models, loss and optimiser in vkml and in PyTorch.

MLP 784-128-10; CNN of three blocks of convolution 3 × 3, ReLU and pooling, then a linear layer
(CIFAR-100). Cross-entropy, SGD with momentum 0.9; data on the device, values drawn, never zeros.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

SAMPLES: Final[dict[str, tuple[tuple[int, ...], int]]] = {
    "mlp": ((784,), 10),
    "cnn": ((3, 32, 32), 100),
}
"""The shape of a sample, and the number of classes."""
RATE, MOMENTUM = 0.05, 0.9


@dataclass
class Training:
    """A step to be timed, how to wait for it, and what to tell of it afterwards."""

    step: Callable[[], object]
    finish: Callable[[], object]
    facts: Callable[[], dict[str, Any]]
    first: float = 0.0
    """Seconds of the first call."""


def model(lib: Any, name: str) -> Any:
    """Build a model with the layers of vkml or PyTorch: their names are the same."""
    nn = lib.nn
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    layers: list[Any] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 100))


def prepared(training: Training, warmup: int) -> Training:
    """Run the first steps; the very first one is timed."""
    start = time.perf_counter()
    training.step()
    training.finish()
    training.first = time.perf_counter() - start
    for _ in range(warmup):
        training.step()
    training.finish()
    return training


def vkml_training(name: str, batch: int, device: str, mode: str) -> Training:
    """Train with vkml: `mode` is lazy, eager or compiled."""
    import vkml

    vkml.manual_seed(0)
    vkml.set_eager(mode == "eager")
    sample, classes = SAMPLES[name]
    net = model(vkml, name).to(device)
    optimizer = vkml.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM)
    x = vkml.randn(batch, *sample, seed=1, device=device)
    y = vkml.randint(0, classes, (batch,), seed=2, device=device)
    vkml.realize(x, y)
    last: list[Any] = []

    def train(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = vkml.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = vkml.compile(train) if mode == "compiled" else train

    def step() -> None:
        last[:] = [run(x, y)]
        vkml.realize(*last)

    place = vkml.device(device)
    before = dict(place.stats())

    def facts() -> dict[str, Any]:
        after = place.stats()
        counts = {k: after[k] - before[k] for k in ("submissions", "dispatches")}
        return counts | {"loss": float(last[0].item()), "peak_bytes": after["peak_bytes"]}

    return Training(step, place.synchronize, facts)


def torch_training(name: str, batch: int, mode: str) -> Training:
    """Train with PyTorch: `mode` is eager, or graph (CUDA only); float32 without TF32."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sample, classes = SAMPLES[name]
    net = model(torch, name).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM)
    x = torch.randn(batch, *sample, device=device)
    y = torch.randint(0, classes, (batch,), device=device)
    last: list[Any] = []

    def step() -> None:
        optimizer.zero_grad()
        last[:] = [torch.nn.functional.cross_entropy(net(x), y)]
        last[0].backward()
        optimizer.step()

    def finish() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    def facts() -> dict[str, Any]:
        peak = torch.cuda.max_memory_allocated() if device == "cuda" else None
        return {"loss": float(last[0].detach()), "peak_bytes": peak}

    return Training(_graph(torch, step) if mode == "graph" else step, finish, facts)


def _graph(torch: Any, step: Callable[[], object]) -> Callable[[], object]:
    """Record a step as a CUDA graph, warmed up on a stream of its own as PyTorch asks for."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    replay: Callable[[], object] = graph.replay
    return replay
