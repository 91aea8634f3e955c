"""A loader's place: saved after any batch and restored, the data goes on with the same bits."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkml.data import ArrayDataset, DataLoader, RandomCrop

KEYS = {"seed", "epoch", "batch", "length", "batch_size", "shuffle", "drop_last"}


def loader(n: int = 10, batch_size: int = 3, **options: Any) -> DataLoader:
    images = np.arange(n * 16, dtype=np.float32).reshape(n, 1, 4, 4)
    options = {"shuffle": True, "seed": 7, "transform": RandomCrop(3)} | options
    return DataLoader(ArrayDataset(images, np.arange(n)), batch_size, **options)


def bits(batch: Any) -> tuple[bytes, ...]:
    return tuple(t.numpy().tobytes() for t in batch)


def stream(given: DataLoader, batches: int) -> list[tuple[bytes, ...]]:
    """Give so many batches, over epochs."""
    found: list[tuple[bytes, ...]] = []
    while len(found) < batches:
        found += map(bits, islice(given, batches - len(found)))
    return found


@given(
    st.integers(1, 20),
    st.integers(1, 7),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 1, 2, 9]),
    st.sampled_from([0, 3]),
    st.data(),
)
def test_restored_is_uninterrupted(
    n: int,
    batch_size: int,
    shuffle: bool,
    drop_last: bool,
    ahead: int,
    later: int,
    data: st.DataObject,
) -> None:
    options = {"shuffle": shuffle, "drop_last": drop_last}
    whole = loader(n, batch_size, **options)
    length = len(whole)
    if not length:
        return
    done = data.draw(st.integers(0, 3 * length))
    want = stream(whole, done + length + 2)
    first = loader(n, batch_size, prefetch=ahead, **options)
    assert stream(first, done) == want[:done]
    state = json.loads(json.dumps(first.state_dict()))
    assert (state["epoch"], state["batch"]) == divmod(done, length)
    second = loader(n, batch_size, prefetch=later, seed=1, **options)
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert stream(second, length + 2) == want[done:]


@pytest.mark.parametrize("prefetch", [0, 5])
def test_batches_handed_out_count(prefetch: int) -> None:
    given = loader(prefetch=prefetch)
    shape = {"length": 10, "batch_size": 3, "shuffle": 1, "drop_last": 0}
    assert given.state_dict() == {"seed": 7, "epoch": 0, "batch": 0} | shape
    seen = []
    for _ in given:
        state = given.state_dict()
        assert set(state) == KEYS and all(type(v) is int for v in state.values())
        seen.append((state["epoch"], state["batch"]))
    assert seen == [(0, 1), (0, 2), (0, 3), (1, 0)]
    assert (given.state_dict()["epoch"], given.state_dict()["batch"]) == (1, 0)


def place(given: DataLoader) -> tuple[int, int]:
    state = given.state_dict()
    return state["epoch"], state["batch"]


def test_the_iteration_started_last_counts() -> None:
    given = loader()
    one, two = iter(given), iter(given)
    next(one)
    assert place(given) == (1, 0)
    next(two), next(two), next(one)
    assert place(given) == (1, 2)
    list(two)
    assert place(given) == (2, 0)
    next(one)
    assert place(given) == (2, 0)


def test_leaving_a_loop_keeps_the_place_until_the_next_one() -> None:
    given = loader()
    next(iter(given))
    assert place(given) == (0, 1)
    given.set_epoch(4)
    assert place(given) == (4, 0)
    next(iter(given))
    assert place(given) == (4, 1)
    next(iter(given))
    assert place(given) == (5, 1)


def test_set_epoch_keeps_a_restored_place_of_that_epoch_only() -> None:
    want = stream(loader(), 12)
    given = loader()
    given.load_state_dict(given.state_dict() | {"epoch": 1, "batch": 2})
    for epoch in (1, 2):  # as in a loop that is resumed
        given.set_epoch(epoch)
        start = 6 if epoch == 1 else 8
        assert [bits(b) for b in given] == want[start : 4 * (epoch + 1)]
    given.set_epoch(1)
    assert [bits(b) for b in given] == want[4:8]
    given.load_state_dict(given.state_dict() | {"epoch": 1, "batch": 2})
    given.set_epoch(2)
    assert place(given) == (2, 0)


def test_a_running_iteration_keeps_its_seed_and_place_when_a_state_is_loaded() -> None:
    want, given = stream(loader(), 4), loader(prefetch=1)
    running = iter(given)
    assert bits(next(running)) == want[0]
    given.load_state_dict(given.state_dict() | {"seed": 8, "epoch": 3, "batch": 1})
    assert [bits(b) for b in running] == want[1:]
    assert place(given) == (3, 1) and given.state_dict()["seed"] == 8
    other = loader(seed=8)
    other.set_epoch(3)
    assert [bits(b) for b in given] == [bits(b) for b in other][1:]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"length": 11}, ValueError, r"differs .*: length \(saved 11, here 10\)"),
        ({"batch_size": 2, "shuffle": 0}, ValueError, r"batch_size \(saved 2, here 3\), shuffle"),
        ({"drop_last": 1}, ValueError, "drop_last"),
        ({"batch": 4}, ValueError, "batch 4 of an epoch that has 4"),
        ({"batch": -1}, ValueError, "batch: must be ≥ 0"),
        ({"epoch": 2**48}, ValueError, r"epoch: must be < 2\^48"),
        ({"seed": 2**63}, ValueError, r"seed: must be < 2\^63"),
        ({"seed": 1.0}, TypeError, "seed: expected an int, got float"),
        ({"batch": None}, TypeError, "batch: expected an int, got NoneType"),
        ({"more": 1}, ValueError, "expected the keys"),
        ({7: 1}, ValueError, "expected the keys"),
    ],
)
def test_a_malformed_state_changes_nothing(change: Any, kind: type, message: str) -> None:
    given = loader()
    next(iter(given))
    before = given.state_dict()
    with pytest.raises(kind, match=message):
        given.load_state_dict(before | change)
    assert given.state_dict() == before
    for wrong in ([1], None):
        with pytest.raises(TypeError, match="expected a dict, got"):
            given.load_state_dict(wrong)  # type: ignore[arg-type]
    missing = {k: v for k, v in before.items() if k != "seed"}
    with pytest.raises(ValueError, match="expected the keys"):
        given.load_state_dict(missing)
