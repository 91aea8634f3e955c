"""Losses that are kept and read after the loop hold no graph and cost no second forward pass."""

import gc

import vkml
from vkml import nn, optim
from vkml_core.graph import Node


def nodes() -> int:
    gc.collect()
    return sum(type(thing) is Node for thing in gc.get_objects())


def test_kept_losses_are_computed_with_their_step() -> None:
    vkml.manual_seed(1)
    model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = vkml.randn(8, 20), vkml.randint(0, 3, (8,))
    kept: list[vkml.Tensor] = []
    counts: list[tuple[int, float]] = []
    for _ in range(40):
        loss = vkml.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(loss)
        counts.append((nodes(), vkml.device("cpu").stats()["in_use_bytes"]))
    (early, early_bytes), (late, late_bytes) = counts[10], counts[-1]
    assert late - early <= len(counts) - 11  # the node of each loss, nothing behind it
    assert late_bytes - early_bytes == 4 * (len(counts) - 11)
    before = vkml.device("cpu").stats()["dispatches"]
    values = [loss.item() for loss in kept[:-1]]
    assert vkml.device("cpu").stats()["dispatches"] == before
    assert values[-1] < values[0]
