"""The MNIST example: the same weights every time and everywhere, honest names, clear errors."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "mnist"
QUICK = ("--limit", "640", "--device", "cpu")


@pytest.fixture
def idx(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import idx

    return idx


def run(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / "train.py"), *args],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environ,
    )


def train(out: Path, *args: str, **environ: str) -> dict[str, Any]:
    done = run(*args, "--json", str(out), **environ)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    assert summary["weights_sha256"] in done.stdout
    return summary


def encode(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """IDX files of noise with a bright row where the label says; half of them packed."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for stem, n in (("train", 900), ("t10k", 200)):
        labels = rng.integers(0, 10, n).astype(np.uint8)
        images = rng.integers(0, 200, (n, 10, 6)).astype(np.uint8)
        images[np.arange(n), labels] = 255
        packed = gzip.compress(encode(images))
        (folder / f"{stem}-images-idx3-ubyte.gz").write_bytes(packed)
        (folder / f"{stem}-labels-idx1-ubyte").write_bytes(encode(labels))
    return folder


def test_the_hash_is_the_same_again_eager_and_on_a_lesser_cpu(
    pictures: Path, tmp_path: Path
) -> None:
    args = ("--data", str(pictures), *QUICK)
    first = train(tmp_path / "1", *args)
    assert first["dataset"] == f"IDX files in {pictures}"
    assert first["device"] == "cpu" and not first["eager"]
    assert first["epochs"][0]["accuracy"] > 0.3
    assert re.fullmatch("[0-9a-f]{64}", first["weights_sha256"])
    variants = {
        "again": train(tmp_path / "2", *args),
        "eager": train(tmp_path / "3", *args, "--eager"),
        "no SIMD": train(tmp_path / "4", *args, NPY_DISABLE_CPU_FEATURES="AVX2 FMA3 AVX512F"),
    }
    for name, other in variants.items():
        assert other["weights_sha256"] == first["weights_sha256"], name
        assert [e["loss"] for e in other["epochs"]] == [e["loss"] for e in first["epochs"]], name
    assert train(tmp_path / "5", *args, "--seed", "1")["weights_sha256"] != first["weights_sha256"]


def test_the_hash_is_the_same_on_vulkan(pictures: Path, tmp_path: Path) -> None:
    args = ("--data", str(pictures), *QUICK)
    tried = run("--device", "vulkan", "--limit", "1", "--data", str(pictures))
    if "vulkan (vkml 0.1.0) failed at probe" in tried.stderr:
        pytest.skip(f"no Vulkan device: {tried.stderr.strip()}")
    cpu, vulkan = (train(tmp_path / d, *args, "--device", d) for d in ("cpu", "vulkan"))
    assert (cpu["device"], vulkan["device"]) == ("cpu", "vulkan")
    assert vulkan["weights_sha256"] == cpu["weights_sha256"]
    for mine, oracle in zip(vulkan["epochs"], cpu["epochs"], strict=True):
        assert (mine["loss"], mine["accuracy"]) == (oracle["loss"], oracle["accuracy"])


def test_training_helps(pictures: Path, tmp_path: Path) -> None:
    summary = train(tmp_path / "out", "--data", str(pictures), "--epochs", "6", "--batch", "32")
    epochs = summary["epochs"]
    assert [e["epoch"] for e in epochs] == [1, 2, 3, 4, 5, 6]
    assert epochs[-1]["accuracy"] > 0.95
    assert epochs[-1]["loss"] < 0.1 * epochs[0]["loss"]
    assert summary["device_reason"] and set(summary["versions"]) == {"vkml", "numpy", "python"}


def test_fashion_mnist_is_found_named_and_learnt(idx: Any, tmp_path: Path) -> None:
    if not idx.DEBIAN.is_dir():
        pytest.skip("Debian's package dataset-fashion-mnist is not installed")
    summary = train(tmp_path / "out", "--device", "cpu")
    assert summary["dataset"] == "Fashion-MNIST"
    assert 0.81 < summary["epochs"][0]["accuracy"] < 0.84  # PyTorch's reach after one epoch


def test_digits_are_used_and_named_where_there_is_nothing_else(
    idx: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(idx, "DEBIAN", tmp_path / "absent")
    data = idx.load(None)
    assert data.name == "scikit-learn digits (8x8)"
    assert data.x_train.shape == (1437, 64) and data.x_test.shape == (360, 64)
    assert data.x_train.dtype == np.float32 and data.x_train.max() == 1.0
    assert data.y_train.dtype == np.int64


def test_only_known_labels_get_a_known_name(idx: Any) -> None:
    for name, first in idx.FIRST_LABELS.items():
        labels = np.zeros(60_000, np.uint8)
        labels[:20] = [int(c) for c in first]
        assert idx.recognise(labels) == name
        assert idx.recognise(labels[:-1]) is None
        labels[19] += 1
        assert idx.recognise(labels) is None


def test_pixels_are_scaled_by_255(idx: Any, pictures: Path) -> None:
    data = idx.load(pictures)
    raw = idx.read_idx(pictures / "t10k-images-idx3-ubyte.gz")
    expected = raw.reshape(200, 60).astype(np.float32) / np.float32(255)
    assert data.x_test.tobytes() == expected.tobytes() and data.x_test.max() == 1.0


GOOD = encode(np.zeros((3, 2, 2), np.uint8))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("short", GOOD[:-1], "11 bytes of data"),
        ("long", GOOD + b"\0", "13 bytes of data"),
        ("header", GOOD[:7], "truncated inside its header"),
        ("empty", b"", "is not an IDX file"),
        ("magic", b"PK\3\4" + GOOD, "is not an IDX file"),
        ("floats", b"\0\0\x0d\1\0\0\0\0", "is not an IDX file"),
        ("cut.gz", gzip.compress(GOOD, mtime=0)[:-9], "cannot be unpacked"),
        ("flipped.gz", gzip.compress(GOOD, mtime=0)[:-8] + b"\0" * 8, "cannot be unpacked"),
        ("plain.gz", GOOD, "cannot be unpacked"),
    ],
)
def test_broken_files_are_refused(
    idx: Any, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        idx.read_idx(path)
    assert str(path) in str(caught.value)


def test_folders_that_do_not_fit_are_refused(idx: Any, tmp_path: Path) -> None:
    sizes = {"train": (4, 4, (2, 2)), "t10k": (2, 2, (2, 2))}

    def write(label: int) -> None:
        for stem, (n, labels, pixels) in sizes.items():
            images = np.zeros((n, *pixels), np.uint8)
            (tmp_path / f"{stem}-images-idx3-ubyte").write_bytes(encode(images))
            (tmp_path / f"{stem}-labels-idx1-ubyte").write_bytes(
                encode(np.full(labels, label, np.uint8))
            )

    for change, label, message in (
        ({}, 10, "label 10, expected 0 to 9"),
        ({"train": (4, 3, (2, 2))}, 0, "do not fit"),
        ({"train": (4, 4, (2, 3))}, 0, "pixels"),
        ({"t10k": (0, 0, (2, 2))}, 0, "do not fit"),
    ):
        before = dict(sizes)
        sizes.update(change)
        write(label)
        with pytest.raises(ValueError, match=message):
            idx.load(tmp_path)
        sizes.update(before)


def test_errors_are_one_line() -> None:
    missing = run("--data", "/nowhere", *QUICK)
    assert missing.returncode == 1
    assert missing.stderr == (
        "error: /nowhere: has neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz\n"
    )
    assert run("--limit", "0").returncode == 2
    unknown = run("--device", "cpuu")
    assert unknown.returncode == 1
    assert unknown.stderr.startswith("error: device: no backend is called 'cpuu' (did you mean")
    assert unknown.stderr.count("\n") == 1
