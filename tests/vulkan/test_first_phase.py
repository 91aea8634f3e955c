"""The first phase of correctly rounded functions is right where it decides: nearly everywhere."""

from __future__ import annotations

from pathlib import Path

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from shader import LANES, Mapper, compile_shader

from vkml_backend_cpu.elementary import ELEMENTARY

DECIDE = {
    "exp": "is_exponential_decided(reduced(uintBitsToFloat(x[0])), bits)",
    "exp2": "is_exponential_decided(reduced_power(uintBitsToFloat(x[0])), bits)",
    "sigmoid": "is_sigmoid_decided(uintBitsToFloat(x[0]), bits)",
    "tanh": "is_tanh_decided(uintBitsToFloat(x[0]), bits)",
}
COUNT = 1024 * LANES
"""Whole workgroups, since all invocations must reach the barrier."""


@pytest.mark.parametrize("name", DECIDE)
def test_first_phase(mapper: Mapper, tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(sum(name.encode()))
    x = np.abs(rng.standard_normal(COUNT, np.float32)) + np.float32(2**-12)
    if name != "tanh":
        x *= rng.choice(np.array([-12, -1, 0.1, 1, 12], np.float32), COUNT)
        x[np.abs(x) < 2**-12] = 1
    body = f"uint bits; fill_powers(); bool decided = {DECIDE[name]};"
    body += "target.v[2u * i] = uint(decided); target.v[2u * i + 1u] = bits;"
    code = compile_shader(tmp_path, ["exp_fast.glsl"], body, 1)
    decided, bits = mapper(code, x.view(np.uint32)[:, None], 2).T
    took = decided == 1
    assert took.mean() > 0.998
    want = ELEMENTARY[name](x).view(np.uint32)
    np.testing.assert_array_equal(bits[took], want[took])
