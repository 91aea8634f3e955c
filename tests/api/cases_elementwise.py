"""Cases of the element-wise functions."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from .case import Case, case
from .support import COMPOSED, EXACT, OTHER, ROUNDED, SPECIAL, bools, distinct, ints, reals

SHAPES = ((), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0,), (2, 0, 3))
PAIRS = (
    ((5,), (5,)),
    ((), ()),
    ((3, 1), (4,)),
    ((2, 3, 4), (3, 1)),
    ((2, 1, 3, 1), (4, 1, 2)),
    ((), (2, 3)),
    ((0, 3), (1,)),
)
ANY = (-3.0, 3.0)
POSITIVE = (0.05, 6.0)

EXACT_UNARY = {
    "neg": ANY,
    "abs": ANY,
    "relu": ANY,
    "sign": ANY,
    "floor": ANY,
    "ceil": ANY,
    "round": ANY,
    "trunc": ANY,
    "square": ANY,
    "reciprocal": POSITIVE,
}
ROUNDED_UNARY = {
    "sqrt": POSITIVE,
    "exp": ANY,
    "exp2": ANY,
    "expm1": ANY,
    "sin": ANY,
    "cos": ANY,
    "tan": (-1.2, 1.2),
    "tanh": ANY,
    "sigmoid": ANY,
    "erf": ANY,
    "erfc": ANY,
    "rsqrt": POSITIVE,
    "log": POSITIVE,
    "log2": POSITIVE,
    "log10": POSITIVE,
    "log1p": (-0.9, 5.0),
}
COMPOSED_UNARY = ("gelu", "silu", "leaky_relu", "elu", "softplus")
NO_GRADIENT = ("sign",)
ON_INTEGERS = ("neg", "abs", "sign", "relu", "square", "floor", "ceil", "round", "trunc")
COMPARISONS = {
    "equal": torch.eq,
    "not_equal": torch.ne,
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
}


def unary_cases() -> list[Case]:
    """Every function of one tensor, on every rank and dtype."""
    out = []
    table = [(n, r, EXACT) for n, r in EXACT_UNARY.items()]
    table += [(n, r, ROUNDED) for n, r in ROUNDED_UNARY.items()]
    for name, (low, high), tolerance in table:
        grad = name not in NO_GRADIENT
        for shape in SHAPES:
            x = reals(*shape, low=low, high=high)
            out.append(case(name, x, tolerance=tolerance, grad=grad))
        half = reals(4, 5, low=low, high=high, dtype=np.float16)
        out.append(case(name, half, tolerance=tolerance, grad=grad))
        for dtype in (np.int32, np.int64):
            out.append(case(name, ints(7, low=1, high=9, dtype=dtype), tolerance=tolerance))
    for name in ON_INTEGERS:
        out += [case(name, ints(2, 5, dtype=t)) for t in (np.int32, np.int64)]
    for name in ROUNDED_UNARY:
        out.append(case(name, np.array([True]), tolerance=ROUNDED))
    for name in COMPOSED_UNARY:
        out += [case(name, reals(*s), theirs=getattr(F, name), tolerance=COMPOSED) for s in SHAPES]
        half = reals(4, 5, dtype=np.float16)
        out.append(case(name, half, theirs=getattr(F, name), tolerance=COMPOSED))
    return out


def special_cases() -> list[Case]:
    """NaN, infinities, signed zeros, subnormal and extreme numbers."""
    out = [case(n, SPECIAL, grad=False, signs=n not in ("relu", "sign")) for n in EXACT_UNARY]
    out += [case(n, SPECIAL, tolerance=ROUNDED, grad=False) for n in ROUNDED_UNARY]
    out += [case(n, SPECIAL) for n in ("isnan", "isinf", "logical_not")]
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    out += [case(n, a, b, grad=False) for n in ("add", "sub", "mul", "div", "floor_divide")]
    out += [case(n, a, b, grad=False, signs=False) for n in ("maximum", "minimum")]
    out.append(case("remainder", a, b, theirs=_remainder, grad=False, signs=False))
    out += [case(n, a, b, theirs=f, grad=False) for n, f in COMPARISONS.items()]
    out.append(case("pow", a, b, tolerance=ROUNDED, grad=False))
    out.append(case("clamp", SPECIAL, -1.0, 1.5, grad=False))
    out.append(case("where", bools(*a.shape), a, b, grad=False))
    return out


def _remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """NumPy's: PyTorch's vectorised one gives NaN where a / b overflows."""
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.remainder(a.numpy(), b.numpy()))


def binary_cases() -> list[Case]:
    """Every function of two operands: broadcasting, dtypes, numbers on either side."""
    out = []
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        out += [case(name, distinct(*a), distinct(*b, by=OTHER)) for a, b in PAIRS]
        out.append(case(name, reals(6, dtype=np.float16), reals(6, low=1, dtype=np.float16)))
        for dtype in (np.int32, np.int64):
            out.append(case(name, ints(3, 4, dtype=dtype), ints(4, low=1, dtype=dtype)))
    for name, function in COMPARISONS.items():
        out += [case(name, ints(*a), ints(*b), theirs=function) for a, b in PAIRS]
        out.append(case(name, ints(9, high=0, dtype=np.float32), ints(9), theirs=function))
        out.append(case(name, bools(9), bools(9), theirs=function))
        out += [case(name, ints(9), 2, theirs=function), case(name, reals(9), 0, theirs=function)]
    for name in ("floor_divide", "remainder"):
        divisors, grad = np.array([3, -3, 1, -1, 7, -7, 2, -2]), name == "remainder"
        for dtype in (np.int32, np.int64):
            out.append(case(name, ints(8, low=-99, high=99, dtype=dtype), divisors.astype(dtype)))
        for dtype in (np.float32, np.float16):
            x = ints(8, low=-99, high=99, dtype=dtype)
            out.append(case(name, x, divisors.astype(dtype), grad=grad))
        out += [case(name, ints(8), 3), case(name, ints(8), -4)]
        out += [case(name, reals(8), 0.75, grad=grad), case(name, 7, np.array([2, -2, 3]))]
        out.append(case(name, reals(8, low=-50, high=50), distinct(8), grad=grad))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        out += [case(name, ints(3, 1, dtype=t), ints(4, dtype=t)) for t in (np.int32, np.int64)]
        out += [case(name, bools(8), bools(8)), case(name, ints(8), 6)]
    out += [case("bitwise_not", x) for x in (ints(5), ints(5, dtype=np.int32), bools(5))]
    out += [case("logical_not", x) for x in (ints(5), bools(5), ints(5, dtype=np.float16))]
    return out


def power_cases() -> list[Case]:
    """Powers: float and integer bases and exponents, tensors and numbers."""
    out = [case("pow", reals(8, low=0.1), y, tolerance=ROUNDED) for y in (2, 3, -1, 0.5, 0, 2.5)]
    out += [case("pow", reals(8), y, tolerance=ROUNDED) for y in (2, 3, 4, -2)]
    out += [case("pow", x, reals(4), tolerance=ROUNDED) for x in (2.5, 3, 1)]
    out.append(case("pow", reals(3, 1, low=0.2), reals(4), tolerance=ROUNDED))
    out.append(case("pow", reals(5, low=0.2, dtype=np.float16), reals(5, dtype=np.float16)))
    out.append(case("pow", np.zeros(3, np.float32), np.array([0.0, 2.0, 1.0], np.float32)))
    for dtype in (np.int32, np.int64):
        out.append(case("pow", ints(9, dtype=dtype), ints(9, low=0, high=5, dtype=dtype)))
        out += [case("pow", ints(9, low=1, dtype=dtype), y) for y in (0, 1, 2, 7)]
    return out


def choice_cases() -> list[Case]:
    """where, masked_fill, clamp."""
    out = []
    for a, b in PAIRS:
        out.append(case("where", bools(*a), distinct(*a), distinct(*b)))
        out.append(case("where", bools(*b), distinct(*a), distinct(*b)))
    out += [case("where", bools(4), reals(4), v) for v in (1.5, 2, True)]
    out += [case("where", bools(4), v, reals(4)) for v in (1.5, -1)]
    out += [case("where", bools(4), 1.0, 0.0), case("where", bools(4), ints(4), 2.5)]
    out += [case("where", bools(4), ints(4, dtype=np.int32), ints(4))]
    out += [case("masked_fill", reals(2, 3), bools(3), v) for v in (-np.inf, 2.0, 3)]
    out += [case("masked_fill", ints(2, 3), bools(2, 1), 7)]
    for low, high in ((-1.0, 1.0), (None, 0.5), (0.5, None), (1.0, -1.0)):
        out.append(case("clamp", reals(3, 5), low, high))
    edge = np.array([-1.0, 1.0, 0.0, -2.0, 2.0], np.float32)
    out += [case("clamp", edge, -1.0, 1.0), case("clamp", ints(9), -3, 4)]
    out += [case("clamp", ints(9), 0.5, None), case("clamp", reals(9, dtype=np.float16), -1, 1)]
    out.append(case("clamp", distinct(3, 4), distinct(4), distinct(3, 1, by=OTHER)))
    out += [case("clamp_min", reals(5), 0.25), case("clamp_max", reals(5), 0.25)]
    out += [case("clamp_min", distinct(5), distinct(5, by=OTHER))]
    return out


def parameter_cases() -> list[Case]:
    """Activations with parameters, scaled_add."""
    out = [case("leaky_relu", reals(9), s, theirs=F.leaky_relu) for s in (0.2, 0.0, 1.5)]
    out += [case("elu", reals(9), a, theirs=F.elu, tolerance=COMPOSED) for a in (0.5, 2.0)]
    wide = reals(20, low=-30, high=30)
    for beta, threshold in ((1.0, 20.0), (2.0, 5.0), (0.5, 1.0)):
        out.append(case("softplus", wide, beta, threshold, theirs=F.softplus, tolerance=COMPOSED))

    def scaled(a: torch.Tensor, b: torch.Tensor | float, alpha: float, beta: float) -> torch.Tensor:
        return a * alpha + b * beta

    out.append(case("scaled_add", reals(3, 4), reals(4), 0.5, -2.0, theirs=scaled))
    out.append(case("scaled_add", reals(3), 2.0, 0.5, -2.0, theirs=scaled))
    return out


CASES = [
    *unary_cases(),
    *special_cases(),
    *binary_cases(),
    *power_cases(),
    *choice_cases(),
    *parameter_cases(),
]
