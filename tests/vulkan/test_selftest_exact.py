"""The self-test: which of a device's division and fma are used, and how hard that is found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest

from tests.oracle.run import assert_same_bits
from tests.vulkan.probes import spoilt

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical
    from vkml_backend_vulkan.selftest.probe import Probe
    from vkml_backend_vulkan.selftest.verdict import Verdict

pytestmark = pytest.mark.swiftshader


def test_division_that_is_nearly_right_is_not_used(
    physical: Physical, some: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan.selftest import judge

    def corrected(device: object, probe: Probe, limits: object) -> Any:
        """A quotient from a reciprocal and one exact correction: a unit off in rare cases."""
        a, b = (x.astype(np.float64) for x in probe.operands)
        with np.errstate(all="ignore"):
            inverse = (1 / b).astype(np.float32)
            q = (a * inverse).astype(np.float32)
            q = (q + (a - q * b).astype(np.float32).astype(np.float64) * inverse).astype(np.float32)
        ordinary = np.isfinite(q) & (abs(q) > 2.0**-120) & (abs(q) < 2.0**120)
        assert 0 < (q != probe.wanted)[ordinary].sum() < 0.05 * len(q)
        return np.where(ordinary, q, probe.wanted)

    some()
    monkeypatch.setattr(judge, "quotients", corrected)
    monkeypatch.setattr(judge, "hardware_fma", lambda _, probe: probe.wanted)
    found = judge.judge(physical, tmp_path)
    assert not found.hardware_divide and "probe hardware divide of 0x" in found.divide_why
    assert not found.hardware_fma and "probe hardware divide of 0x" in found.fma_why


def test_all_divisions_give_the_same_bits(
    physical: Physical, device: VulkanDevice, verdict: Verdict
) -> None:
    from vkml_backend_vulkan.selftest import divide
    from vkml_backend_vulkan.selftest.run import quotients, run

    used = {"hardware_divide": verdict.hardware_divide, "hardware_fma": verdict.hardware_fma}
    if not any(used.values()):
        pytest.skip(f"{physical.name}: {verdict.divide_why}; {verdict.fma_why}")
    probe = divide.probe()
    for name in (name for name, is_used in used.items() if is_used):
        limits = replace(physical.limits, **{name: True})
        assert_same_bits(quotients(device, probe, limits), run(device, probe))


def _fractions(x: Any) -> list[Fraction]:
    return [Fraction(float(v)) for v in x]


def test_the_fma_that_is_wanted_rounds_once() -> None:
    from vkml_backend_vulkan.selftest import fuse

    (x,) = fuse.probe().operands
    a, b, c = (np.ascontiguousarray(x[::7, k]).view(np.float32) for k in range(3))
    with np.errstate(all="ignore"):
        got = fuse.fma(a, b, c)
        usual = np.isfinite(got) & np.isfinite(a * b) & np.isfinite(a) & np.isfinite(c)
    assert usual.sum() > 1500
    a, b, c, got = (v[usual] for v in (a, b, c, got))
    exact = [p * q + r for p, q, r in zip(*map(_fractions, (a, b, c)), strict=True)]
    for direction in (-np.inf, np.inf):
        with np.errstate(all="ignore"):
            other = np.nextafter(got, np.float32(direction))
        for mine, next_, value, bits in zip(got, other, exact, got.view(np.uint32), strict=True):
            if np.isfinite(next_):
                lost = abs(Fraction(float(mine)) - value) - abs(Fraction(float(next_)) - value)
                assert lost < 0 or (lost == 0 and not bits & 1)


def _two_roundings(_: Any, a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _wider(_: Any, a: Any, b: Any, c: Any) -> Any:
    return (a.astype(np.float64) * b + c).astype(np.float32)


def _flushing(fma: Any, a: Any, b: Any, c: Any) -> Any:
    result = fma(a, b, c)
    return np.where(abs(result) < np.float32(2.0**-126), np.copysign(np.float32(0), result), result)


@pytest.mark.parametrize(
    ("other", "is_used"), [(_two_roundings, False), (_wider, False), (_flushing, True)]
)
def test_which_fma_is_used(
    other: Any,
    is_used: bool,
    physical: Physical,
    some: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vkml_backend_vulkan.selftest import fuse, judge

    probe = fuse.probe()
    monkeypatch.setattr(fuse, "probe", lambda: probe)
    with monkeypatch.context() as patched, np.errstate(all="ignore"):
        patched.setattr(fuse, "fma", partial(other, fuse.fma))
        _, *results = fuse._results(probe.operands[0])
        got = np.stack([fuse._bits(r) for r in results], axis=1)
    some()
    monkeypatch.setattr(judge, "quotients", lambda _, probe, limits: probe.wanted)
    monkeypatch.setattr(judge, "quotients_among_others", lambda _, probe, limits: probe.wanted)
    monkeypatch.setattr(judge, "hardware_fma", lambda *_: got)
    found = judge.judge(physical, tmp_path)
    assert found.hardware_fma == is_used
    assert is_used or "probe hardware fma of 0x" in found.fma_why
    monkeypatch.setattr(judge, "hardware_fma", lambda *_: probe.wanted)
    assert judge.judge(physical, tmp_path).hardware_fma


def test_a_division_that_spoils_what_follows_is_not_used(
    physical: Physical, some: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products of quotients that lose their subnormals, which an NVIDIA driver made of some."""
    from vkml_backend_vulkan.selftest import divide, judge

    others = divide.among_others()
    is_subnormal = (abs(others.wanted) < np.float32(2.0**-126)) & (others.wanted != 0)
    assert is_subnormal.sum() > 1000
    flushed = np.where(is_subnormal, np.copysign(np.float32(0), others.wanted), others.wanted)
    monkeypatch.setattr(judge, "quotients", lambda _, probe, limits: probe.wanted)
    monkeypatch.setattr(judge, "hardware_fma", lambda _, probe: probe.wanted)
    monkeypatch.setattr(judge, "quotients_among_others", lambda *_: flushed)
    some()
    found = judge.judge(physical, tmp_path)
    assert not found.hardware_divide and "hardware divide among others" in found.divide_why
    if found.level == "exact":
        assert not found.hardware_fma and "hardware divide among others" in found.fma_why
    some(lambda p: spoilt(p) if p.level == "exact" else p)
    found = judge.judge(physical, tmp_path)  # of a device that flushes all subnormals
    assert not found.hardware_divide and found.hardware_fma


def test_quotients_are_as_hard_as_they_can_be() -> None:
    from vkml_backend_vulkan.selftest import divide

    rows = divide.hard(np.random.default_rng(0))
    a, b = (np.ascontiguousarray(x).view(np.float32).astype(np.float64) for x in rows.T)
    ordinary = (abs(a) > 2.0**-126) & (abs(b) > 2.0**-126)
    assert len(rows) > 2 * divide.HARD and ordinary.mean() > 0.9
    quotient = np.frexp(abs(a / b)[ordinary])[0] * 2**25  # of 25 bits: odd is a midpoint
    assert (abs(quotient - np.round(quotient)) < 3 / 2**23).mean() > 0.99
    assert 0.2 < (np.round(quotient) % 2).mean() < 0.8
