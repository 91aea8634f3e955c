"""The MNIST example: the same weights every time and everywhere, honest names, clear errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import result, run, train

from tests.everywhere import devices

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
QUICK = ("mnist.py", "--limit", 640, "--batch", 64, "--device", "cpu")


def test_the_result_is_the_same_again_eager_prefetched_and_on_a_lesser_cpu(
    pictures: Path, tmp_path: Path
) -> None:
    args = (*QUICK, "--data", pictures)
    first = train(tmp_path / "1", *args)
    assert first["dataset"] == f"IDX files in {pictures}" and first["steps"] == 10
    assert first["device"] == "cpu" and not first["eager"]
    assert first["epochs"][0]["accuracy"] > 0.3
    assert re.fullmatch("[0-9a-f]{64}", first["weights_sha256"])
    variants = {
        "again": train(tmp_path / "2", *args),
        "eager": train(tmp_path / "3", *args, "--eager", "--prefetch", 0),
        "no SIMD": train(tmp_path / "4", *args, NPY_DISABLE_CPU_FEATURES="AVX2 FMA3 AVX512F"),
    }
    for name, other in variants.items():
        assert result(other) == result(first), name
    assert train(tmp_path / "5", *args, "--seed", 1)["weights_sha256"] != first["weights_sha256"]


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_the_result_is_the_same_on_vulkan(pictures: Path, tmp_path: Path, model: str) -> None:
    args = ("mnist.py", "--limit", 320, "--batch", 32, "--data", pictures, "--model", model)
    cpu, vulkan = (train(tmp_path / d, *args, "--device", d) for d in devices())
    assert (cpu["device"], vulkan["device"]) == ("cpu", "vulkan")
    assert result(vulkan) == result(cpu)


def test_training_helps(pictures: Path, tmp_path: Path) -> None:
    summary = train(tmp_path / "out", "mnist.py", "--data", pictures, "--epochs", 6, "--batch", 32)
    epochs = summary["epochs"]
    assert [e["epoch"] for e in epochs] == [1, 2, 3, 4, 5, 6]
    assert epochs[-1]["accuracy"] > 0.95
    assert epochs[-1]["loss"] < 0.1 * epochs[0]["loss"]
    assert summary["device_reason"] and set(summary["versions"]) == {"vkml", "numpy", "python"}


def test_fashion_mnist_is_found_named_and_learnt(tmp_path: Path) -> None:
    if not DEBIAN.is_dir():
        pytest.skip("Debian's package dataset-fashion-mnist is not installed")
    summary = train(tmp_path / "out", "mnist.py", "--device", "cpu", "--compare", "torch")
    assert summary["dataset"] == "Fashion-MNIST"
    (epoch,) = summary["epochs"]
    assert 0.82 < epoch["accuracy"] < 0.87  # PyTorch's reach after one epoch
    assert abs(epoch["accuracy"] - epoch["torch"]["accuracy"]) < 0.005
    assert summary["compare"]["first_loss_difference"] < 1e-6


def test_errors_are_one_line(pictures: Path, tmp_path: Path) -> None:
    def fails(*args: object, code: int = 1) -> str:
        done = run(*QUICK, *args)
        assert done.returncode == code
        assert code == 2 or done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    missing = fails("--data", "/nowhere")
    assert missing.startswith("error: /nowhere: has neither train-images-idx3-ubyte nor")
    fails("--limit", 0, code=2)
    fails("--model", "rnn", code=2)
    assert "no backend is called 'cpuu' (did you mean" in fails("--device", "cpuu")
    resumed = "--data", pictures, "--resume"
    assert "No such file" in fails(*resumed, tmp_path / "absent")
    (tmp_path / "noise").write_bytes(b"noise" * 100)
    assert "noise" in fails(*resumed, tmp_path / "noise")


def test_a_resumed_run_ends_as_an_uninterrupted_one(pictures: Path, tmp_path: Path) -> None:
    args = (*QUICK, "--data", pictures, "--checkpoint", tmp_path / "saved")
    whole = train(tmp_path / "whole", *args, "--epochs", 3)
    train(tmp_path / "part", *args, "--epochs", 1)
    rest = train(tmp_path / "rest", *args, "--epochs", 3, "--resume", tmp_path / "saved")
    assert "after 10 steps" in rest["stdout"]
    assert result(rest) == result(whole)
    done = run(*args, "--epochs", 3, "--resume", tmp_path / "saved", "--batch", 32)
    assert done.returncode == 1
    assert "was made with batch 64, this run has 32" in done.stderr


def test_a_run_killed_inside_an_epoch_is_resumed(pictures: Path, tmp_path: Path) -> None:
    args: tuple[Any, ...] = (*QUICK, "--data", pictures, "--checkpoint", tmp_path / "saved")
    whole = train(tmp_path / "whole", *args, "--epochs", 2)
    (tmp_path / "saved").unlink()
    crash = tmp_path / "sitecustomize.py"
    crash.write_text(CRASHES_AFTER_STEP_14)
    done = run(*args, "--epochs", 2, "--every", 4, PYTHONPATH=str(tmp_path))
    assert done.returncode == 9, done.stderr
    rest = train(tmp_path / "rest", *args, "--epochs", 2, "--resume", tmp_path / "saved")
    assert "after 12 steps" in rest["stdout"]
    assert result(rest) == result(whole)


CRASHES_AFTER_STEP_14 = """
import os
from vkml_optim.optimizer import Optimizer
step, count = Optimizer.step, 0
def crashing(self):
    global count
    count += 1
    if count == 15:
        os._exit(9)
    step(self)
Optimizer.step = crashing
"""


def test_pictures_are_drawn(pictures: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drawn"
    train(tmp_path / "out", *QUICK, "--data", pictures, "--pictures", folder)
    for name in ("loss.png", "confusion.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG"), name
