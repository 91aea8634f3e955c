"""The table of layers that the tests of this folder walk over, and what is done with a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

import vkml
from vkml import nn

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A layer, made from either library, and its input: indices below `rows`, or numbers."""

    make: Callable[[Any], Any]
    shape: Shape
    rows: int | None = None

    def input(self) -> Array:
        rng = np.random.default_rng(self.shape)
        if self.rows is not None:
            return rng.integers(0, self.rows, self.shape)
        return rng.standard_normal(self.shape).astype(np.float32)


CASES: Final[dict[str, Case]] = {
    "Linear": Case(lambda lib: lib.Linear(5, 3), (4, 5)),
    "Linear, rank 1": Case(lambda lib: lib.Linear(5, 3), (5,)),
    "Linear, rank 4": Case(lambda lib: lib.Linear(5, 3), (2, 3, 4, 5)),
    "Linear, no bias": Case(lambda lib: lib.Linear(5, 3, bias=False), (4, 5)),
    "Identity": Case(lambda lib: lib.Identity(54, unused=1), (2, 3)),
    "Flatten": Case(lambda lib: lib.Flatten(), (2, 3, 4)),
    "Flatten, range": Case(lambda lib: lib.Flatten(0, 1), (2, 3, 4)),
    "ReLU": Case(lambda lib: lib.ReLU(), (3, 4)),
    "Tanh": Case(lambda lib: lib.Tanh(), (3, 4)),
    "Sigmoid": Case(lambda lib: lib.Sigmoid(), (3, 4)),
    "SiLU": Case(lambda lib: lib.SiLU(), (3, 4)),
    "GELU": Case(lambda lib: lib.GELU(), (3, 4)),
    "GELU, tanh": Case(lambda lib: lib.GELU(approximate="tanh"), (3, 4)),
    "LeakyReLU": Case(lambda lib: lib.LeakyReLU(), (3, 4)),
    "LeakyReLU, slope": Case(lambda lib: lib.LeakyReLU(0.2), (3, 4)),
    "ELU": Case(lambda lib: lib.ELU(), (3, 4)),
    "ELU, alpha": Case(lambda lib: lib.ELU(0.5), (3, 4)),
    "Softplus": Case(lambda lib: lib.Softplus(), (3, 4)),
    "Softplus, all": Case(lambda lib: lib.Softplus(2.0, 1.0), (3, 4)),
    "Softmax": Case(lambda lib: lib.Softmax(1), (3, 4, 2)),
    "Softmax, last": Case(lambda lib: lib.Softmax(dim=-1), (3, 4)),
    "LogSoftmax": Case(lambda lib: lib.LogSoftmax(0), (3, 4)),
    "Dropout, p=0": Case(lambda lib: lib.Dropout(0.0), (3, 4)),
    "Conv1d": Case(lambda lib: lib.Conv1d(3, 4, 3), (2, 3, 7)),
    "Conv1d, all": Case(lambda lib: lib.Conv1d(4, 6, 3, 2, 2, 2, 2, False), (2, 4, 9)),
    "Conv1d, tuples": Case(lambda lib: lib.Conv1d(3, 4, (2,), (3,), (1,), (2,)), (2, 3, 9)),
    "Conv1d, same": Case(lambda lib: lib.Conv1d(2, 3, 4, padding="same", dilation=3), (2, 2, 8)),
    "Conv1d, one sample": Case(lambda lib: lib.Conv1d(3, 4, 3), (3, 7)),
    "Conv2d": Case(lambda lib: lib.Conv2d(3, 4, 3, padding=1), (2, 3, 5, 6)),
    "Conv2d, all": Case(
        lambda lib: lib.Conv2d(4, 6, (3, 2), 2, (1, 2), (2, 1), 2, bias=False), (2, 4, 7, 6)
    ),
    "Conv2d, same": Case(
        lambda lib: lib.Conv2d(2, 3, (2, 4), padding="same", dilation=(3, 1)), (2, 2, 5, 6)
    ),
    "Conv2d, valid": Case(lambda lib: lib.Conv2d(2, 3, 3, 2, padding="valid"), (2, 2, 5, 6)),
    "Conv2d, one sample": Case(lambda lib: lib.Conv2d(2, 3, 3), (2, 5, 6)),
    "MaxPool2d": Case(lambda lib: lib.MaxPool2d(2), (2, 3, 6, 4)),
    "MaxPool2d, all": Case(lambda lib: lib.MaxPool2d((3, 2), (2, 1), (1, 0), (1, 2)), (1, 2, 7, 6)),
    "MaxPool2d, one sample": Case(lambda lib: lib.MaxPool2d(2), (3, 6, 4)),
    "AvgPool2d": Case(lambda lib: lib.AvgPool2d(2), (2, 3, 6, 5)),
    "AvgPool2d, all": Case(lambda lib: lib.AvgPool2d((3, 2), (2, 1), (1, 0)), (1, 2, 7, 6)),
    "AvgPool2d, without padding": Case(
        lambda lib: lib.AvgPool2d(3, 2, padding=1, count_include_pad=False), (2, 2, 6, 5)
    ),
    "AvgPool2d, one sample": Case(
        lambda lib: lib.AvgPool2d(3, 1, 1, count_include_pad=False), (2, 4, 5)
    ),
    "AdaptiveAvgPool2d": Case(lambda lib: lib.AdaptiveAvgPool2d(1), (2, 3, 5, 4)),
    "AdaptiveAvgPool2d, even": Case(lambda lib: lib.AdaptiveAvgPool2d((3, 2)), (2, 3, 6, 8)),
    "AdaptiveAvgPool2d, uneven": Case(lambda lib: lib.AdaptiveAvgPool2d((3, 5)), (2, 2, 7, 8)),
    "AdaptiveAvgPool2d, wider": Case(lambda lib: lib.AdaptiveAvgPool2d([7, 5]), (2, 2, 3, 4)),
    "AdaptiveAvgPool2d, None": Case(lambda lib: lib.AdaptiveAvgPool2d((None, 3)), (2, 2, 5, 4)),
    "AdaptiveAvgPool2d, as it is": Case(
        lambda lib: lib.AdaptiveAvgPool2d((None, None)), (2, 2, 5, 4)
    ),
    "AdaptiveAvgPool2d, one sample": Case(lambda lib: lib.AdaptiveAvgPool2d(2), (2, 5, 4)),
    "LayerNorm": Case(lambda lib: lib.LayerNorm(6), (4, 6)),
    "LayerNorm, two dims": Case(lambda lib: lib.LayerNorm([3, 4], eps=0.1), (2, 5, 3, 4)),
    "LayerNorm, whole input": Case(lambda lib: lib.LayerNorm((6,)), (6,)),
    "LayerNorm, no bias": Case(lambda lib: lib.LayerNorm(6, bias=False), (4, 6)),
    "LayerNorm, plain": Case(lambda lib: lib.LayerNorm(6, elementwise_affine=False), (4, 6)),
    "RMSNorm": Case(lambda lib: lib.RMSNorm(6), (4, 6)),
    "RMSNorm, all": Case(lambda lib: lib.RMSNorm((3, 4), 0.01), (5, 3, 4)),
    "RMSNorm, plain": Case(lambda lib: lib.RMSNorm(6, elementwise_affine=False), (4, 6)),
    "GroupNorm": Case(lambda lib: lib.GroupNorm(2, 6), (3, 6, 4, 2)),
    "GroupNorm, rank 2": Case(lambda lib: lib.GroupNorm(3, 6, 0.1), (3, 6)),
    "GroupNorm, no bias": Case(lambda lib: lib.GroupNorm(6, 6, bias=False), (3, 6, 5)),
    "GroupNorm, plain": Case(lambda lib: lib.GroupNorm(1, 6, affine=False), (3, 6, 5)),
    "BatchNorm1d": Case(lambda lib: lib.BatchNorm1d(3), (5, 3)),
    "BatchNorm1d, rank 3": Case(lambda lib: lib.BatchNorm1d(3, bias=False), (5, 3, 2)),
    "BatchNorm2d": Case(lambda lib: lib.BatchNorm2d(3), (4, 3, 2, 5)),
    "BatchNorm2d, all": Case(lambda lib: lib.BatchNorm2d(3, 0.01, 0.3, False), (4, 3, 2, 5)),
    "BatchNorm2d, cumulative": Case(lambda lib: lib.BatchNorm2d(3, momentum=None), (4, 3, 2, 5)),
    "BatchNorm2d, momentum 0": Case(lambda lib: lib.BatchNorm2d(3, momentum=0.0), (4, 3, 2, 5)),
    "BatchNorm2d, no statistics": Case(
        lambda lib: lib.BatchNorm2d(3, track_running_stats=False), (4, 3, 2, 5)
    ),
    "Embedding": Case(lambda lib: lib.Embedding(7, 4), (5,), 7),
    "Embedding, one index": Case(lambda lib: lib.Embedding(7, 4), (), 7),
    "Embedding, rank 3": Case(lambda lib: lib.Embedding(7, 4), (2, 3, 5), 7),
    "Embedding, padding": Case(lambda lib: lib.Embedding(5, 3, padding_idx=2), (4, 6), 5),
    "Embedding, padding at the end": Case(lambda lib: lib.Embedding(5, 3, -1), (4, 6), 5),
    "Sequential": Case(
        lambda lib: lib.Sequential(
            lib.Conv2d(1, 2, 3, bias=False),
            lib.BatchNorm2d(2),
            lib.ReLU(),
            lib.MaxPool2d(2),
            lib.Flatten(),
            lib.Linear(8, 3),
        ),
        (3, 1, 6, 6),
    ),
}


def scrambled(module: Any) -> dict[str, Array]:
    """Give a state for a module of either library: no number is a default, variances positive."""
    rng = np.random.default_rng(7)
    state = {}
    for name, value in module.state_dict().items():
        like = value.numpy()
        numbers = rng.uniform(0.25, 2.0, like.shape)
        signs = 1.0 if name.endswith("running_var") else rng.choice([-1.0, 1.0], like.shape)
        state[name] = (numbers * signs * (3 if like.dtype.kind == "i" else 1)).astype(like.dtype)
        if name.endswith("num_batches_tracked"):
            state[name] = np.array(3)
    return state


def ours_of(case: Case, training: bool, device: str = "cpu") -> nn.Module:
    """Make vkml's module of a row with the scrambled state."""
    module: nn.Module = case.make(nn).train(training)
    module.load_state_dict(scrambled(module))
    return module.to(device)


def theirs_of(case: Case, training: bool) -> torch.nn.Module:
    """Make PyTorch's module of a row with the same state."""
    module: torch.nn.Module = case.make(torch.nn).train(training)
    state = scrambled(module)
    module.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in state.items()})
    return module


def both_of(case: Case, training: bool) -> tuple[nn.Module, Any, torch.nn.Module, Any]:
    """Give vkml's module and input, and PyTorch's."""
    ours, theirs, host = ours_of(case, training), theirs_of(case, training), case.input()
    x = vkml.tensor(host, requires_grad=case.rows is None)
    t = torch.from_numpy(host).requires_grad_(case.rows is None)
    return ours, x, theirs, t


def close(ours: Any, theirs: Any, tolerance: float, what: str = "") -> None:
    """Compare a tensor of vkml with one of PyTorch: to `tolerance`, of each and of the largest."""
    wanted = theirs.detach().numpy()
    room = tolerance * float(np.abs(wanted).max(initial=0.1))
    np.testing.assert_allclose(ours.numpy(), wanted, tolerance, room, err_msg=what)
