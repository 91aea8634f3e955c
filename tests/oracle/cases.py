"""Small inputs for every kernel of the oracle's table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vkml_backend_cpu.elementary import ELEMENTARY
from vkml_core import dtypes

from .run import attributes
from .values import SPECIAL, Array, anything, bits, bools, ints, number, real, rough


@dataclass(frozen=True)
class Case:
    """One call of a kernel."""

    name: str
    op: str
    attrs: Any
    arrays: tuple[Array, ...]


def _case(op: str, *arrays: Array, what: str = "", **attrs: Any) -> Case:
    words = [op, what or " ".join(dict.fromkeys(str(a.dtype) for a in arrays))]
    return Case(" ".join(words), op, attributes(op, **attrs), arrays)


def _mixed(name: str) -> Array:
    """Give (4, 3, 8) floats: special values, all exponents, usual numbers."""
    parts = SPECIAL, anything(name, 33), real(name, 32)
    return np.concatenate(parts)[bits(name, 96).argsort(kind="stable")].reshape(4, 3, 8)


def _unary() -> Iterable[Case]:
    floats = ("neg", "abs", "sign", "relu", "floor", "ceil", "round", "trunc", "isnan", "isinf")
    for op in (*floats, *ELEMENTARY):
        yield _case(op, _mixed(op))
    for op in ("neg", "abs", "sign", "relu"):
        for dtype in (np.int32, np.int64):
            yield _case(op, _integers(op, dtype))
    for dtype in (np.int32, np.int64):
        yield _case("bitwise_not", bits("not", 4, 6, dtype=dtype))
    yield _case("bitwise_not", bools("not", 4, 6))


def _integers(name: str, dtype: Any) -> Array:
    """Give (4, 2, 6) integers: the extremes, small ones, any bits."""
    info = np.iinfo(dtype)
    few = np.array([info.min, info.max, info.min + 1, -1, 0, 1], dtype)
    small = ints(name, -9, 10, 18, dtype=dtype)
    return np.concatenate([few, small, bits(name, 24, dtype=dtype)]).reshape(4, 2, 6)


def _divisors(name: str, dtype: Any) -> Array:
    found = _integers(name, dtype)[::-1, :, ::-1].copy()
    found[found == 0] = -7
    return found


def _pairs(name: str) -> tuple[Array, Array]:
    """Give (31, 33) floats: every special value with every other, and some."""
    left = np.repeat(SPECIAL[:, None], SPECIAL.size + 2, 1)
    right = np.repeat(np.r_[SPECIAL, real(name, 2)][None], SPECIAL.size, 0)
    return left, right


def _binary() -> Iterable[Case]:
    numbers = ("add", "sub", "mul", "maximum", "minimum", "floor_divide", "remainder")
    tests = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    for op in (*numbers, *tests, "div", "pow"):
        yield _case(op, *_pairs(op))
        yield _case(op, anything(op, 4, 50), anything(op + "2", 4, 50), what="any bits")
        yield _case(op, rough(op, 4, 50), rough(op + "2", 4, 50), what="usual")
    for op in (*numbers, *tests):
        for dtype in (np.int32, np.int64):
            yield _case(op, _integers(op, dtype), _divisors(op + "2", dtype))
            info = np.iinfo(dtype)
            few = np.array([info.min, info.min + 1, info.max, -7, -1, 1, 2], dtype)
            left, right = np.repeat(few[:, None], 7, 1), np.repeat(few[None], 7, 0)
            yield _case(op, left, right, what=f"extreme {info.bits}")
    for dtype in (np.int32, np.int64):
        base = np.where(_integers("a", dtype) == 0, 3, _integers("a", dtype)).astype(dtype)
        yield _case("pow", base, _integers("b", dtype))
        small = np.repeat(np.array([-3, -2, -1, 1, 2, 3], dtype)[:, None], 80, 1)
        yield _case("pow", small, small * 0 + np.arange(-6, 74, dtype=dtype), what="small")
    for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        for dtype in (np.int32, np.int64):
            yield _case(op, bits(op, 4, 6, dtype=dtype), bits(op + "2", 4, 6, dtype=dtype))
        yield _case(op, bools(op, 4, 6), bools(op + "2", 4, 6))
    for op in tests:
        yield _case(op, bools(op, 4, 6), bools(op + "2", 4, 6))
    for a in (_mixed("a"), _integers("a", np.int32), _integers("a", np.int64), bools("a", 4, 6)):
        yield _case("where", bools("c", *a.shape), a, a[::-1].copy())


def _casts() -> Iterable[Case]:
    near_half = (np.arange(0x33000000 - 9, 0x47800000, 0x3FFF7, dtype=np.uint32)).view(np.float32)
    sources = {
        "float32": np.concatenate([SPECIAL, anything("cast", 60), rough("cast", 33)]),
        "float32 near float16": np.r_[near_half, -near_half],
        "int32": _integers("cast", np.int32),
        "int64": _integers("cast", np.int64),
        "bool": bools("cast", 3, 5),
    }
    for source, array in sources.items():
        for to in dtypes.DTYPES:
            yield _case("cast", array, what=f"{source} to {to.name}", dtype=to)


def _reductions() -> Iterable[Case]:
    axes = ((), (0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2))
    for op in ("sum", "prod", "amax", "amin"):
        for a in axes:
            yield _case(op, rough(op, 5, 9, 8), what=f"usual {a}", axes=a)
        yield _case(op, _mixed(op), what="special", axes=(1,))
        yield _case(op, np.array([[-0.0], [0.0]], np.float32), what="zeros", axes=(1,))
        yield _case(op, np.array([[0.0, -0.0], [-0.0, 0.0]], np.float32), what="±0", axes=(1,))
        for dtype in (np.int32, np.int64):
            yield _case(op, _integers(op, dtype), axes=(0, 2))
    for op in ("amax", "amin"):
        yield _case(op, bools(op, 7, 2, 3), axes=(1, 2))
    for op, attrs in {
        "argmax": {},
        "argmin": {},
        "cumsum": {},
        "argsort up": {"descending": False},
        "argsort down": {"descending": True},
    }.items():
        row = op.split()[0]
        for axis in (0, 1, 2):
            yield _case(row, _mixed(op), what=f"{op} special {axis}", axis=axis, **attrs)
            yield _case(row, rough(op, 5, 9, 8), what=f"{op} usual {axis}", axis=axis, **attrs)
        ties = ints(op, -1, 2, 6, 11, 2).astype(np.float32) * np.float32(-1)
        yield _case(row, ties, what=f"{op} ties", axis=1, **attrs)
        for dtype in (np.int32, np.int64):
            what = f"{op} {dtype.__name__}"
            yield _case(row, _integers(op, dtype), what=what, axis=2, **attrs)


def _matrices() -> Iterable[Case]:
    for *batch, m, k, n in ((3, 7, 5), (7, 40, 2), (2, 3, 4, 1, 5), (2, 5, 3, 0), (2, 2, 0, 3)):
        left, right = (*batch, m, k), (*batch, k, n)
        what = f"{left} {right}"
        yield _case("matmul", rough("a", *left), rough("b", *right), what=what)
    yield _case("matmul", anything("a", 3, 4, 2), anything("b", 3, 2, 4), what="any bits")
    for dtype in (np.int32, np.int64):
        a, b = bits("a", 2, 3, 9, dtype=dtype), bits("b", 2, 9, 4, dtype=dtype)
        yield _case("matmul", a, b)


GEOMETRIES: Final[dict[str, dict[str, Any]]] = {
    "plain": {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1},
    "strided": {"stride": (2, 3), "padding": (1, 0), "dilation": (1, 1), "groups": 1},
    "dilated": {"stride": (1, 2), "padding": (2, 1), "dilation": (2, 1), "groups": 2},
    "depthwise": {"stride": (2, 1), "padding": (3, 4), "dilation": (1, 3), "groups": 4},
}
KERNEL: Final = (3, 2)
IMAGE: Final = (7, 6)


def size_of(geometry: dict[str, Any], image: Any = IMAGE, kernel: Any = KERNEL) -> tuple[int, int]:
    """Count the places of a window."""
    rows, cols = (
        (d + 2 * p - w * (k - 1) - 1) // s + 1
        for d, k, s, p, w in zip(
            image,
            kernel,
            geometry["stride"],
            geometry["padding"],
            geometry["dilation"],
            strict=True,
        )
    )
    return rows, cols


def _convolutions() -> Iterable[Case]:
    for name, geometry in GEOMETRIES.items():
        c, o, size = 4, 8, size_of(geometry)
        x, g = rough("x", 2, c, *IMAGE), rough("g", 2, o, *size)
        w = rough("w", o, c // geometry["groups"], *KERNEL)
        yield _case("conv2d", x, w, what=name, **geometry)
        yield _case("conv2d_input_grad", g, w, what=name, image=IMAGE, **geometry)
        yield _case("conv2d_weight_grad", x, g, what=name, kernel=KERNEL, **geometry)
        window = {k: v for k, v in geometry.items() if k != "groups"} | {"kernel": KERNEL}
        cols = rough("cols", 2, c * 6, size[0] * size[1])
        yield _case("im2col", x, what=name, **window)
        yield _case("col2im", cols, what=name, image=IMAGE, **window)
    x = rough("x", 1, 1, 3, 3)
    x[0, 0, 0] = np.inf, -np.inf, np.nan
    w = np.array([[[[-0.0, np.inf], [1e-45, np.nan]]]], np.float32)
    wide = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    yield _case("conv2d", x, w, what="0·∞ in the padding", **wide)
    yield _case("conv2d", x[:0], w, what="empty batch", **wide)


def _pools() -> Iterable[Case]:
    for name, window in {
        "plain": {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1)},
        "padded": {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 1), "dilation": (1, 1)},
        "dilated": {"kernel": (2, 3), "stride": (1, 2), "padding": (0, 1), "dilation": (3, 2)},
    }.items():
        images = {
            "usual": rough("pool", 2, 3, *IMAGE),
            "special": _mixed("pool").reshape(1, 3, 4, 8),
        }
        images["ties"] = ints("pool", -1, 1, 2, 3, *IMAGE).astype(np.float32)
        for what, x in images.items():
            yield _case("max_pool2d", x, what=f"{name} {what}", **window)
            yield _case("max_pool2d_indices", x, what=f"{name} {what}", **window)
            g = rough(
                f"pooled {what}", *x.shape[:2], *size_of(window, x.shape[2:], window["kernel"])
            )
            yield _case("max_pool2d_input_grad", g, x, what=f"{name} {what}", **window)
            plain = {k: v for k, v in window.items() if k != "dilation"}
            yield _case("avg_pool2d", x, what=f"{name} {what}", **plain)
    index = ints("unpool", 0, 6, 2, 3, 4, 5)
    yield _case("max_unpool2d", rough("unpool", 2, 3, 4, 5), index, image=(2, 3))


def _indexing() -> Iterable[Case]:
    for dtype in (np.int32, np.int64):
        index = ints("index", 0, 5, 3, 40, 2, dtype=dtype)
        for x in (anything("x", 3, 6, 2), bits("x", 3, 6, 2, dtype=dtype)):
            yield _case("gather", x, index, what=f"{x.dtype} {index.dtype}", axis=1)
        for src in (
            rough("s", 3, 40, 2),
            anything("s", 3, 40, 2),
            bits("s", 3, 40, 2, dtype=dtype),
        ):
            what = f"{src.dtype} {index.dtype}"
            yield _case("scatter_add", src, index, what=what, axis=1, size=5)
    one = np.zeros((3, 4), np.int64)
    zeros = np.full((3, 4), -0.0, np.float32)
    yield _case("scatter_add", zeros, one, what="−0", axis=1, size=2)
    yield _case("scatter_add", rough("s", 6, 1), np.arange(6)[::-1, None], axis=0, size=7)
    yield _case("gather", bools("x", 4, 3), ints("i", 0, 4, 2, 3), axis=0)


def _moves() -> Iterable[Case]:
    arrays = rough("a", 2, 3, 4), bits("a", 2, 3, 4, dtype=np.int32), bools("a", 2, 3, 4)
    for x in (*arrays, bits("a", 2, 3, 4, dtype=np.int64), anything("a", 2, 3, 4)):
        yield _case("contiguous", x)
        for axis in (0, 1, 2):
            yield _case("cat", x, x[:, :0] if axis == 1 else x, x, axis=axis)
        pads: dict[str, Any] = {"low": (1, 0, 2), "high": (0, 3, 1), "interior": (0, 2, 1)}
        yield _case("pad", x, np.array(x[1, 2, 3]), **pads)
        yield _case("pad", x[:, :0], np.array(x[1, 2, 3]), what="empty", **pads)


def _numbers() -> Iterable[Case]:
    for start, step, length in ((3, -2, 9), (2**62, 2**61, 5), (0, 1, 0)):
        what = f"{start} {step}"
        yield _case("arange", number(start), number(step), what=what, length=length)
    for seed, offset in ((0, 0), (-1, -1), (2**40 + 7, 2**35), (-(2**63), 2**63 - 1)):
        for width, shape in ((1, (7,)), (24, (3, 5)), (31, (2, 0)), (31, ()), (8, (9, 1))):
            both, what = (number(seed), number(offset)), f"{seed} {offset} {width} {shape}"
            yield _case("random_bits", *both, what=what, shape=shape, bits=width)


CASES: Final[tuple[Case, ...]] = tuple(
    case
    for family in (_unary, _binary, _casts, _reductions, _matrices, _convolutions)
    + (_pools, _indexing, _moves, _numbers)
    for case in family()
)
