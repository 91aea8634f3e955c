"""The first phase of correctly rounded functions is right where it decides: nearly everywhere."""

from __future__ import annotations

from pathlib import Path

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from shader import LANES, Mapper, compile_shader

from vkml_backend_cpu.elementary import ELEMENTARY

FIRST = {
    **dict.fromkeys(("exp", "exp2", "sigmoid", "tanh"), ("exp_fast.glsl", "fill_powers")),
    **dict.fromkeys(("log", "log2", "log10", "log1p"), ("log_fast.glsl", "fill_logarithms")),
}
"""Where each function's first phase is, and what fills the table that it reads."""
COUNT = 1024 * LANES
"""Whole workgroups, since all invocations must reach the barrier."""
EDGES = np.array(
    [0, 2**-149, 2**-126, 2**-24, 2**-12, 1 - 2**-24, 1, 1 + 2**-23, 2, 1e38, np.inf, np.nan],
    np.float32,
)


def first(mapper: Mapper, path: Path, name: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether the first phase decides each, and its bits."""
    file, fill = FIRST[name]
    body = f"uint bits; {fill}(); bool decided = first_{name}(x[0], bits);"
    body += "target.v[2u * i] = uint(decided); target.v[2u * i + 1u] = bits;"
    code = compile_shader(path, [file], body, 1)
    decided, bits = mapper(code, x.view(np.uint32)[:, None], 2).T
    return decided == 1, bits


@pytest.mark.parametrize("name", FIRST)
def test_first_phase(mapper: Mapper, tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(sum(name.encode()))
    x = np.abs(rng.standard_normal(COUNT, np.float32)) + np.float32(2**-12)
    if name.startswith("log"):
        x *= rng.choice(np.array([2**-110, 2**-13, 0.1, 1, 2**60], np.float32), COUNT)
        x = np.where(x < 2**-26, np.float32(1), x) if name == "log1p" else x
    elif name != "tanh":
        x *= rng.choice(np.array([-12, -1, 0.1, 1, 12], np.float32), COUNT)
        x[np.abs(x) < 2**-12] = 1
    took, bits = first(mapper, tmp_path, name, x)
    assert took.mean() > 0.998
    want = ELEMENTARY[name](x).view(np.uint32)
    np.testing.assert_array_equal(bits[took], want[took])


@pytest.mark.parametrize("name", FIRST)
def test_edges_are_right_or_left_open(mapper: Mapper, tmp_path: Path, name: str) -> None:
    near = (EDGES.view(np.uint32)[:, None] + np.arange(-2, 3).astype(np.uint32)).ravel()
    x = np.resize(np.concatenate([near, near ^ np.uint32(1 << 31)]), COUNT).view(np.float32)
    took, bits = first(mapper, tmp_path, name, x)
    assert took.any() and not took.all()
    with np.errstate(all="ignore"):
        want = ELEMENTARY[name](x).view(np.uint32)
    np.testing.assert_array_equal(bits[took], want[took])


@pytest.mark.parametrize("name", ["log", "log2", "log10", "log1p"])
def test_next_to_one_nearly_all_is_decided(mapper: Mapper, tmp_path: Path, name: str) -> None:
    """Where the result is near 0, whose error has to be small beside it."""
    patterns = np.uint32(0x3F800000) + np.arange(-COUNT // 2, COUNT // 2).astype(np.uint32)
    x = patterns.view(np.float32)
    x = x - np.float32(1) if name == "log1p" else x
    took, bits = first(mapper, tmp_path, name, x)
    assert took[x != 0].mean() > 0.998
    assert took[x == 1].all()
    np.testing.assert_array_equal(bits[took], ELEMENTARY[name](x).view(np.uint32)[took])


@pytest.mark.parametrize("name", ["log2", "log10"])
def test_exact_results_are_decided(mapper: Mapper, tmp_path: Path, name: str) -> None:
    base, powers = (2.0, np.arange(-126, 128)) if name == "log2" else (10.0, np.arange(11))
    x = np.resize(np.power(base, powers).astype(np.float32), COUNT)
    took, bits = first(mapper, tmp_path, name, x)
    assert took.all()
    np.testing.assert_array_equal(bits.view(np.float32), np.resize(powers, COUNT))
