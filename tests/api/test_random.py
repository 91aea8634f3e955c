"""Random numbers: seeds, ranges, moments, and dropout."""

from __future__ import annotations

import numpy as np
import pytest

import vkml


def _bits(t: vkml.Tensor) -> bytes:
    return t.numpy().tobytes()


def test_rand() -> None:
    x = vkml.rand(40, 50, seed=7).numpy()
    assert x.dtype == np.float32 and x.min() >= 0.0 and x.max() < 1.0
    assert np.array_equal(x * 2.0**24, np.trunc(x * 2.0**24))
    assert abs(x.mean() - 0.5) < 0.02 and abs(x.var() - 1 / 12) < 0.005
    assert _bits(vkml.rand(40, 50, seed=7)) == x.tobytes()
    assert _bits(vkml.rand((2000,), seed=7)) == x.tobytes()
    for other in (vkml.rand(40, 50, seed=8), vkml.rand(40, 50, seed=7, offset=1)):
        assert np.mean(other.numpy() == x) < 0.01
    assert vkml.rand(seed=1).shape == () and vkml.rand(0, 3).shape == (0, 3)
    assert vkml.rand(2, seed=1, requires_grad=True).is_leaf


def test_randn() -> None:
    x = vkml.randn(4000, seed=3).numpy()
    assert x.dtype == np.float32 and np.isfinite(x).all()
    assert abs(x.mean()) < 0.05 and abs(x.std() - 1) < 0.03
    assert abs(np.mean(np.abs(x) < 1) - 0.6827) < 0.03
    assert _bits(vkml.randn(4000, seed=3)) == x.tobytes()


def test_randint() -> None:
    x = vkml.randint(-3, 4, (3000,), seed=5)
    assert x.dtype is vkml.int64 and set(x.tolist()) == set(range(-3, 4))
    counts = np.bincount(x.numpy() + 3)
    assert counts.min() > 350 and counts.max() < 510
    assert vkml.randint(5, shape=(2, 3), dtype=vkml.float32).dtype is vkml.float32
    assert set(vkml.randint(1, shape=(9,)).tolist()) == {0}
    assert _bits(vkml.randint(-3, 4, (3000,), seed=5)) == _bits(x)
    full = vkml.randint(0, 2**31, (2000,), seed=1).numpy()
    assert full.min() >= 0 and full.max() < 2**31 and full.max() > 2**30


def test_manual_seed() -> None:
    def draw() -> list[bytes]:
        drawn = [vkml.rand(5), vkml.randn(5), vkml.randint(9, shape=(5,))]
        return [*map(_bits, drawn), _bits(vkml.dropout(vkml.ones(64)))]

    vkml.manual_seed(11)
    first, second = draw(), draw()
    vkml.manual_seed(11)
    assert draw() == first and first != second
    vkml.manual_seed(12)
    assert draw() != first


def test_the_state_of_the_generator_can_be_kept() -> None:
    vkml.manual_seed(11)
    vkml.rand(5)
    kept = vkml.get_rng_state()
    assert kept == {"seed": 11, "calls": 1}
    drawn = [_bits(vkml.rand(5)), _bits(vkml.randn(5))]
    vkml.manual_seed(12)
    vkml.set_rng_state(kept)
    assert [_bits(vkml.rand(5)), _bits(vkml.randn(5))] == drawn
    now = vkml.get_rng_state()
    for wrong in ({"seed": 1}, {"seed": -1, "calls": 0}, {"seed": 1, "calls": 0, "more": 2}, 3):
        with pytest.raises(vkml.Error):
            vkml.set_rng_state(wrong)
    assert vkml.get_rng_state() == now


def test_dropout() -> None:
    x = vkml.rand(50, 60, seed=1) + 1.0
    y = vkml.dropout(x, 0.25, seed=9).numpy()
    kept = y != 0
    assert abs(kept.mean() - 0.75) < 0.02
    np.testing.assert_array_equal(y[kept], (x.numpy() * np.float32(1 / 0.75))[kept])
    keep = vkml.rand(50, 60, seed=9).numpy() >= np.float32(0.25)
    np.testing.assert_array_equal(kept, keep)
    assert vkml.dropout(x, 0.5, training=False) is x
    assert vkml.dropout(x, 0.0) is x
    assert not vkml.dropout(x, 1.0).numpy().any()


def test_dropout_gradient_has_the_mask_of_the_value() -> None:
    x = vkml.ones(200, requires_grad=True)
    y = vkml.dropout(x, 0.5, seed=4)
    y.sum().backward()
    assert _bits(x.grad) == _bits(y)


@pytest.mark.parametrize("name", ["rand", "randn"])
def test_numbers_do_not_depend_on_the_shape(name: str) -> None:
    function = getattr(vkml, name)
    long = function(100, seed=2, offset=3).numpy()
    assert _bits(function(7, seed=2, offset=3)) == long[:7].tobytes()


TESTS = {
    "rand": test_rand,
    "randn": test_randn,
    "randint": test_randint,
    "manual_seed": test_manual_seed,
    "get_rng_state": test_the_state_of_the_generator_can_be_kept,
    "set_rng_state": test_the_state_of_the_generator_can_be_kept,
    "dropout": test_dropout,
}
