"""Any allowed options give PyTorch's numbers, and the same bits lazily and eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import vkml
from tests.optim.configurations import OPTIMISERS, assert_close
from vkml import nn, optim

lr = st.floats(1e-6, 0.5)
decay = st.just(0.0) | st.floats(1e-5, 0.5)
part = st.floats(0.0, 0.99)
eps = st.floats(1e-8, 1e-2)
adam = {"lr": lr, "betas": st.tuples(part, part), "eps": eps, "weight_decay": decay}
OPTIONS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "SGD": st.fixed_dictionaries(
        {"lr": lr, "momentum": st.floats(1e-3, 0.95), "weight_decay": decay},
        optional={"nesterov": st.booleans(), "maximize": st.booleans()},
    ),
    "RMSProp": st.fixed_dictionaries(
        {"lr": lr, "alpha": part, "eps": eps, "weight_decay": decay, "momentum": part},
        optional={"maximize": st.booleans()},
    ),
    "Adam": st.fixed_dictionaries(
        adam, optional={"decoupled_weight_decay": st.booleans(), "maximize": st.booleans()}
    ),
    "AdamW": st.fixed_dictionaries(adam),
}
CHOSEN = st.sampled_from(sorted(OPTIONS)).flatmap(
    lambda name: st.tuples(st.just(name), OPTIONS[name])
)


def run(make: Any, lib: Any, options: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """Take five steps with gradients that are drawn; give the parameter and its state."""
    rng = np.random.default_rng(seed)
    start = rng.standard_normal(16).astype(np.float32)
    p = lib.tensor(start.copy()).requires_grad_()
    optimizer = make([p], **options)
    for _ in range(5):
        p.grad = lib.tensor(rng.standard_normal(16).astype(np.float32))
        optimizer.step()
    found = {"p": p.detach().numpy()}
    return found | {k: np.array(t.numpy()) for k, t in optimizer.state[p].items()}


@settings(deadline=None, max_examples=150)
@given(CHOSEN, st.integers(0, 2**32))
def test_random_options(chosen: tuple[str, dict[str, Any]], seed: int) -> None:
    name, options = chosen
    ours, theirs = OPTIMISERS[name]
    lazy = run(ours, vkml, options, seed)
    with vkml.eager_mode():
        eager = run(ours, vkml, options, seed)
    assert {k: a.tobytes() for k, a in lazy.items()} == {k: a.tobytes() for k, a in eager.items()}
    assert_close(lazy, run(theirs, torch, {**options, "foreach": False}, seed), rtol=1e-4)


@settings(deadline=None, max_examples=60)
@given(CHOSEN, st.integers(0, 2**32))
def test_random_options_survive_saving(chosen: tuple[str, dict[str, Any]], seed: int) -> None:
    name, options = chosen
    p, q = (nn.Parameter(vkml.ones(3)) for _ in range(2))
    one, other = OPTIMISERS[name][0]([p], **options), OPTIMISERS[name][0]([q])
    grads = np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32)

    def step(param: nn.Parameter, optimizer: optim.Optimizer, g: np.ndarray) -> None:
        param.grad = vkml.tensor(g)
        optimizer.step()

    for g in grads[:2]:
        step(p, one, g)
    with vkml.no_grad():
        q.assign_(p)
    other.load_state_dict(one.state_dict())
    for g in grads[2:]:
        step(p, one, g)
        step(q, other, g)
    assert p.numpy().tobytes() == q.numpy().tobytes()
