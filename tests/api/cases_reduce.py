"""Cases of the reductions, scans and the functions made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from .case import Case, case
from .support import COMPOSED, EXACT, Tolerance, bools, distinct, ints, reals

DIMS: tuple[Any, ...] = (None, 0, -1, (0, 2), (-1, 1), (0, 1, 2))
SUMS = {"sum": COMPOSED, "mean": COMPOSED, "prod": COMPOSED, "logsumexp": COMPOSED}
EXTREMES = {"amax": EXACT, "amin": EXACT}


def _over_dims(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a PyTorch reduction take None and tuples of dims as ours do."""

    def call(x: torch.Tensor, dim: Any = None, keepdim: bool = False, **rest: Any) -> Any:
        dims = tuple(range(x.ndim)) if dim is None else dim
        return function(x, dims, keepdim=keepdim, **rest)

    return call


def _each_dim(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give several dims to a PyTorch function that takes one."""

    def call(x: torch.Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        for d in sorted((d % x.ndim for d in dims), reverse=True):
            x = function(x, d, keepdim=keepdim)
        return x

    return call


THEIRS = {
    "sum": _over_dims(torch.sum),
    "mean": _over_dims(torch.mean),
    "prod": _each_dim(torch.prod),
    "amax": _over_dims(torch.amax),
    "amin": _over_dims(torch.amin),
    "logsumexp": _over_dims(torch.logsumexp),
    "all": _over_dims(torch.all),
    "any": _over_dims(torch.any),
}


def _reduction(name: str, tolerance: Tolerance) -> list[Case]:
    theirs, out = THEIRS[name], []
    for dim in DIMS:
        for keepdim in (False, True):
            x = distinct(3, 4, 5) / 32
            args = {"dim": dim, "keepdim": keepdim}
            out.append(case(name, x, theirs=theirs, tolerance=tolerance, **args))
    for shape, dim in (((7,), 0), ((2, 3, 2, 2), (1, 3)), ((3, 0), 0), ((), None)):
        x = distinct(*shape)
        scalar = getattr(torch, name) if not shape and name != "logsumexp" else theirs
        out.append(case(name, x, dim=dim, theirs=_rank0(scalar), tolerance=tolerance))
    half = distinct(4, 5, dtype=np.float16)
    out.append(case(name, half / 4, dim=1, theirs=theirs, tolerance=tolerance))
    return out


def _rank0(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim: function(x) if x.ndim == 0 and dim is None else function(x, dim)


def long_sums() -> list[Case]:
    """More elements than one chunk of the contract holds."""
    out = [case("sum", reals(3000), theirs=THEIRS["sum"], tolerance=COMPOSED)]
    out.append(case("mean", reals(2, 2500), dim=1, theirs=THEIRS["mean"], tolerance=COMPOSED))
    out.append(case("cumsum", reals(2600, low=0), 0, tolerance=COMPOSED))
    return out


def integer_reductions() -> list[Case]:
    """Integers and bools."""
    out = []
    for x in (ints(3, 4), ints(3, 4, dtype=np.int32), bools(3, 4)):
        for name in ("sum", "prod", "all", "any"):
            out += [case(name, x, theirs=THEIRS[name])]
            out += [case(name, x, dim=d, theirs=THEIRS[name]) for d in (0, -1)]
        out.append(case("cumsum", x, 1))
        for name in ("amax", "amin"):
            out.append(case(name, x, dim=1, theirs=THEIRS[name]))
    out += [case("sum", np.zeros((0, 3), np.int64), dim=0, theirs=THEIRS["sum"])]
    out += [case("all", np.zeros((0, 3), bool), dim=0, theirs=THEIRS["all"])]
    out += [case("any", np.zeros((0, 3), bool), dim=0, theirs=THEIRS["any"])]
    out += [case("all", x, theirs=THEIRS["all"]) for x in (reals(3), np.zeros(3, np.float32))]
    nan = np.array([[np.nan, 0.0], [0.0, 0.0]], np.float32)
    out += [case(n, nan, dim=1, theirs=THEIRS[n]) for n in ("all", "any")]
    return out


def special_reductions() -> list[Case]:
    """NaN, infinities, zeros."""
    nan = np.array([[1.0, np.nan, 3.0], [np.nan, np.inf, -np.inf], [2.0, 2.0, 1.0]], np.float32)
    inf = np.array([[np.inf, 1.0], [-np.inf, -np.inf], [-np.inf, 2.0]], np.float32)
    out = []
    for name in ("sum", "mean", "prod", "amax", "amin"):
        out.append(case(name, nan, dim=1, theirs=THEIRS[name], grad=False))
    out += [case("logsumexp", inf, dim=1, tolerance=COMPOSED, grad=False)]
    for name in ("argmax", "argmin"):
        out += [case(name, nan, dim=d, keepdim=k) for d in (0, 1) for k in (False, True)]
        out += [case(name, nan), case(name, distinct(2, 3, 2)), case(name, distinct(2, 3), dim=-2)]
        out += [case(name, ints(4, 3), dim=1), case(name, reals()), case(name, reals(), dim=0)]
        out.append(case(name, distinct(2, 3), keepdim=True))
    for zeros in ([1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]):
        x = np.array([zeros, [1.0, -2.0, 0.5]], np.float32)
        out.append(case("prod", x, dim=1, theirs=THEIRS["prod"], tolerance=COMPOSED))
        out.append(case("prod", x, theirs=THEIRS["prod"], tolerance=COMPOSED))
    return out


def variance_cases() -> list[Case]:
    """var and std with corrections."""
    out = []
    for name in ("var", "std"):
        theirs = getattr(torch, name)
        for correction in (0, 1, 2, 0.5):
            for dim in (None, 0, -1, (0, 2)):
                args = {"dim": dim, "correction": correction, "keepdim": dim == 0}
                x = reals(3, 4, 5)
                out.append(case(name, x, theirs=theirs, tolerance=COMPOSED, **args))
        out.append(case(name, reals(4, 5, dtype=np.float16), dim=1, tolerance=COMPOSED))
        plain = lambda x, correction, f=theirs: f(x, correction=correction)  # noqa: E731
        out.append(case(name, reals(1), correction=0, theirs=plain, tolerance=COMPOSED, grad=False))
    return out


def scan_cases() -> list[Case]:
    """cumsum and the softmaxes."""
    out = [case("cumsum", reals(3, 4, 5), d, tolerance=COMPOSED) for d in (0, 1, -1)]
    out += [case("cumsum", reals(0, 3), 0), case("cumsum", reals(), 0)]
    out += [case("cumsum", reals(2, 6, dtype=np.float16), 1, tolerance=COMPOSED)]
    for name in ("softmax", "log_softmax"):
        theirs = getattr(torch, name)
        for x in (reals(5), reals(3, 4), reals(2, 3, 4), reals(2, 3, 2, 2), reals(0, 3)):
            for dim in {0, x.ndim - 1, -x.ndim}:
                out.append(case(name, x, dim, theirs=theirs, tolerance=COMPOSED))
        out.append(case(name, reals(3, 4), theirs=lambda x, f=theirs: f(x, -1), tolerance=COMPOSED))
        out.append(case(name, reals(), 0, theirs=theirs, tolerance=COMPOSED))
        out.append(case(name, reals(2, 5, dtype=np.float16), 1, theirs=theirs, tolerance=COMPOSED))
        far = np.array([[1000.0, 999.0, -1000.0], [-np.inf, 0.0, 1.0]], np.float32)
        out.append(case(name, far, 1, theirs=theirs, tolerance=COMPOSED, grad=False))
    return out


def normal_cases() -> list[Case]:
    """The normalisations."""
    out = []
    for x, n in ((reals(4, 6), 1), (reals(2, 3, 5), 2), (reals(2, 3, 2, 4), 3), (reals(7), 1)):
        shape = x.shape[x.ndim - n :]
        for weights in ((), (reals(*shape),), (reals(*shape), reals(*shape))):
            out.append(case("layer_norm", x, shape, *weights, theirs=F.layer_norm, tolerance=NORM))
            args = {"theirs": _by_count(F.layer_norm), "tolerance": NORM}
            out.append(case("layer_norm", x, n, *weights, **args))
        for weights in ((), (reals(*shape),)):
            args = {"theirs": F.rms_norm, "tolerance": NORM, "eps": 1e-6}
            out.append(case("rms_norm", x, shape, *weights, **args))
    out.append(case("layer_norm", reals(3, 4), (4,), eps=0.1, theirs=F.layer_norm, tolerance=NORM))
    half = reals(3, 8, dtype=np.float16)
    out.append(case("layer_norm", half, (8,), theirs=F.layer_norm, tolerance=NORM))
    for shape in ((4, 3), (2, 3, 5), (2, 3, 4, 2)):
        given = (reals(*shape), reals(3), reals(3, low=0.2), reals(3), reals(3))
        for args in (given[:3], given[:4], given):
            out.append(case("batch_norm", *args, theirs=_batch_norm, tolerance=NORM))
        out.append(
            case("batch_norm", *given, eps=0.1, theirs=F.batch_norm, tolerance=NORM, grad=False)
        )
    return out


NORM = Tolerance(5e-6, 2e-6, 6e-3)
"""Several roundings, and a mean subtracted."""


def _by_count(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, n, *rest: function(x, x.shape[x.ndim - n :], *rest)


def _batch_norm(x: Any, mean: Any, variance: Any, *rest: Any) -> Any:
    """The formula: PyTorch's function gives no gradients to the statistics."""
    along = (1, -1, *(1,) * (x.ndim - 2))
    y = (x - mean.reshape(along)) / (variance + 1e-5).sqrt().reshape(along)
    for fold, t in zip((torch.mul, torch.add), rest, strict=False):
        y = fold(y, t.reshape(along))
    return y


CASES = [
    *(c for n, t in (SUMS | EXTREMES).items() for c in _reduction(n, t)),
    *long_sums(),
    *integer_reductions(),
    *special_reductions(),
    *variance_cases(),
    *scan_cases(),
    *normal_cases(),
]
