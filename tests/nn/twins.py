"""Pairs of the same model in vkml and in PyTorch: same weights, same inputs, compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import vkml
from vkml_core.plugins import open_device


def twin(ours: Any, theirs: Any) -> None:
    """Give PyTorch's model the weights of ours; names and order must be equal."""
    state = ours.state_dict()
    assert list(state) == list(theirs.state_dict())
    theirs.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in state.items()})


def host(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def compare(
    ours: Any,
    theirs: Any,
    inputs: list[np.ndarray],
    run: Callable[[Any, list[Any]], Any] = lambda model, given: model(*given),
    other: Callable[[Any, list[Any]], Any] | None = None,
) -> np.ndarray:
    """Compare outputs and the gradients of inputs and parameters; give our output."""
    xs = [vkml.tensor(a, requires_grad=True) for a in inputs]
    ts = [torch.from_numpy(a).requires_grad_() for a in inputs]
    y, u = run(ours, xs), (other or run)(theirs, ts)
    factor = host(99, *y.shape)
    (y * vkml.tensor(factor)).sum().backward()
    (u * torch.from_numpy(factor)).sum().backward()
    found = y.numpy()
    np.testing.assert_allclose(found, u.detach().numpy(), rtol=1e-5, atol=2e-6)
    for i, (x, t) in enumerate(zip(xs, ts, strict=True)):
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), 1e-4, 1e-5, err_msg=f"x{i}")
    pairs = zip(ours.named_parameters(), theirs.parameters(), strict=True)
    for (name, p), q in pairs:
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 1e-4, 2e-5, err_msg=name)
    return found


def submissions() -> float:
    return open_device("cpu").stats()["submissions"]
