"""The CIFAR-100 example, end to end on generated files in the published archive's format."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import result, run, train

from tests.data.archives import cifar100, pickled, write_cifar100
from tests.everywhere import devices


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """160 training and 60 test images whose bright row and colour tell one of six classes."""
    parts = cifar100(train=160, test=60, classes=6)
    return write_cifar100(tmp_path_factory.mktemp("cifar"), pickled(parts)).parent


def brief(archive: Path) -> tuple[object, ...]:
    return ("cifar100.py", "--data", archive, "--batch", 16)


def test_it_learns_beside_pytorch_and_draws(archive: Path, tmp_path: Path) -> None:
    args = (*brief(archive), "--device", "cpu", "--epochs", 3, "--compare", "torch")
    summary = train(tmp_path / "out", *args, "--pictures", tmp_path / "drawn")
    assert summary["samples"] == 160 and summary["steps"] == 30
    assert summary["epochs"][-1]["loss"] < 0.6 * summary["epochs"][0]["loss"]
    assert summary["compare"]["first_loss_difference"] < 1e-5
    assert (tmp_path / "drawn" / "confusion.png").stat().st_size > 10_000


def test_an_augmented_run_is_the_same_everywhere(archive: Path, tmp_path: Path) -> None:
    args = (*brief(archive), "--limit", 32, "--epochs", 1, "--augment")
    cpu, vulkan = (train(tmp_path / d, *args, "--device", d) for d in devices())
    assert result(cpu) == result(vulkan)


def test_an_augmented_run_is_resumed(archive: Path, tmp_path: Path) -> None:
    """Running means and variances, and the draws of crops and flips, go on too."""
    args = (*brief(archive), "--limit", 48, "--augment", "--device", "cpu")
    args += ("--checkpoint", tmp_path / "saved")
    whole = train(tmp_path / "whole", *args, "--epochs", 2)
    train(tmp_path / "part", *args, "--epochs", 1)
    rest = train(tmp_path / "rest", *args, "--epochs", 2, "--resume", tmp_path / "saved")
    assert result(rest) == result(whole)


def test_missing_and_broken_archives_are_one_line(archive: Path, tmp_path: Path) -> None:
    assert run("cifar100.py").returncode == 2
    for content in (None, b"", b"not an archive"):
        if content is not None:
            (tmp_path / "cifar-100-python.tar.gz").write_bytes(content)
        done = run("cifar100.py", "--data", tmp_path, "--device", "cpu")
        assert done.returncode == 1 and done.stderr.startswith(f"error: {tmp_path}"), done.stderr
        assert done.stderr.count("\n") == 1
