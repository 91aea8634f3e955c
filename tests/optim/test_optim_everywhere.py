"""Optimisers, clipping and schedules give the same bits on every device, lazily and eagerly."""

from __future__ import annotations

import numpy as np
import pytest

import vkml
from tests.everywhere import same_everywhere
from tests.optim.configurations import Configuration, arrays, batches, every, model, train
from vkml import nn, optim


@every
def test_twenty_steps(configuration: Configuration) -> None:
    def program(device: str) -> dict[str, object]:
        net = model(device)
        optimizer = configuration.make(net.parameters())
        losses = train(net, optimizer, batches(20), device)
        return {"losses": np.array(losses), **arrays(net, optimizer)}

    same_everywhere(program)


@every
def test_float16_and_missing_gradients(configuration: Configuration) -> None:
    grads = np.random.default_rng(1).standard_normal((6, 2, 33)).astype(np.float16)

    def program(device: str) -> list[object]:
        params = [nn.Parameter(vkml.randn(33, device=device).to("float16")) for _ in range(2)]
        optimizer = configuration.make(params)
        for i, pair in enumerate(grads):
            for k, (p, g) in enumerate(zip(params, pair, strict=True)):
                p.grad = None if (i + k) % 3 == 0 else vkml.tensor(g, device=device)
            optimizer.step()
        return [*params, *(t for p in params for t in optimizer.state.get(p, {}).values())]

    same_everywhere(program)


@pytest.mark.parametrize("norm_type", [2.0, 1, float("inf")])
def test_clipping_and_schedules(norm_type: float) -> None:
    def program(device: str) -> dict[str, object]:
        net = model(device)
        optimizer = optim.Adam(net.parameters(), lr=0.05)
        schedule = optim.LinearWarmup(optimizer, 3, after=optim.CosineAnnealing(optimizer, 9))
        norms = []

        def before_step(i: int) -> None:
            norms.append(optim.clip_grad_norm_(net.parameters(), 0.1, norm_type))
            optim.clip_grad_value_(net.parameters(), 0.05)
            schedule.step()

        train(net, optimizer, batches(12), device, before_step)
        return {"norms": vkml.stack(norms), **arrays(net, optimizer)}

    same_everywhere(program)
