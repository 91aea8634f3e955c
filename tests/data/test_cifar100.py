"""CIFAR-100's archive: read as published, and refused where it is broken, naming the file."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.archives import FOLDER, cifar100, pickled, tar, write_cifar100
from vkml.data import DataError, load_cifar100
from vkml.data import cifar100 as reader
from vkml.data import tar as tar_reader

PARTS = cifar100(train=1100, test=60)
FILES = pickled(PARTS)


def test_the_files_are_in_the_real_format() -> None:
    """The recipe that the authors publish reads them."""
    for name, data in FILES.items():
        found = pickle.load(io.BytesIO(data), encoding="bytes")
        assert found.keys() == PARTS[name].keys()
        for key, value in PARTS[name].items():
            np.testing.assert_array_equal(found[key], value)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_images_are_those_of_the_archive(tmp_path: Path, packed: bool, inner: bool) -> None:
    path = write_cifar100(tmp_path, FILES, packed=packed)
    images = load_cifar100(path if inner else str(tmp_path))
    assert images.name == f"CIFAR-100 files in {path}"
    for part, x, y in (
        ("train", images.x_train, images.y_train),
        ("test", images.x_test, images.y_test),
    ):
        want = PARTS[part]
        assert (x.dtype, y.dtype) == (np.uint8, np.int64) and x.flags.writeable
        np.testing.assert_array_equal(x, want[b"data"].reshape(-1, 3, 32, 32))
        assert y.tolist() == want[b"fine_labels"]
    assert images.classes == tuple(n.decode() for n in PARTS["meta"][b"fine_label_names"])


def test_the_published_files_are_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib

    sums = {name: hashlib.md5(data).hexdigest() for name, data in FILES.items()}
    monkeypatch.setattr(reader, "MD5", sums)
    assert load_cifar100(write_cifar100(tmp_path, FILES)).name == "CIFAR-100"
    monkeypatch.setattr(reader, "MD5", sums | {"test": "0" * 32})
    assert load_cifar100(tmp_path).name != "CIFAR-100"


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_files_that_python_3_pickled_are_read(tmp_path: Path, protocol: int) -> None:
    files = {name: pickle.dumps(value, protocol) for name, value in PARTS.items()}
    images = load_cifar100(write_cifar100(tmp_path, files, packed=False))
    np.testing.assert_array_equal(images.x_test.reshape(60, -1), PARTS["test"][b"data"])


def test_fortran_order_is_heeded(tmp_path: Path) -> None:
    parts = cifar100()
    parts["train"][b"data"] = np.asfortranarray(parts["train"][b"data"])
    images = load_cifar100(write_cifar100(tmp_path, pickled(parts)))
    np.testing.assert_array_equal(images.x_train.reshape(200, -1), parts["train"][b"data"])


def change(name: str, key: bytes, value: Any) -> Callable[[dict[str, Any]], None]:
    def do(parts: dict[str, Any]) -> None:
        parts[name] = {k: v for k, v in parts[name].items() if k != key}
        if value is not None:
            parts[name][key] = value

    return do


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (change("train", b"data", None), "train: holds no ndarray 'data'"),
        (change("test", b"data", b"text"), "test: holds no ndarray 'data'"),
        (change("test", b"data", np.zeros((100, 3071), np.uint8)), "expected uint8"),
        (change("test", b"data", np.zeros(307200, np.uint8)), "expected uint8"),
        (change("test", b"data", np.zeros((0, 3072), np.uint8)), "has 0 images and 100 labels"),
        (change("train", b"fine_labels", None), "train: holds no list 'fine_labels'"),
        (change("train", b"fine_labels", [1, 2]), "has 200 images and 2 labels"),
        (change("test", b"fine_labels", [100] * 100), "test: label 100, expected 0 to 99"),
        (change("test", b"fine_labels", [-1] * 100), "test: label -1, expected 0 to 99"),
        (change("test", b"fine_labels", [b"x"] * 100), "test: label bytes, expected"),
        (change("meta", b"fine_label_names", []), "meta: fine_label_names are not names"),
        (change("meta", b"fine_label_names", [1]), "meta: fine_label_names are not names"),
        (change("meta", b"fine_label_names", None), "meta: holds no list"),
        (lambda parts: parts.update(train=[1]), "train: holds no ndarray"),
    ],
)
def test_contents_that_do_not_fit_are_refused(tmp_path: Path, broken: Any, message: str) -> None:
    parts = cifar100()
    broken(parts)
    path = write_cifar100(tmp_path, pickled(parts))
    with pytest.raises(DataError, match=message) as caught:
        load_cifar100(tmp_path)
    assert str(path) in str(caught.value) and isinstance(caught.value, ValueError)


def refuse(path: Path, data: bytes, message: str) -> None:
    path.write_bytes(data)
    with pytest.raises(DataError, match=message) as caught:
        load_cifar100(path)
    assert str(path) in str(caught.value)


def test_broken_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = pickled(cifar100(train=3, test=2))
    plain = tar({f"{FOLDER}/{n}": d for n, d in small.items()})
    packed = gzip.compress(plain, mtime=0)
    refuse(tmp_path / "a.tar", b"", "is truncated")
    refuse(tmp_path / "a.tar", plain[:700], "is truncated")
    refuse(tmp_path / "a.tar", plain[: plain.rindex(b"coarse_19")], "is truncated")
    refuse(tmp_path / "a.tar", b"PK" * 600, "is not a tar archive")
    refuse(tmp_path / "a.tar", b"\0" * 10240, "has no cifar-100-python/train, .*test, .*meta")
    refuse(tmp_path / "a.tar.gz", plain, "cannot be unpacked")
    refuse(tmp_path / "a.tar.gz", packed[:-9], "cannot be unpacked")
    refuse(tmp_path / "a.tgz", packed[:-8] + b"\0" * 8, "cannot be unpacked")  # its checksum
    refuse(tmp_path / "a.tar", plain.replace(b"python/train", b"python/brain"), "or corrupt")
    doubled = tar({f"{FOLDER}/meta": b"1", f"./{FOLDER}/meta": b"2"})
    refuse(tmp_path / "a.tar", doubled, "meta is there twice")
    monkeypatch.setitem(reader.LIMITS, "meta", 5)
    refuse(tmp_path / "a.tar", plain, "meta has .* bytes, the limit is 5")
    monkeypatch.setattr(tar_reader, "MOST_BYTES", 10_000)
    refuse(tmp_path / "a.tar", plain, "unpacks to more than 10,000 bytes")
    bomb = tar({"zeros": b""}) + b"\0" * 20_000
    refuse(tmp_path / "a.tar.gz", gzip.compress(bomb), "unpacks to more than 10,000 bytes")


def special(kind: bytes, target: str = "") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        member = tarfile.TarInfo(f"{FOLDER}/train")
        member.type, member.linkname = kind, target
        archive.addfile(member)
    return out.getvalue()


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.GNUTYPE_SPARSE],
)
def test_links_and_devices_are_not_followed(tmp_path: Path, kind: bytes) -> None:
    refuse(tmp_path / "a.tar", special(kind, "/etc/passwd"), "train is not a plain file")


def test_nothing_is_written_outside_or_anywhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    members = {"../escaped": b"x", f"{tmp_path}/absolute": b"x"}
    data = tar(members | {f"{FOLDER}/{n}": d for n, d in FILES.items()})
    (inside / f"{FOLDER}.tar.gz").write_bytes(gzip.compress(data))
    before = sorted(tmp_path.rglob("*"))
    assert len(load_cifar100(inside).x_train) == 1100
    assert sorted(tmp_path.rglob("*")) == before


def test_extended_headers_do_not_rename(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in FILES.items():
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.size, member.pax_headers = len(data), {"comment": "ü" * 700}
            archive.addfile(member, io.BytesIO(data))
    path = tmp_path / "a.tar"
    path.write_bytes(out.getvalue())
    assert len(load_cifar100(path).x_train) == 1100


def test_folders_are_looked_through(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has neither cifar-100-python.tar.gz nor the files"):
        load_cifar100(tmp_path)
    with pytest.raises(DataError, match="/nowhere: has neither"):
        load_cifar100("/nowhere")
    where = write_cifar100(tmp_path, packed=False)
    (where / "test").unlink()
    with pytest.raises(DataError, match=f"{where}/test: is missing"):
        load_cifar100(tmp_path)
    (where / "test").write_bytes(b"")
    with pytest.raises(DataError, match="test: at byte 0: ends early"):
        load_cifar100(tmp_path)


SMALL = gzip.compress(
    tar({f"{FOLDER}/{n}": d for n, d in pickled(cifar100(train=3, test=2)).items()}), mtime=0
)


@given(st.data())
def test_whatever_happens_to_an_archive_gives_images_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(gzip.decompress(SMALL))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(content))))
    path = tmp_path_factory.getbasetemp() / "fuzzed.tar"
    path.write_bytes(content[:cut])
    try:
        images = load_cifar100(path)
    except DataError as error:
        assert str(error).startswith(str(path))
    else:
        assert images.x_train.shape == (3, 3, 32, 32) and images.y_test.max() < 100
