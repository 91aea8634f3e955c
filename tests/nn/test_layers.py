"""Every layer of the table: values, gradients, state, repr beside PyTorch's; bits everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.everywhere import same_everywhere
from tests.nn.layer_cases import CASES, both_of, close, ours_of, scrambled
from vkml import nn
from vkml_core.plugins import open_device

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch's
every_row = pytest.mark.parametrize("name", CASES)
both_modes = pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])


def weights(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Give numbers that make one number of an output, none of which cancel by symmetry."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(np.float32)


def leaves(module: Any, x: Any) -> list[Any]:
    """Give what a module's output may be differentiated by."""
    return [*([x] if x.requires_grad else []), *module.parameters()]


@both_modes
@every_row
def test_values_gradients_and_buffers_are_pytorchs(name: str, training: bool) -> None:
    ours, x, theirs, t = both_of(CASES[name], training)
    y, u = ours(x), theirs(t)
    assert y.shape == tuple(u.shape)
    close(y, u, 2e-6, "output")
    w = weights(y.shape, 1)
    if leaves(ours, x):
        (y * y * vkml.tensor(w)).sum().backward()
        (u * u * torch.from_numpy(w)).sum().backward()
    for i, (p, q) in enumerate(zip(leaves(ours, x), leaves(theirs, t), strict=True)):
        close(p.grad, q.grad, 5e-6, f"gradient {i}")
    for (key, a), (other, b) in zip(ours.named_buffers(), theirs.named_buffers(), strict=True):
        assert key == other
        close(a, b, 1e-6, key)


@both_modes
@every_row
def test_second_derivatives_are_pytorchs(name: str, training: bool) -> None:
    ours, x, theirs, t = both_of(CASES[name], training)
    y, u = ours(x), theirs(t)
    w = weights(y.shape, 1)
    loss, loss_t = (y * y * vkml.tensor(w)).sum(), (u * u * torch.from_numpy(w)).sum()
    ins, ins_t = leaves(ours, x), leaves(theirs, t)
    first = vkml.grad(loss, ins, create_graph=True)
    first_t = torch.autograd.grad(loss_t, ins_t, create_graph=True)
    shapes = [weights(g.shape, i) for i, g in enumerate(first) if g is not None]
    total = sum((g * vkml.tensor(v)).sum() for g, v in zip(first, shapes, strict=True))
    total_t = sum((g * torch.from_numpy(v)).sum() for g, v in zip(first_t, shapes, strict=True))
    second = vkml.grad(total, ins, allow_unused=True)
    second_t = torch.autograd.grad(total_t, ins_t, allow_unused=True)
    for i, (a, b) in enumerate(zip(second, second_t, strict=True)):
        got = vkml.zeros_like(ins[i]) if a is None else a
        wanted = torch.zeros_like(ins_t[i]) if b is None else b
        close(got, wanted, 2e-5, f"second derivative {i}")


@every_row
def test_repr_and_state_are_pytorchs(name: str) -> None:
    ours, theirs = CASES[name].make(nn), CASES[name].make(torch.nn)
    assert repr(ours) == repr(theirs)
    told = [(k, tuple(v.shape), v.numpy().dtype) for k, v in ours.state_dict().items()]
    assert told == [(k, tuple(v.shape), v.numpy().dtype) for k, v in theirs.state_dict().items()]
    assert [k for k, _ in ours.named_parameters()] == [k for k, _ in theirs.named_parameters()]
    assert [k for k, _ in ours.named_buffers()] == [k for k, _ in theirs.named_buffers()]


@every_row
def test_state_goes_from_pytorch_and_back_unchanged(name: str) -> None:
    ours, theirs = CASES[name].make(nn), CASES[name].make(torch.nn)
    wanted = {k: torch.from_numpy(v.copy()) for k, v in scrambled(theirs).items()}
    theirs.load_state_dict(wanted)
    assert ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()}) == ([], [])
    again = CASES[name].make(torch.nn)
    again.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in ours.state_dict().items()})
    for key, value in again.state_dict().items():
        assert value.numpy().tobytes() == wanted[key].numpy().tobytes(), key


@every_row
def test_reset_parameters_gives_starting_values(name: str) -> None:
    module = CASES[name].make(nn)
    if not hasattr(module, "reset_parameters"):
        assert not list(module.parameters(recurse=False))
        return
    nn.manual_seed(3)
    fresh = {k: v.numpy() for k, v in CASES[name].make(nn).state_dict().items()}
    module.load_state_dict(scrambled(module))
    nn.manual_seed(3)
    module.reset_parameters()
    for key, value in module.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), fresh[key], key)


@both_modes
@every_row
def test_the_bits_are_the_same_everywhere(name: str, training: bool) -> None:
    case = CASES[name]

    def program(device: str) -> dict[str, Any]:
        module = ours_of(case, training, device)
        x = vkml.tensor(case.input(), device=device, requires_grad=case.rows is None)
        found = {}
        for step in range(2):
            y = module(x)
            found[f"output {step}"] = y
            if leaves(module, x):
                (y * y * vkml.tensor(weights(y.shape, 1), device=device)).sum().backward()
        found |= {f"gradient {i}": p.grad for i, p in enumerate(leaves(module, x))}
        return found | module.state_dict()

    same_everywhere(program)


@both_modes
@every_row
def test_nothing_is_computed_before_it_is_read(name: str, training: bool) -> None:
    case = CASES[name]
    module = ours_of(case, training)
    x = vkml.tensor(case.input(), requires_grad=case.rows is None)
    before = open_device("cpu").stats()["submissions"]
    y = module(x)
    if leaves(module, x):
        (y * y).sum().backward()
    assert open_device("cpu").stats()["submissions"] == before
    vkml.realize(y, *module.buffers())
    assert open_device("cpu").stats()["submissions"] <= before + 1
