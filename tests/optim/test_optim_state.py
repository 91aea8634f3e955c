"""state_dict has PyTorch's layout, moves both ways, and resumes to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.everywhere import devices
from tests.optim.configurations import (
    Configuration,
    arrays,
    assert_close,
    batches,
    bits,
    every,
    model,
    pytorch_model,
    stateful,
    submissions,
    train,
)
from vkml import nn, optim


def to_torch(state: dict[str, Any]) -> dict[str, Any]:
    """Turn the tensors of a state into PyTorch's, and leave everything else as it is."""
    return {
        "state": {
            i: {k: torch.from_numpy(np.array(t.numpy())) for k, t in kept.items()}
            for i, kept in state["state"].items()
        },
        "param_groups": state["param_groups"],
    }


@every
def test_the_layout_is_pytorchs(configuration: Configuration) -> None:
    net = model()
    theirs = pytorch_model(net)
    made = []
    for lib, make in ((net, configuration.make), (theirs, configuration.make_theirs)):
        a, b, c, d = lib.parameters()
        made.append(make([{"params": [c, a]}, {"params": [b, d], "lr": 0.5}]))
        train(lib, made[-1], batches(2))
    ours, wanted = (optimizer.state_dict() for optimizer in made)
    assert list(ours) == list(wanted) == ["state", "param_groups"]
    for group in wanted["param_groups"]:
        group["foreach"] = None
    assert ours["param_groups"] == wanted["param_groups"]
    assert [list(g) for g in ours["param_groups"]] == [list(g) for g in wanted["param_groups"]]
    assert list(ours["state"]) == list(wanted["state"])
    for i, kept in wanted["state"].items():
        assert list(ours["state"][i]) == list(kept)
        for key, value in kept.items():
            assert ours["state"][i][key].shape == tuple(value.shape)
            assert ours["state"][i][key].dtype.name == str(value.dtype).removeprefix("torch.")


@every
def test_thirty_steps_here_and_thirty_in_pytorch(configuration: Configuration) -> None:
    net = model()
    reference = pytorch_model(net)
    first = configuration.make(net.parameters())
    train(net, first, batches(30))
    theirs = pytorch_model(net)
    second = configuration.theirs(theirs.parameters(), lr=0.5)
    second.load_state_dict(to_torch(first.state_dict()))
    train(theirs, second, batches(60)[30:])
    all_theirs = configuration.make_theirs(reference.parameters())
    train(reference, all_theirs, batches(60))
    assert_close(arrays(theirs, second), arrays(reference, all_theirs))


@every
def test_thirty_steps_in_pytorch_and_thirty_here(configuration: Configuration) -> None:
    start = model()
    theirs, reference = pytorch_model(start), pytorch_model(start)
    first = configuration.theirs(theirs.parameters(), **configuration.options)
    train(theirs, first, batches(30))
    net = model()
    net.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    second = configuration.ours(net.parameters(), lr=0.5)
    second.load_state_dict(first.state_dict())
    assert second.param_groups[0]["lr"] == configuration.options["lr"]
    train(net, second, batches(60)[30:])
    all_theirs = configuration.make_theirs(reference.parameters())
    train(reference, all_theirs, batches(60))
    assert_close(arrays(net, second), arrays(reference, all_theirs))


@every
@pytest.mark.parametrize("as_arrays", [False, True], ids=["tensors", "arrays"])
def test_ten_and_ten_steps_are_twenty(configuration: Configuration, as_arrays: bool) -> None:
    whole, first, second = model(), model(), model()
    uninterrupted = configuration.make(whole.parameters())
    losses = train(whole, uninterrupted, batches(20))
    one = configuration.make(first.parameters())
    before = train(first, one, batches(10))
    state = one.state_dict()
    if as_arrays:
        state["state"] = {
            i: {k: t.numpy() for k, t in kept.items()} for i, kept in state["state"].items()
        }
    second.load_state_dict(first.state_dict())
    other = configuration.ours(second.parameters())
    other.load_state_dict(state)
    train(first, one, batches(10))  # going on with the first changes nothing in the second
    assert before + train(second, other, batches(20)[10:]) == losses
    assert bits(second, other) == bits(whole, uninterrupted)


@stateful
def test_saved_tensors_keep_their_values(configuration: Configuration) -> None:
    net = model()
    optimizer = configuration.make(net.parameters())
    train(net, optimizer, batches(3))
    saved, wanted = optimizer.state_dict(), bits(net, optimizer)
    train(net, optimizer, batches(4))
    optimizer.load_state_dict(saved)
    train(net, optimizer, [])
    now = bits(net, optimizer)
    names = [name for name in wanted if name.rpartition(".")[2] not in ("weight", "bias")]
    assert names and [now[name] for name in names] == [wanted[name] for name in names]


def test_saving_computes_nothing_and_a_shared_count_is_one_tensor() -> None:
    net = model()
    optimizer = optim.Adam(net.parameters())
    x, y = (vkml.tensor(a) for a in batches(1)[0])
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
    start = submissions()
    saved = optimizer.state_dict()
    assert submissions() == start
    assert len({id(kept["step"]) for kept in saved["state"].values()}) == 1


def test_state_moves_between_devices() -> None:
    here, there = devices()
    nets = model(here), model(there)
    one, other = (optim.Adam(net.parameters(), lr=0.02) for net in nets)
    train(nets[0], one, batches(3), here)
    other.load_state_dict(one.state_dict())
    nets[1].load_state_dict(nets[0].state_dict())
    for net, optimizer, device in ((nets[0], one, here), (nets[1], other, there)):
        train(net, optimizer, batches(5)[3:], device)
        for p, kept in optimizer.state.items():
            assert {t.device for t in kept.values()} == {p.device}
    assert bits(nets[0], one) == bits(nets[1], other)


@pytest.mark.parametrize("name", ["SGD", "RMSProp"])
def test_state_that_an_option_asks_for_later_is_there_when_saved(name: str) -> None:
    net, twin = model(), model()
    one = getattr(optim, name)(net.parameters(), lr=0.01)
    other = getattr(optim, name)(twin.parameters())
    train(net, one, batches(2))
    one.param_groups[0]["momentum"] = 0.5
    other.load_state_dict(one.state_dict())
    twin.load_state_dict(net.state_dict())
    assert train(net, one, batches(3)) == train(twin, other, batches(3))
    assert bits(net, one) == bits(twin, other)


def test_state_that_is_no_longer_used_stays() -> None:
    net = model()
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    train(net, optimizer, batches(2))
    before = bits(net, optimizer)["0.weight.momentum_buffer"]
    optimizer.param_groups[0]["momentum"] = 0.0
    train(net, optimizer, batches(2))
    optimizer.load_state_dict(optimizer.state_dict())
    assert bits(net, optimizer)["0.weight.momentum_buffer"] == before


def test_what_older_pytorch_wrote_is_taken() -> None:
    p, q = nn.Parameter(vkml.ones(2)), nn.Parameter(vkml.ones(1))
    optimizer = optim.AdamW([p, q])
    group = {"lr": 1e-3, "betas": [0.9, 0.99], "eps": 1e-8, "weight_decay": 0, "amsgrad": False}
    moments = {"exp_avg": [0.5, 0.25], "exp_avg_sq": np.ones(2)}
    optimizer.load_state_dict(
        {"state": {7: {"step": 3, **moments}}, "param_groups": [{**group, "params": [7, 3]}]}
    )
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.99)
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is True
    assert optimizer.state[p]["step"].item() == 3.0 and q not in optimizer.state
    sgd = optim.SGD([p])
    group = {"lr": 0.1, "momentum": 0.9, "dampening": 0, "weight_decay": 0, "nesterov": False}
    state = {0: {"momentum_buffer": None}}
    sgd.load_state_dict({"state": state, "param_groups": [{**group, "params": [0]}]})
    assert not sgd.state


def test_loading_converts_to_the_dtype_of_the_parameter() -> None:
    p = nn.Parameter(vkml.ones(2).to("float16"))
    optimizer = optim.Adam([p])
    p.grad = vkml.ones(2).to("float16")
    optimizer.step()
    state = optimizer.state_dict()
    kept = state["state"][0]
    state["state"][0] = {k: t.numpy().astype(np.float64) for k, t in kept.items()}
    optimizer.load_state_dict(state)
    found = optimizer.state[p]
    assert [found[k].dtype for k in found] == [vkml.float32, vkml.float16, vkml.float16]
    assert [found[k].tolist() for k in found] == [t.tolist() for t in kept.values()]
