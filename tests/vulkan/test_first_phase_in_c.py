"""First phases of functions as C++, with an fma that rounds once and without: errors stay below the
bounds, and what is decided is right. (The drivers that tests run on have no such fma.)
"""

from __future__ import annotations

import shutil

import pytest

from tests.vulkan.glsl_as_c import FUSES, run

SOME = 4999
LOGARITHMS = {"log_after_1", "log", "log2", "log10", "log1p", "log1p_below"}
BY_FMA = {"sqrt", "rsqrt", "div", "reciprocal"}
UNASKED = {"log_after_1", "sqrt", "reciprocal"}
"""No bound of an error decides these."""


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler")
@pytest.mark.parametrize("hardware", [FUSES, 0])
def test_first_phases_over_some_inputs(hardware: int) -> None:
    found = run(hardware, SOME)
    by_fma = BY_FMA if hardware else set()
    assert found.keys() == {"exp", "exp_finer", "exp2", "sigmoid", "tanh"} | LOGARITHMS | by_fma
    for each in found.values():
        assert each.worst < 0.95 and each.wrong == 0
        assert each.open < each.inputs / 400
    assert all((found[name].worst > 0.2) == (name not in UNASKED) for name in found)


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler")
def test_an_inverse_from_below_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The divisor of ones needs an inverse that is rounded up."""
    from tests.vulkan import glsl_as_c

    bad = glsl_as_c.source().replace("ABOVE_ONE = 1.00000011920928955078125", "ABOVE_ONE = 1.0")
    monkeypatch.setattr(glsl_as_c, "source", lambda: bad)
    found = run(FUSES, SOME)
    assert found["div"].wrong > 0 and found["exp"].wrong == 0


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler")
@pytest.mark.parametrize(
    ("name", "constant"), [("exp", "SERIES_2 = 0.0"), ("log", "LOG_SERIES_0 = 0.3")]
)
def test_a_worse_series_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, constant: str
) -> None:
    from tests.vulkan import glsl_as_c

    good = glsl_as_c.source()
    bad = good.replace(f" {constant}", f" {constant[:-1]}1", 1)
    assert bad != good
    monkeypatch.setattr(glsl_as_c, "source", lambda: bad)
    found = run(FUSES, SOME)
    assert found[name].worst > 1 and found[name].wrong > 0
