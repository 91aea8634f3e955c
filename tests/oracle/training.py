"""Two small training runs through the public functions; they end in bytes of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import vkml
from vkml import Tensor

from .values import ints, real

Model = Callable[[Sequence[Tensor], Tensor], Tensor]


def _parameters(name: str, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    return [
        vkml.tensor(real(f"{name} {i}", *shape) * 0.25, requires_grad=True)
        for i, shape in enumerate(shapes)
    ]


def _train(model: Model, parameters: list[Tensor], data: Any, steps: int) -> bytes:
    """Take SGD steps with momentum; give the parameters, momenta and losses."""
    images, labels = (vkml.tensor(array) for array in data)
    momenta = [vkml.zeros_like(p) for p in parameters]
    losses = []
    for step in range(steps):
        batch = slice(step * 16 % 48, step * 16 % 48 + 16)
        loss = vkml.cross_entropy(model(parameters, images[batch]), labels[batch])
        gradients: Any = vkml.grad(loss, parameters)
        with vkml.no_grad():
            momenta = [m * 0.9 + g for m, g in zip(momenta, gradients, strict=True)]
            vkml.assign(parameters, [p - m * 0.1 for p, m in zip(parameters, momenta, strict=True)])
        losses.append(loss.detach())
    return b"".join(t.numpy().tobytes() for t in (*parameters, *momenta, *losses))


def _mlp(p: Sequence[Tensor], x: Tensor) -> Tensor:
    hidden = vkml.gelu(vkml.layer_norm(vkml.matmul(x, p[0]) + p[1], 1, p[2], p[3]))
    hidden = vkml.dropout(hidden, 0.25)
    return vkml.matmul(vkml.tanh(vkml.matmul(hidden, p[4])), p[5])


def mlp() -> bytes:
    """Five steps; the first matrix product has three chunks of K."""
    vkml.manual_seed(3)
    shapes = [(1040, 40), (40,), (40,), (40,), (40, 24), (24, 10)]
    data = real("mlp images", 48, 1040), ints("mlp labels", 0, 10, 48)
    return _train(_mlp, _parameters("mlp", shapes), data, 5)


def _cnn(p: Sequence[Tensor], x: Tensor) -> Tensor:
    y = vkml.max_pool2d(vkml.relu(vkml.conv2d(x, p[0], p[1], padding=1)), 2)
    mean, variance = y.mean((0, 2, 3)), y.var((0, 2, 3), 0)
    y = vkml.batch_norm(y, mean, variance)
    y = vkml.silu(vkml.conv2d(y, p[2], stride=2, padding=(1, 0), dilation=(1, 2), groups=2))
    y = vkml.avg_pool2d(y, (2, 1))
    return vkml.matmul(y.reshape(y.shape[0], -1), p[3])


def cnn() -> bytes:
    """Two steps with strided, dilated and grouped convolutions and both poolings."""
    shapes = [(4, 3, 3, 3), (4,), (6, 2, 3, 2), (18, 7)]
    data = real("cnn images", 48, 3, 12, 14), ints("cnn labels", 0, 7, 48)
    return _train(_cnn, _parameters("cnn", shapes), data, 2)


RUNS: Final[dict[str, Callable[[], bytes]]] = {"mlp": mlp, "cnn": cnn}
