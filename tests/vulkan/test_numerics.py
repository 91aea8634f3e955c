"""The shaders' numbers, function by function, against the oracle bit for bit.

The device is the first one of VK_DRIVER_FILES, by default Mesa's lavapipe.
"""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vkml_backend_cpu import convert
from vkml_backend_cpu.elementary import ELEMENTARY

try:
    from shader import SHADERS, Mapper, compile_shader
except (ImportError, OSError) as missing:  # the binding, or the loader that it opens
    pytest.skip(f"Vulkan is not installed: {missing}", allow_module_level=True)

Words = NDArray[np.uint32]
WORST = runpy.run_path(str(Path(__file__).parents[1] / "numerics" / "worst_cases.py"))[
    "WORST_CASES"
]
GLSL = {
    **{f"f_{name}": name for name in ("exp", "exp2", "expm1", "sigmoid", "tanh")},
    **{f"f_{name}": name for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt")},
    "f_recip": "reciprocal",
}
SPECIAL = np.array(
    [0, 1, 2, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00001],
    np.uint32,
)
I64 = np.array([0, 1, 2, 3, 2**24 + 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, -(2**63)], np.int64)


Run = Callable[[str, Words, int], Words]


@pytest.fixture
def run(mapper: Mapper, tmp_path: Path) -> Run:
    def run(body: str, inputs: Words, outputs: int = 1) -> Words:
        code = compile_shader(tmp_path, ["numerics.glsl"], body, inputs.shape[1])
        return mapper(code, inputs, outputs)

    return run


def signed(patterns: Words) -> Words:
    return np.concatenate([patterns, patterns | np.uint32(0x80000000)])


def around(centres: Words, radius: int) -> Words:
    """The centres and ``radius`` patterns on either side, of both signs."""
    offsets = np.arange(-radius, radius + 1).astype(np.uint32)
    return signed((centres[:, None] + offsets).ravel())


def patterns(name: str, count: int) -> Words:
    """Worst cases, special values, the powers of two and random numbers of every exponent."""
    worst = [float.fromhex(x) for x in WORST.get(name, [])]
    powers = np.arange(256, dtype=np.uint32) << np.uint32(23)
    random = np.random.default_rng(sum(name.encode())).integers(0, 2**32, count, np.uint32)
    parts = [signed(SPECIAL), around(np.array(worst, np.float32).view(np.uint32), 64)]
    return np.concatenate([*parts, around(powers, 64), random])


def middle(rng: np.random.Generator, count: int) -> Words:
    """Random numbers between 2^-32 and 2^8, where most functions do most of their work."""
    half = rng.integers(95 << 23, 135 << 23, count // 2, np.uint32)
    return signed(half)


def same(got: NDArray[Any], want: NDArray[Any], inputs: NDArray[Any]) -> None:
    wrong = np.flatnonzero(got != want)
    shown = [(*map(hex, inputs[i]), hex(got[i]), hex(want[i])) for i in wrong[:8]]
    assert wrong.size == 0, f"{wrong.size} of {got.size} differ: {shown}"


@pytest.mark.parametrize("function", GLSL)
def test_elementary(run: Run, function: str) -> None:
    name = GLSL[function]
    x = np.concatenate([patterns(name, 1 << 18), middle(np.random.default_rng(7), 1 << 17)])
    got = run(f"target.v[i] = {function}(x[0]);", x[:, None], 1)[:, 0]
    same(got, ELEMENTARY[name](x.view(np.float32)).view(np.uint32), x[:, None])


def pairs() -> Words:
    """All pairs of special values, near quotients, random pairs and pairs of close exponents."""
    special = around(np.concatenate([SPECIAL, np.array([0x00FFFFFF, 0x40000000], np.uint32)]), 1)
    grid = np.stack(np.meshgrid(special, special), -1).reshape(-1, 2)
    rng = np.random.default_rng(11)
    wide = rng.integers(0, 2**32, (1 << 18, 2), np.uint32)
    close = wide & np.uint32(0x81FFFFFF) | np.uint32(0x3E000000)
    small = np.stack([wide[:, 0] & np.uint32(0x807FFFFF), close[:, 1]], -1)
    return np.concatenate([grid, wide, close, small])


def flushed(x: Words) -> NDArray[np.bool_]:
    """Subnormal, or the smallest normal number, to which a subnormal result can round."""
    magnitude = x & np.uint32(0x7FFFFFFF)
    answer: NDArray[np.bool_] = (magnitude > 0) & (magnitude <= 0x800000)
    return answer


def keeps_subnormals(run: Run) -> bool:
    """Whether the device is of level exact; its own sums and products are promised no more."""
    one = np.array([[1, 0]], np.uint32)
    return bool(run("target.v[i] = f_add(x[0], x[1]);", one, 1)[0, 0] == 1)


@pytest.mark.parametrize(
    ("function", "operation"),
    [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)],
)
def test_arithmetic(run: Run, function: str, operation: np.ufunc) -> None:
    x = pairs()
    got = run(f"target.v[i] = f_{function}(x[0], x[1]);", x, 1)[:, 0]
    a, b = np.ascontiguousarray(x.T).view(np.float32)
    with np.errstate(all="ignore"):
        want = convert.canonical_nan(operation(a, b)).view(np.uint32)
    held = np.full(got.shape, function == "div" or keeps_subnormals(run))
    held |= ~(flushed(x).any(1) | flushed(want))
    same(got[held], want[held], x[held])


def integers() -> NDArray[np.int64]:
    """Pairs of int64 of all sizes and both signs, without zero in the second place."""
    edges = np.concatenate([I64, -I64, I64 - 1])
    grid = np.stack(np.meshgrid(edges, edges), -1).reshape(-1, 2)
    rng = np.random.default_rng(13)
    wide = rng.integers(-(2**63), 2**63 - 1, (1 << 16, 2), np.int64, endpoint=True)
    sized = np.concatenate([grid, wide >> rng.integers(0, 64, wide.shape)])
    kept: NDArray[np.int64] = sized[sized[:, 1] != 0]
    return kept


INTEGER: dict[str, Callable[..., NDArray[Any]]] = {
    "i64_add(a, b)": np.add,
    "i64_sub(a, b)": np.subtract,
    "i64_mul(a, b)": np.multiply,
    "i64_neg(a)": lambda a, b: np.negative(a),
    "i64_floordiv(a, b)": np.floor_divide,
    "i64_mod(a, b)": np.remainder,
    "i64_shl(a, b.x & 63u)": lambda a, b: a << (b & 63),
    "i64_shr(a, b.x & 63u)": lambda a, b: a >> (b & 63),
    "uvec2(i64_less(a, b), 0u)": np.less,
    "uvec2(i64_eq(a, b), 0u)": np.equal,
    "i64_from_i32(a.x)": lambda a, b: a.astype(np.int32),
    "uvec2(f32_from_i64(a), 0u)": lambda a, b: a.astype(np.float32).view(np.uint32),
    "uvec2(f32_from_i32(a.x), 0u)": lambda a, b: (
        a.astype(np.int32).astype(np.float32).view(np.uint32)
    ),
}


@pytest.mark.parametrize("expression", INTEGER)
def test_int64(run: Run, expression: str) -> None:
    x = integers()
    body = f"""uvec2 a = uvec2(x[0], x[1]), b = uvec2(x[2], x[3]), c = {expression};
    target.v[2u * i] = c.x;
    target.v[2u * i + 1u] = c.y;"""
    got = run(body, x.view(np.uint32), 2).view(np.int64)[:, 0]
    with np.errstate(over="ignore"):
        want = INTEGER[expression](x[:, 0], x[:, 1]).astype(np.int64)
    same(got, want, x)


def test_integers_from_floats(run: Run) -> None:
    x = np.concatenate([patterns("integers", 1 << 17), middle(np.random.default_rng(3), 1 << 16)])
    body = """uvec2 wide = i64_from_f32(x[0]);
    target.v[3u * i] = wide.x;
    target.v[3u * i + 1u] = wide.y;
    target.v[3u * i + 2u] = i32_from_f32(x[0]);"""
    got = run(body, x[:, None], 3)
    wide = convert.float_to_int(x.view(np.float32), np.int64)
    same(np.ascontiguousarray(got[:, :2]).view(np.int64)[:, 0], wide, x[:, None])
    narrow = convert.float_to_int(x.view(np.float32), np.int32).view(np.uint32)
    same(got[:, 2], narrow, x[:, None])


@pytest.mark.parametrize("name", ["exp", "exp_fast", "log", "log_fast"])
def test_tables_are_what_the_generator_writes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = Path(__file__).parents[2] / "tools"
    monkeypatch.syspath_prepend(tools)
    tool = runpy.run_path(str(tools / "exp_log_tables.py"))
    assert (SHADERS / f"{name}_table.glsl").read_text() == tool["render"](name)
