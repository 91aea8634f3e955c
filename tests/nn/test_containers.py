"""Sequential and ModuleList: lists of modules beside PyTorch's."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch

import vkml
from vkml import nn


def layers(lib: Any) -> list[Any]:
    return [lib.Linear(2, 3), lib.ReLU(), lib.Linear(3, 1), lib.ReLU(), lib.ReLU()]


def named(lib: Any) -> Any:
    return lib.Sequential(OrderedDict(first=lib.Linear(2, 3), second=lib.Tanh()))


def changed(model: Any, change: Callable[[Any], object]) -> Any:
    change(model)
    return model


SEQUENTIALS: dict[str, Callable[[Any], Any]] = {
    "empty": lambda lib: lib.Sequential(),
    "modules": lambda lib: lib.Sequential(*layers(lib)),
    "dict": named,
    "slice": lambda lib: lib.Sequential(*layers(lib))[1:3],
    "slice of names": lambda lib: named(lib)[1:],
    "append": lambda lib: named(lib).append(lib.Sigmoid()),
    "extend": lambda lib: lib.Sequential(lib.Tanh()).extend(layers(lib)),
    "insert": lambda lib: changed(
        lib.Sequential(*layers(lib)), lambda m: m.insert(1, lib.Sigmoid())
    ),
    "set": lambda lib: changed(named(lib), lambda m: m.__setitem__(-1, lib.Sigmoid())),
    "delete": lambda lib: changed(lib.Sequential(*layers(lib)), lambda m: m.__delitem__(0)),
    "delete a slice": lambda lib: changed(
        lib.Sequential(*layers(lib)), lambda m: m.__delitem__(slice(0, 3, 2))
    ),
    "pop": lambda lib: changed(lib.Sequential(*layers(lib)), lambda m: m.pop(-2)),
}
LISTS: dict[str, Callable[[Any], Any]] = {
    "empty": lambda lib: lib.ModuleList(),
    "modules": lambda lib: lib.ModuleList(layers(lib)),
    "generator": lambda lib: lib.ModuleList(lib.Linear(i + 1, 2) for i in range(3)),
    "alike": lambda lib: lib.ModuleList(lib.Linear(4, 4) for _ in range(12)),
    "nested": lambda lib: lib.ModuleList(
        lib.Sequential(lib.Linear(4, 4), lib.ModuleList([lib.ReLU(), lib.ReLU()])) for _ in range(2)
    ),
    "slice": lambda lib: lib.ModuleList(layers(lib))[::-2],
    "append": lambda lib: lib.ModuleList(layers(lib)).append(lib.Tanh()),
    "add": lambda lib: lib.ModuleList(layers(lib)) + [lib.Tanh()],
    "add in place": lambda lib: changed(
        lib.ModuleList(layers(lib)), lambda m: m.__iadd__([lib.Tanh()])
    ),
    "insert": lambda lib: changed(lib.ModuleList(layers(lib)), lambda m: m.insert(2, lib.Tanh())),
    "insert at the end": lambda lib: changed(
        lib.ModuleList(layers(lib)), lambda m: m.insert(5, lib.Tanh())
    ),
    "set": lambda lib: changed(
        lib.ModuleList(layers(lib)), lambda m: m.__setitem__(-1, lib.Tanh())
    ),
    "delete": lambda lib: changed(lib.ModuleList(layers(lib)), lambda m: m.__delitem__(1)),
    "delete a slice": lambda lib: changed(
        lib.ModuleList(layers(lib)), lambda m: m.__delitem__(slice(1, 4))
    ),
    "pop": lambda lib: changed(lib.ModuleList(layers(lib)), lambda m: m.pop(0)),
}
BOTH = [*SEQUENTIALS.items(), *((f"list, {k}", v) for k, v in LISTS.items())]


@pytest.mark.parametrize("make", [m for _, m in BOTH], ids=[k for k, _ in BOTH])
def test_contents_are_pytorchs(make: Callable[[Any], Any]) -> None:
    ours, theirs = make(nn), make(torch.nn)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [k for k, _ in ours.named_modules()] == [k for k, _ in theirs.named_modules()]
    assert len(ours) == len(theirs)
    for i in range(-len(ours), len(ours)):
        assert ours[i] is list(ours)[i] and repr(ours[i]) == repr(theirs[i])


def test_they_hold_what_they_were_given() -> None:
    given = layers(nn)
    model, held = nn.Sequential(*given), nn.ModuleList(given)
    assert list(model) == list(held) == given and given[2] in held
    assert model.pop(0) is given[0] and len(model) == 4
    assert held.append(model) is held and held[-1] is model
    assert model(vkml.ones(1, 3)).shape == (1, 1)
    with pytest.raises(NotImplementedError, match="ModuleList: forward"):
        held(vkml.ones(1, 3))


def test_a_network_of_a_list_is_trained() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))

        def forward(self, x: vkml.Tensor) -> vkml.Tensor:
            for block in self.blocks:
                x = x + block(x).tanh()
            return x

    model = Residual()
    model(vkml.ones(2, 3)).sum().backward()
    assert len(list(model.parameters())) == 8
    assert all(p.grad is not None and p.grad.numpy().any() for p in model.parameters())


def test_what_does_not_fit_changes_nothing() -> None:
    for made in (nn.Sequential(*layers(nn)), nn.ModuleList(layers(nn))):
        model: Any = made
        before, shown = list(model), repr(model)
        for change, error, message in (
            (lambda m: m[5], IndexError, "index 5 is outside its 5 modules"),
            (lambda m: m[-6], IndexError, "index -6 is outside"),
            (lambda m: m["0"], TypeError, "index: expected an int"),
            (lambda m: m.insert(6, nn.ReLU()), IndexError, "index 6 is outside"),
            (lambda m: m.insert(0, 3), TypeError, "expected a Module, got int"),
            (lambda m: m.append(3), TypeError, "expected a Module or None, got int"),
            (lambda m: m.extend([nn.ReLU(), 3]), TypeError, "module 1: expected a Module, got int"),
            (lambda m: m.extend(nn.ReLU()), TypeError, "expected modules, got"),
            (lambda m: m.__setitem__(0, 3), TypeError, "expected a Module or None, got int"),
            (lambda m: m.__setitem__(9, nn.ReLU()), IndexError, "index 9 is outside"),
            (lambda m: m.__delitem__(9), IndexError, "index 9 is outside"),
            (lambda m: m.pop(9), IndexError, "index 9 is outside"),
        ):
            with pytest.raises(error, match=message):
                change(model)
            assert list(model) == before and repr(model) == shown
    with pytest.raises(TypeError, match="0: expected a Module or None, got int"):
        nn.Sequential(3)  # type: ignore[arg-type]
