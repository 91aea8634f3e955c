"""IDX files: read as published, named where they are known, refused where they are broken."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.archives import encode_idx, write_idx
from vkml.data import DataError, load_idx
from vkml.data.idx import KNOWN, read_idx, recognise

DEBIAN = Path("/usr/share/datasets/fashion-mnist")


@pytest.mark.parametrize("packed", [True, False])
def test_images_are_those_of_the_files(tmp_path: Path, packed: bool) -> None:
    written = write_idx(tmp_path, 30, 12, shape=(10, 6), packed=packed)
    images = load_idx(str(tmp_path))
    assert images.name == f"IDX files in {tmp_path}" and images.classes == tuple("0123456789")
    found = (images.x_train, images.y_train, images.x_test, images.y_test)
    for i, (have, want) in enumerate(zip(found, written, strict=True)):
        assert have.dtype == (np.int64 if i % 2 else np.uint8) and have.flags.writeable
        np.testing.assert_array_equal(have, want if i % 2 else want[:, None])


def test_fashion_mnist_is_named() -> None:
    if not DEBIAN.is_dir():
        pytest.skip("Debian's package dataset-fashion-mnist is not installed")
    images = load_idx(DEBIAN)
    assert images.name == "Fashion-MNIST" and images.classes[9] == "Ankle boot"
    assert images.x_train.shape == (60_000, 1, 28, 28) and images.x_test.shape == (
        10_000,
        1,
        28,
        28,
    )
    assert np.bincount(images.y_train).tolist() == [6000] * 10


def test_only_known_labels_get_a_known_name() -> None:
    for name, known in KNOWN.items():
        labels = np.zeros(60_000, np.uint8)
        labels[:20] = [int(c) for c in known.first_labels]
        assert recognise(labels) == name and len(known.classes) == 10
        assert recognise(labels[:-1]) is None
        labels[19] += 1
        assert recognise(labels) is None


GOOD = encode_idx(np.zeros((3, 2, 2), np.uint8))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("short", GOOD[:-1], "11 bytes of data, shape"),
        ("long", GOOD + b"\0", "13 bytes of data or more"),
        ("header", GOOD[:7], "truncated inside its header, 7 bytes"),
        ("empty", b"", "is not an IDX file"),
        ("magic", b"PK\3\4" + GOOD, "is not an IDX file"),
        ("floats", b"\0\0\x0d\1\0\0\0\0", "is not an IDX file"),
        ("rank", b"\0\0\x08\4" + b"\0" * 16, "is not an IDX file"),
        ("huge", b"\0\0\x08\3" + b"\xff" * 12, "more than 2,147,483,648 elements"),
        ("claims", b"\0\0\x08\1\x7f\xff\xff\xff", "has 0 bytes of data"),
        ("claims.gz", gzip.compress(b"\0\0\x08\1\x7f\xff\xff\xff"), "has 0 bytes of data"),
        ("bomb.gz", gzip.compress(GOOD + b"\0" * 50_000_000), "13 bytes of data or more"),
        ("cut.gz", gzip.compress(GOOD, mtime=0)[:-9], "cannot be unpacked"),
        ("flipped.gz", gzip.compress(GOOD, mtime=0)[:-8] + b"\0" * 8, "cannot be unpacked"),
        ("plain.gz", GOOD, "cannot be unpacked"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_idx(path)
    assert str(path) in str(caught.value)


def test_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    sizes = {"train": (4, 4, (2, 2)), "t10k": (2, 2, (2, 2))}

    def write(label: int) -> None:
        for stem, (n, labels, pixels) in sizes.items():
            images = np.zeros((n, *pixels), np.uint8)
            (tmp_path / f"{stem}-images-idx3-ubyte").write_bytes(encode_idx(images))
            (tmp_path / f"{stem}-labels-idx1-ubyte").write_bytes(
                encode_idx(np.full(labels, label, np.uint8))
            )

    for change, label, message in (
        ({}, 10, "label 10, expected 0 to 9"),
        ({"train": (4, 3, (2, 2))}, 0, "do not fit"),
        ({"train": (4, 4, (2, 3))}, 0, "pixels"),
        ({"train": (4, 4, (2,)), "t10k": (2, 2, (2,))}, 0, "do not fit"),
        ({"t10k": (0, 0, (2, 2))}, 0, "do not fit"),
        ({"train": (4, 4, (0, 2)), "t10k": (2, 2, (0, 2))}, 0, "do not fit"),
    ):
        before = dict(sizes)
        sizes.update(change)
        write(label)
        with pytest.raises(DataError, match=message) as caught:
            load_idx(tmp_path)
        assert str(tmp_path) in str(caught.value)
        sizes.update(before)
    (tmp_path / "t10k-images-idx3-ubyte").unlink()
    with pytest.raises(DataError, match=r"has neither t10k-images-idx3-ubyte nor t10k-.*gz"):
        load_idx(tmp_path)


@given(st.one_of(st.binary(max_size=60), st.binary(max_size=40).map(lambda b: b"\0\0\x08" + b)))
def test_any_bytes_give_an_array_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    for name, data in (
        ("fuzzed", content),
        ("fuzzed.gz", content),
        ("packed.gz", gzip.compress(content)),
    ):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(data)
        try:
            found = read_idx(path)
        except DataError as error:
            assert str(error).startswith(f"{path}: ")
        else:
            assert encode_idx(found) == content


@given(st.lists(st.integers(0, 300), min_size=1, max_size=3), st.booleans())
def test_arrays_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, shape: list[int], packed: bool
) -> None:
    shape = [min(n, 300 // 10**i) for i, n in enumerate(shape)]
    array = np.arange(int(np.prod(shape)), dtype=np.int64).astype(np.uint8).reshape(shape)
    data = encode_idx(array)
    assert struct.unpack(">I", data[:4])[0] == 0x800 + len(shape)
    path = tmp_path_factory.getbasetemp() / ("array.gz" if packed else "array")
    path.write_bytes(gzip.compress(data) if packed else data)
    np.testing.assert_array_equal(read_idx(path), array)
