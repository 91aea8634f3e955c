"""What the tests of optimisers share: configurations, a small network, batches, and training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pytest
import torch

import vkml
from vkml import nn, optim

torch.set_num_threads(1)  # its threads would wait for each other longer than they compute


@dataclass(frozen=True)
class Configuration:
    """An optimiser of both libraries, and options that both understand."""

    ours: type[optim.Optimizer]
    theirs: type[torch.optim.Optimizer]
    options: Mapping[str, Any]

    def make(self, params: Iterable[Any], **others: Any) -> Any:
        return self.ours(params, **{**self.options, **others})

    def make_theirs(self, params: Iterable[Any], **others: Any) -> Any:
        return self.theirs(params, foreach=False, **{**self.options, **others})


OPTIMISERS: Final = {
    "SGD": (optim.SGD, torch.optim.SGD),
    "RMSProp": (optim.RMSProp, torch.optim.RMSprop),
    "Adam": (optim.Adam, torch.optim.Adam),
    "AdamW": (optim.AdamW, torch.optim.AdamW),
}
CONFIGURATIONS: Final = {
    " ".join([name, what]).strip(): Configuration(*OPTIMISERS[name], options)
    for name, what, options in (
        ("SGD", "", {"lr": 0.05}),
        ("SGD", "momentum", {"lr": 0.05, "momentum": 0.9}),
        ("SGD", "nesterov", {"lr": 0.03, "momentum": 0.9, "nesterov": True}),
        ("RMSProp", "", {"lr": 0.01}),
        ("RMSProp", "centered", {"lr": 0.003, "alpha": 0.9, "centered": True, "momentum": 0.8}),
        ("Adam", "", {"lr": 0.01}),
        ("AdamW", "", {"lr": 0.01}),
        ("SGD", "decay", {"lr": 0.05, "weight_decay": 0.02}),
        ("SGD", "momentum decay", {"lr": 0.02, "momentum": 0.8, "weight_decay": 0.01}),
        (
            "SGD",
            "nesterov decay",
            {"lr": 0.03, "momentum": 0.9, "weight_decay": 0.001, "nesterov": True},
        ),
        ("RMSProp", "decay", {"lr": 0.01, "alpha": 0.95, "weight_decay": 0.01}),
        (
            "RMSProp",
            "centered decay",
            {"lr": 0.003, "centered": True, "momentum": 0.5, "weight_decay": 0.01},
        ),
        ("Adam", "decay", {"lr": 0.01, "betas": (0.8, 0.99), "weight_decay": 0.05}),
        ("Adam", "decoupled", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
        ("AdamW", "decay", {"lr": 0.02, "betas": (0.3, 0.9), "eps": 1e-4, "weight_decay": 0.2}),
        ("SGD", "maximize", {"lr": 0.001, "momentum": 0.5, "maximize": True}),
        ("RMSProp", "maximize", {"lr": 0.001, "maximize": True}),
        ("Adam", "maximize", {"lr": 0.001, "maximize": True, "weight_decay": 0.1}),
    )
}
every = pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
STATEFUL: Final = {
    name: c
    for name, c in CONFIGURATIONS.items()
    if c.theirs is not torch.optim.SGD or "momentum" in c.options
}
stateful = pytest.mark.parametrize("configuration", STATEFUL.values(), ids=STATEFUL)


def batches(steps: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal((8, 6)).astype(np.float32), rng.integers(0, 3, 8))
        for _ in range(steps)
    ]


def network(lib: Any) -> Any:
    return lib.Sequential(lib.Linear(6, 5), lib.Tanh(), lib.Linear(5, 3))


def model(device: str = "cpu") -> nn.Sequential:
    nn.manual_seed(1)
    made = network(nn)
    made.to(device)
    return made


def pytorch_model(like: nn.Module) -> torch.nn.Module:
    made = network(torch.nn)
    made.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in like.state_dict().items()})
    return made


def train(
    net: Any,
    optimizer: Any,
    data: Iterable[tuple[np.ndarray, np.ndarray]],
    device: str = "cpu",
    before_step: Callable[[int], None] = lambda i: None,
) -> list[float]:
    """Train on `data` in either library; give the losses. Losses are read at the end of each."""
    ours = isinstance(net, nn.Module)
    loss_fn = nn.functional.cross_entropy if ours else torch.nn.functional.cross_entropy
    losses = []
    for i, (x, y) in enumerate(data):
        put = (lambda a: vkml.tensor(a, device=device)) if ours else torch.from_numpy
        optimizer.zero_grad()
        loss = loss_fn(net(put(x)), put(y))
        loss.backward()
        before_step(i)
        optimizer.step()
        losses.append(loss.item())
    return losses


def bits(net: nn.Module, optimizer: optim.Optimizer) -> dict[str, bytes]:
    """Give weights and the whole state as bytes."""
    return {name: array.tobytes() for name, array in arrays(net, optimizer).items()}


def arrays(net: Any, optimizer: Any) -> dict[str, np.ndarray]:
    """Give weights and the whole state of either library, by name."""
    found = {}
    for name, p in net.named_parameters():
        found[name] = p.numpy() if isinstance(p, vkml.Tensor) else p.detach().numpy().copy()
        for key, value in optimizer.state.get(p, {}).items():
            found[f"{name}.{key}"] = np.array(value.numpy())
    return found


def assert_close(ours: Mapping[str, Any], theirs: Mapping[str, Any], rtol: float = 2e-5) -> None:
    """Compare weights and state: relative to the largest element of each tensor."""
    assert ours.keys() == theirs.keys()
    for name, wanted in theirs.items():
        scale = float(np.abs(wanted).max(initial=0.0))
        assert ours[name].dtype == wanted.dtype, name
        np.testing.assert_allclose(ours[name], wanted, rtol, rtol * scale, err_msg=name)


def submissions() -> float:
    return vkml.device("cpu").stats()["submissions"]
