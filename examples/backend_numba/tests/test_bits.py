"""The backend gives the oracle's bits: shapes at the edges of tiles, chunks and blocks."""

from __future__ import annotations

import numpy as np
import pytest
import vkml
from conftest import same

from vkml_backend_numba.kernels.tile import COLS, ROWS

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, 1.0], np.float32)
EDGES = [
    (1, 1, 1),
    (ROWS, 512, COLS),
    (ROWS + 1, 513, COLS + 1),
    (ROWS - 1, 511, COLS - 1),
    (97, 1025, 1),
    (1, 1030, 70),
    (200, 3, 130),
]


def values(*shape: int, seed: int = 0, special: float = 0.0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    x = draw.standard_normal(shape).astype(np.float32)
    chosen = draw.random(shape) < special
    x[chosen] = draw.choice(SPECIAL, int(chosen.sum()))
    return x


@pytest.mark.parametrize("shape", EDGES)
@pytest.mark.parametrize("special", [0.0, 0.02])
def test_products(shape, special):
    m, k, n = shape
    a, b = values(m, k, special=special), values(k, n, seed=1, special=special)

    def program(device):
        x, y = vkml.tensor(a, device=device), vkml.tensor(b, device=device)
        yield x @ y
        yield vkml.relu(x @ y + 1.0)
        yield vkml.tensor(a.T.copy(), device=device).T @ y
        yield x @ vkml.tensor(b.T.copy(), device=device).T

    same(program)


@pytest.mark.parametrize("batch", [(3,), (2, 3)])
def test_batches_of_products(batch):
    a, b = values(*batch, 9, 20), values(*batch, 20, 33, seed=1)
    same(lambda d: [vkml.tensor(a, device=d) @ vkml.tensor(b, device=d)])


CONVOLUTIONS = [
    ((2, 3, 9, 11), (5, 3, 3, 3), {"padding": 1}),
    ((2, 4, 8, 8), (6, 2, 3, 2), {"padding": (1, 0), "groups": 2}),
    ((2, 3, 12, 12), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 2, 13, 13), (3, 2, 3, 3), {"dilation": 2, "padding": 2}),
    ((2, 70, 5, 5), (9, 70, 3, 3), {"padding": 1}),
    ((3, 2, 6, 6), (2, 2, 1, 1), {"padding": 2}),
    ((1, 1, 40, 3), (1, 1, 5, 3), {}),
]


@pytest.mark.parametrize(("image", "weight", "how"), CONVOLUTIONS)
@pytest.mark.parametrize("special", [0.0, 0.02])
def test_convolutions_and_gradients(image, weight, how, special):
    a, b = values(*image, special=special), values(*weight, seed=1, special=special)

    def program(device):
        x = vkml.tensor(a, device=device, requires_grad=True)
        w = vkml.tensor(b, device=device, requires_grad=True)
        y = vkml.relu(vkml.conv2d(x, w, **how))
        (y * y).sum().backward()
        return [y, x.grad, w.grad]

    same(program)


@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (1, 2, 7, 9), (1, 1, 2, 2)])
@pytest.mark.parametrize("how", [(2, 2, 0), (2, 1, 1), (3, 2, 1)])
def test_pooling_with_ties_and_nans(shape, how):
    a = np.round(values(*shape, special=0.2))
    kernel, stride, padding = how

    def program(device):
        x = vkml.tensor(a, device=device, requires_grad=True)
        y = vkml.max_pool2d(x, kernel, stride=stride, padding=padding)
        (y * 3.0).sum().backward()
        return [y, x.grad]

    same(program)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1023, 1024, 1025, 1024 * 1024 + 5])
def test_sums_and_extremes(n):
    rows = 1 if n > 5000 else 3
    a = values(rows, n, special=0.0 if n > 100 else 0.1)

    def program(device):
        x = vkml.tensor(a, device=device)
        return [x.sum(1), x.sum(), x.amax(1), x.amin(1), x.sum(0), (x * x).sum(1) + 1.0]

    same(program)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0, 2)])
def test_nothing_at_all(shape):
    a = np.zeros(shape, np.float32)

    def program(device):
        x = vkml.tensor(a, device=device)
        return [vkml.exp(x) + 1.0, x.sum(), x.sum(0)]

    same(program)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, np.int64, np.bool_])
def test_chains_of_each_type_over_views(dtype):
    a = np.random.default_rng(3).integers(0, 50, (6, 7, 40, 5)).astype(dtype)

    def program(device):
        x = vkml.tensor(a, device=device)
        turned = x.permute(3, 1, 0, 2)[1:, :, ::2]
        other = turned.to(vkml.float32) * 1.5 - 3.0
        yield turned
        yield other
        yield other.to(vkml.float16) / 3.0
        yield vkml.where(other > 5.0, turned, turned)

    same(program)


def test_errors_are_those_of_the_oracle():
    for device in ("cpu", "numba"):
        x = vkml.tensor(np.zeros((2, 3), np.float32), device=device)
        index = vkml.tensor(np.array([[0, 7, 1], [0, 0, 0]]), device=device)
        with pytest.raises(vkml.IndexError_, match="index 7 is out of range for axis 1"):
            vkml.gather(x, 1, index).numpy()
        numbers = vkml.tensor(np.array([4, 5]), device=device)
        with pytest.raises(vkml.DivisionError, match="integer division by zero"):
            (numbers // vkml.tensor(np.array([2, 0]), device=device)).numpy()


def test_a_failed_step_changes_no_state():
    x = vkml.tensor(np.ones(3, np.float32), device="numba")
    index = vkml.tensor(np.array([0, 5, 1]), device="numba")
    x.assign_(vkml.gather(x * 2.0, 0, index))
    with pytest.raises(vkml.IndexError_):
        vkml.realize(x)
    assert x.numpy().tolist() == [1.0, 1.0, 1.0]
