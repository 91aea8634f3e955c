"""Transforms: NumPy references, and draws that depend on seed, epoch and item alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vkml
from tests.everywhere import devices, same_everywhere
from vkml.data import (
    ArrayDataset,
    Compose,
    DataLoader,
    Draws,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    Subset,
    ToFloat,
    Transform,
)
from vkml.data.order import EPOCHS

SEEDS = st.integers(0, 2**63 - 1)


def pictures(n: int, c: int = 3, h: int = 8, w: int = 6, dtype: Any = np.uint8) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, c, h, w)).astype(dtype)


def crop_reference(
    image: np.ndarray, size: Any, padding: Any, fill: Any, top: int, left: int
) -> Any:
    """One image after another, as torchvision describes it: pad (left, top, right, bottom), cut."""
    before, above, after, below = padding
    widths = ((above, below), (before, after))
    fills = np.broadcast_to(np.asarray(fill, image.dtype), len(image))
    padded = np.stack(
        [np.pad(c, widths, constant_values=f) for c, f in zip(image, fills, strict=True)]
    )
    return padded[:, top : top + size[0], left : left + size[1]]


@given(
    st.data(),
    st.integers(0, 5),
    st.sampled_from([np.uint8, np.float32]),
    SEEDS,
    st.integers(0, EPOCHS - 1),
)
def test_crops_are_those_of_the_reference(
    data: st.DataObject, n: int, dtype: Any, seed: int, epoch: int
) -> None:
    c, h, w = (data.draw(st.integers(1, 6)) for _ in range(3))
    padding = tuple(data.draw(st.integers(0, 3)) for _ in range(4))
    tall, wide = h + padding[1] + padding[3], w + padding[0] + padding[2]
    size = data.draw(st.integers(1, tall)), data.draw(st.integers(1, wide))
    fill = data.draw(st.one_of(st.integers(0, 255), st.tuples(*[st.integers(0, 255)] * c)))
    images = pictures(n, c, h, w, dtype)
    before = images.copy()
    indices = data.draw(st.lists(st.integers(0, 2**40), min_size=n, max_size=n))
    draws = Draws(seed, epoch, indices)
    found = RandomCrop(size, padding, fill)(images, draws=draws)
    assert found.dtype == dtype and found.shape == (n, c, *size)
    tops, lefts = draws.below(tall - size[0] + 1, 0), draws.below(wide - size[1] + 1, 1)
    for image, cut, top, left in zip(images, found, tops, lefts, strict=True):
        np.testing.assert_array_equal(cut, crop_reference(image, size, padding, fill, top, left))
    np.testing.assert_array_equal(images, before)


@given(st.floats(0, 1), SEEDS, st.integers(0, EPOCHS - 1), st.sampled_from([np.uint8, np.float32]))
def test_flips_are_those_of_the_reference(p: float, seed: int, epoch: int, dtype: Any) -> None:
    images = pictures(9, dtype=dtype)
    before, draws = images.copy(), Draws(seed, epoch, range(9))
    found = RandomHorizontalFlip(p)(images, draws=draws)
    want = [i[:, :, ::-1] if u < p else i for i, u in zip(images, draws.uniform(0), strict=True)]
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(images, before)
    assert found.dtype == dtype


def test_probabilities_of_0_and_1_are_certain() -> None:
    images, draws = pictures(500), Draws(1, 2, range(500))
    np.testing.assert_array_equal(RandomHorizontalFlip(0.0)(images, draws=draws), images)
    np.testing.assert_array_equal(RandomHorizontalFlip(1.0)(images, draws=draws), images[..., ::-1])


def test_paddings_are_read_as_torchvision_reads_them() -> None:
    for given_, want in ((2, (2, 2, 2, 2)), ((1, 2), (1, 2, 1, 2)), ([1, 2, 3, 4], (1, 2, 3, 4))):
        assert RandomCrop(4, given_).padding == want
    assert RandomCrop(4).size == (4, 4) and RandomCrop((2, 3)).size == (2, 3)


def test_bytes_are_scaled_correctly_rounded() -> None:
    every = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    found = ToFloat()(every)
    want = (np.arange(256) / np.float64(255)).astype(np.float32)  # a quotient in double first
    assert found.dtype == np.float32 and found.ravel().tobytes() == want.tobytes()
    assert ToFloat()(found) is found


def test_normalize_subtracts_and_divides_in_float32() -> None:
    images = ToFloat()(pictures(3))
    mean, std = (0.1, 0.2, 0.3), [0.5, 0.25, 0.7]
    found = Normalize(mean, std)(images)
    for c in range(3):
        want = (images[:, c] - np.float32(mean[c])) / np.float32(std[c])
        assert found[:, c].tobytes() == want.tobytes()
    assert Normalize(0.5, 0.5)(images).dtype == np.float32


def test_draws_are_those_of_the_public_functions_on_every_device() -> None:
    seed, epoch, slot, n = 2**62 + 5, 7, 3, 50
    draws = Draws(seed, epoch, range(n)).at(slot)
    offset = (slot + 1) * 2**48 + epoch

    def program(device: str) -> dict[str, Any]:
        return {
            "uniform": vkml.rand((n, 4), seed, offset, device=device),
            "below": vkml.randint(0, 9, (n, 4), seed=seed, offset=offset, device=device),
        }

    same_everywhere(program)
    for device in devices():
        made = {k: v.numpy() for k, v in program(device).items()}
        for word in range(4):
            assert made["uniform"][:, word].tobytes() == draws.uniform(word).tobytes()
            assert made["below"][:, word].tolist() == draws.below(9, word).tolist()


@given(
    SEEDS, st.integers(0, EPOCHS - 1), st.lists(st.integers(0, 2**63 - 1), max_size=8), st.data()
)
def test_draws_depend_on_the_item_alone(
    seed: int, epoch: int, indices: list[int], data: st.DataObject
) -> None:
    draws = Draws(seed, epoch, indices)
    order = data.draw(st.permutations(range(len(indices))))
    shuffled = Draws(seed, epoch, [indices[i] for i in order])
    np.testing.assert_array_equal(shuffled.words, draws.words[list(order)])
    for i, index in enumerate(indices):
        np.testing.assert_array_equal(Draws(seed, epoch, [index]).words[0], draws.words[i])


def test_no_two_streams_are_the_same() -> None:
    n = 64
    streams = [
        Draws(seed, epoch, range(n), slot).words.tobytes()
        for seed in (0, 1, 2**32, 2**33)
        for epoch in (0, 1, 2**32, EPOCHS - 1)
        for slot in (0, 1, 4095)
    ]
    orders = [np.asarray(vkml.rand((n, 4), 0, e)).tobytes() for e in (0, 1)]
    assert len({*streams, *orders}) == len(streams) + len(orders)


RANDOM = Compose(
    [RandomCrop(6, padding=2, fill=9), RandomHorizontalFlip(), ToFloat(), Normalize(0.5, 0.2)]
)


def by_item(loader: DataLoader) -> dict[int, bytes]:
    return {
        int(i): image.tobytes()
        for x, y in loader
        for image, i in zip(x.numpy(), y.numpy(), strict=True)
    }


@pytest.mark.parametrize("epoch", [0, 3])
def test_images_do_not_depend_on_batches_shuffling_threads_or_device(epoch: int) -> None:
    data = ArrayDataset(pictures(37), np.arange(37))

    def made(**options: Any) -> dict[int, bytes]:
        options = {"batch_size": 5, "seed": 11, "transform": RANDOM} | options
        loader = DataLoader(data, **options)
        loader.set_epoch(epoch)
        return by_item(loader)

    want = made()
    for options in (
        *({"batch_size": b} for b in (1, 2, 36, 37, 100)),
        *({"shuffle": True, "prefetch": p} for p in (0, 1, 2, 50)),
        *({"device": device, "prefetch": p} for device in devices() for p in (0, 3)),
    ):
        assert made(**options) == want, options
    short = made(drop_last=True, shuffle=True)
    assert short.items() <= want.items() and len(short) == 35
    assert made(seed=12) != want
    other = DataLoader(data, 5, seed=11, transform=RANDOM)
    other.set_epoch(epoch + 1)
    assert by_item(other) != want
    with vkml.eager_mode():
        assert made() == want


def test_the_index_is_that_in_the_data_set_of_the_loader() -> None:
    images = pictures(10)
    part = Subset(ArrayDataset(images, np.arange(10)), [4, 2, 9])
    (batch,) = DataLoader(part, 3, seed=5, transform=RANDOM)
    want = RANDOM(images[[4, 2, 9]], draws=Draws(5, 0, [0, 1, 2]))
    assert batch[0].numpy().tobytes() == want.tobytes()
    assert batch[1].tolist() == [4, 2, 9]


def test_equal_transforms_in_a_composition_draw_apart() -> None:
    images, draws = pictures(200), Draws(3, 1, range(200))
    flip = RandomHorizontalFlip()
    twice = Compose([flip, flip])(images, draws=draws)
    mirrored = (twice != images).any((1, 2, 3))
    assert 60 < mirrored.sum() < 140  # never, if both drew the same
    one = flip(flip(images, draws=draws.at(0)), draws=draws.at(1))
    np.testing.assert_array_equal(twice, one)
    nested = Compose([Compose([flip]), Compose([Compose([]), flip])])
    np.testing.assert_array_equal(nested(images, draws=draws), twice)
    assert repr(nested).startswith("Compose([Compose([RandomHorizontalFlip(p=0.5)]), ")


def test_plain_functions_take_and_give_all_arrays() -> None:
    data = ArrayDataset(pictures(4), np.arange(4), np.arange(4) * 2)
    swap: Callable[..., Any] = lambda x, y, z: (x, z, y)  # noqa: E731
    loader = DataLoader(data, 4, transform=Compose([ToFloat(), swap, RandomHorizontalFlip(1.0)]))
    ((x, z, y),) = loader
    assert y.tolist() == [0, 1, 2, 3] and z.tolist() == [0, 2, 4, 6]
    assert x.numpy().tobytes() == ToFloat()(pictures(4)[..., ::-1]).tobytes()
    only = Compose([lambda x, y: x, ToFloat()])(pictures(2), np.arange(2))
    assert isinstance(only, np.ndarray) and only.dtype == np.float32
    same = Compose([])
    assert same(1) == 1 and same(1, 2) == (1, 2)


class Count(Transform):
    """A transform of a user's own: adds a random number to every pixel."""

    random = True

    def apply(self, images: np.ndarray, draws: Draws) -> np.ndarray:
        return images + draws.below(5, 2)[:, None, None, None]


def test_users_can_write_transforms() -> None:
    data = ArrayDataset(np.zeros((6, 1, 2, 2), np.int64))
    ((x,),) = DataLoader(
        data, 6, seed=4, transform=lambda a: (Count()(a, draws=Draws(4, 0, range(6))),)
    )
    loaded = next(iter(DataLoader(data, 6, seed=4, transform=Count())))
    assert x.tolist() == loaded.tolist()
    with pytest.raises(NotImplementedError, match="Transform: define apply"):
        Transform()(pictures(1))


def test_every_place_and_side_is_equally_likely() -> None:
    draws = Draws(0, 0, range(9000))
    for counts, n in (
        (np.bincount(draws.below(9, 0)), 9),
        (np.bincount(draws.below(9, 1)), 9),
        (np.bincount((draws.uniform(0) < 0.5).astype(int)), 2),
        (np.bincount(draws.below(3, 0) * 3 + draws.below(3, 1)), 9),  # the words are independent
    ):
        assert len(counts) == n
        assert np.abs(counts - 9000 / n).max() < 5 * (9000 / n) ** 0.5


def test_bad_arguments() -> None:
    images, draws = pictures(2), Draws(0, 0, range(2))
    data = ArrayDataset(images)
    for make, kind, message in (
        (lambda: RandomHorizontalFlip(1.5), ValueError, "expected a probability"),
        (lambda: RandomHorizontalFlip("x"), TypeError, "expected a number, got str"),
        (lambda: RandomCrop(0), ValueError, "size must be ≥ 1, got 0"),
        (lambda: RandomCrop((1, 2, 3)), ValueError, "expected an int or two ints"),
        (lambda: RandomCrop(2, -1), ValueError, "padding must be ≥ 0"),
        (lambda: RandomCrop(2, (1, 2, 3)), ValueError, "1, 2 or 4 numbers, got 3"),
        (lambda: RandomCrop(2, fill="x"), TypeError, "expected numbers, got str"),
        (lambda: RandomCrop(9)(images, draws=draws), ValueError, r"\(9, 9\) does not fit images"),
        (lambda: RandomCrop(2, 1, 256)(images, draws=draws), ValueError, "not a value of uint8"),
        (lambda: RandomCrop(2, 1, 0.5)(images, draws=draws), ValueError, "not a value of uint8"),
        (lambda: RandomCrop(2, 1, (1, 2))(images, draws=draws), ValueError, "for 3 channels"),
        (lambda: RandomCrop(2, fill=())(images, draws=draws), ValueError, "at least one number"),
        (lambda: RandomHorizontalFlip()(images), ValueError, "has nothing to draw from"),
        (lambda: Compose([RandomCrop(2)])(images), ValueError, "has nothing to draw from"),
        (lambda: RandomCrop(2)(images[0], draws=draws), ValueError, r"shape \(N, C, H, W\), got"),
        (lambda: RandomCrop(2)([1], draws=draws), TypeError, "expected an ndarray of images"),
        (lambda: ToFloat()(), TypeError, "expected an ndarray of images, got NoneType"),
        (lambda: RandomCrop(2)(images, draws=Draws(0, 0, [1])), ValueError, "2 images, but draws"),
        (lambda: ToFloat()(images.astype(np.int32)), TypeError, "expected uint8 or float32"),
        (lambda: Normalize(0.5, 1)(images), TypeError, "expected float32 images, got uint8"),
        (lambda: Normalize(0.5, 0), ValueError, "std not 0"),
        (lambda: Normalize(0.5, (1, 0)), ValueError, "std not 0"),
        (lambda: Normalize(float("nan"), 1), ValueError, "must be finite"),
        (lambda: Normalize(0.5, 1e-60), ValueError, "std not 0"),
        (lambda: Normalize((1, 2), 1)(ToFloat()(images)), ValueError, "2 numbers, 3 channels"),
        (lambda: Normalize("x", 1), TypeError, "expected numbers, got str"),
        (lambda: Compose([1]), TypeError, "expected transforms or functions, got int"),
        (lambda: Compose([ToFloat()] * 5000), ValueError, "5000 transforms, the limit is 4096"),
        (lambda: Draws(-1, 0, [1]), ValueError, "seed: must be ≥ 0"),
        (lambda: Draws(2**63, 0, [1]), ValueError, r"seed: must be < 2\^63"),
        (lambda: Draws(0, EPOCHS, [1]), ValueError, r"epoch: must be < 2\^48"),
        (lambda: Draws(0, 0, [-1]), ValueError, "a row of numbers ≥ 0"),
        (lambda: Draws(0, 0, [[1]]), ValueError, "a row of numbers ≥ 0"),
        (lambda: DataLoader(data, transform=1), TypeError, "1 is not a function"),
        (lambda: DataLoader(data, prefetch=-1), ValueError, "prefetch: must be ≥ 0"),
        (lambda: DataLoader(data, prefetch=True and 1.5), TypeError, "prefetch: expected an int"),
        (lambda: list(DataLoader(data)), TypeError, "uint8"),
    ):
        with pytest.raises(kind, match=message):
            make()
    assert [repr(t) for t in RANDOM.transforms] == [
        "RandomCrop(size=(6, 6), padding=(2, 2, 2, 2), fill=9)",
        "RandomHorizontalFlip(p=0.5)",
        "ToFloat()",
        "Normalize(mean=[0.5], std=[0.20000000298023224])",
    ]
