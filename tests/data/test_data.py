"""Data sets, the loader's order and batches, split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkml
from vkml.data import ArrayDataset, DataLoader, Dataset, Subset, permutation, split


class Squares(Dataset):
    """Items that are pairs of a row and its number, made one by one."""

    def __len__(self) -> int:
        return 7

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return np.full(2, index**2, np.float32), index


class Plain(Squares):
    """Items that are not tuples."""

    def __getitem__(self, index: int) -> Any:
        return np.float32(index)


def order(loader: DataLoader) -> list[int]:
    return [int(v) for (x,) in loader for v in x.tolist()]


def numbers(n: int) -> ArrayDataset:
    return ArrayDataset(np.arange(n))


def test_batches_are_tensors_of_the_rows() -> None:
    x = np.arange(20, dtype=np.float64).reshape(5, 2, 2)
    y = np.arange(5, dtype=np.int32)
    loader = DataLoader(ArrayDataset(x, y), batch_size=2)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    for i, (a, b) in enumerate(batches):
        np.testing.assert_array_equal(a.numpy(), x[2 * i : 2 * i + 2])
        assert (a.dtype, b.dtype, b.tolist()) == (
            vkml.float32,
            vkml.int32,
            y[2 * i : 2 * i + 2].tolist(),
        )
    short = DataLoader(ArrayDataset(x, y), batch_size=2, drop_last=True)
    assert len(short) == len(list(short)) == 2
    assert len(DataLoader(numbers(4), batch_size=2)) == 2
    assert list(DataLoader(numbers(0), batch_size=2, shuffle=True)) == []
    assert list(DataLoader(numbers(3), batch_size=5, drop_last=True)) == []


def test_items_made_one_by_one_are_stacked() -> None:
    x, y = list(DataLoader(Squares(), batch_size=3))[1]
    assert x.tolist() == [[9.0, 9.0], [16.0, 16.0], [25.0, 25.0]] and y.tolist() == [3, 4, 5]
    (first, *_) = DataLoader(Plain(), batch_size=2)
    assert first.tolist() == [0.0, 1.0]
    with pytest.raises(NotImplementedError, match="define __getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match="define __len__"):
        len(Dataset())


def test_order_is_a_function_of_seed_and_epoch() -> None:
    loader = DataLoader(numbers(50), batch_size=8, shuffle=True, seed=4)
    epochs = [order(loader) for _ in range(3)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    again = DataLoader(numbers(50), batch_size=5, shuffle=True, seed=4)
    again.set_epoch(2)
    assert order(again) == epochs[2]
    again.set_epoch(0)
    assert [order(again), order(again)] == epochs[:2]
    assert order(DataLoader(numbers(50), shuffle=True, seed=5)) != epochs[0]
    with vkml.eager_mode():
        assert order(DataLoader(numbers(50), shuffle=True, seed=4)) == epochs[0]


def test_an_iterator_keeps_its_epoch() -> None:
    loader = DataLoader(numbers(9), batch_size=3, shuffle=True)
    one, two = iter(loader), iter(loader)
    later = [int(v) for (x,) in two for v in x.tolist()]
    earlier = [int(v) for (x,) in one for v in x.tolist()]
    loader.set_epoch(0)
    assert [order(loader), order(loader)] == [earlier, later]


def test_the_global_seed_does_not_matter() -> None:
    vkml.manual_seed(1)
    first = order(DataLoader(numbers(20), shuffle=True))
    vkml.manual_seed(2)
    vkml.rand(3)
    assert order(DataLoader(numbers(20), shuffle=True)) == first


def test_orders_do_not_change_between_versions() -> None:
    """Worked out apart from vkml: Philox words 2 · 10, their upper 31 bits, sorted."""
    assert permutation(10, 0, 0).tolist() == [8, 7, 9, 5, 0, 3, 6, 2, 1, 4]
    assert permutation(10, 3, 1).tolist() == [7, 8, 0, 6, 3, 5, 9, 2, 1, 4]


def test_every_place_is_equally_likely() -> None:
    where = np.zeros((8, 8), np.int64)
    for epoch in range(2000):
        where[np.arange(8), permutation(8, 1, epoch)] += 1
    assert np.abs(where - 250).max() < 5 * (250 * 7 / 8) ** 0.5  # five standard deviations


def test_transform_gets_the_arrays_of_a_batch() -> None:
    data = ArrayDataset(np.arange(4, dtype=np.uint8), np.arange(4))
    loader = DataLoader(data, 2, transform=lambda x, y: (x.astype(np.float32) / 2, y))
    assert [(x.tolist(), y.tolist()) for x, y in loader] == [
        ([0.0, 0.5], [0, 1]),
        ([1.0, 1.5], [2, 3]),
    ]
    single = DataLoader(Plain(), 7, transform=lambda x: x + 1)
    assert next(iter(single)).tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_split_divides_once_and_for_all() -> None:
    first, second = split(numbers(100), 0.29, seed=2)
    assert (len(first), len(second)) == (29, 71)
    parts = [[int(v) for (v,) in (s[i] for i in range(len(s)))] for s in (first, second)]
    assert sorted(parts[0] + parts[1]) == list(range(100))
    assert all(part == sorted(part) for part in parts)
    assert split(numbers(100), 0.29, seed=2)[0].indices.tolist() == parts[0]
    assert split(numbers(100), 0.29, seed=3)[0].indices.tolist() != parts[0]
    assert [len(s) for s in split(numbers(5), 1.0)] == [5, 0]
    assert order(DataLoader(second, batch_size=10)) == parts[1]


def test_bad_arguments() -> None:
    data = numbers(3)
    for make, kind, message in (
        (lambda: ArrayDataset(), ValueError, "at least one array"),
        (lambda: ArrayDataset(np.ones(2), np.ones(3)), ValueError, "differ in length"),
        (lambda: ArrayDataset(np.float32(1)), TypeError, "expected an ndarray, got float32"),
        (lambda: ArrayDataset(np.array(1.0)), ValueError, "differ in length"),
        (lambda: data[3], IndexError, "index 3 is outside its 3 items"),
        (lambda: Subset(data, [0, 3]), IndexError, "index 3 is outside 3 items"),
        (lambda: Subset(data, [0, 1])[2], IndexError, "index 2 is outside its 2 items"),
        (lambda: DataLoader([1, 2]), TypeError, "expected a vkml.data.Dataset, got list"),
        (lambda: DataLoader(data, 0), ValueError, "batch_size must be ≥ 1, got 0"),
        (lambda: DataLoader(data, seed=-1), ValueError, "seed: must be ≥ 0"),
        (lambda: DataLoader(data, shuffle=1), TypeError, "shuffle: expected True or False"),
        (lambda: DataLoader(data).set_epoch(-1), ValueError, "epoch: must be ≥ 0"),
        (lambda: split(data, 1.5), ValueError, "fraction must be from 0 to 1"),
        (lambda: DataLoader(data, device="nowhere"), RuntimeError, "nowhere"),
    ):
        with pytest.raises(kind, match=message):
            make()
    assert data[-1] == (2,) and Subset(data, [1, 0])[-1] == (0,)
