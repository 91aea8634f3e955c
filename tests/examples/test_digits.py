"""The smallest example: it learns, and its run is the same on every device."""

from pathlib import Path

from support import result, train

from tests.everywhere import devices


def test_digits_are_learnt_as_pytorch_learns_them(tmp_path: Path) -> None:
    summary = train(tmp_path / "out", "digits.py", "--device", "cpu", "--compare", "torch")
    last = summary["epochs"][-1]
    assert summary["samples"] == 1437 and last["accuracy"] > 0.9
    assert abs(last["accuracy"] - last["torch"]["accuracy"]) < 0.01
    assert summary["compare"]["largest_loss_difference"] < 1e-4


def test_the_result_is_the_same_everywhere(tmp_path: Path) -> None:
    args = ("digits.py", "--epochs", 2, "--limit", 320)
    runs = [train(tmp_path / d, *args, "--device", d) for d in devices()]
    runs.append(train(tmp_path / "eager", *args, "--device", "cpu", "--eager"))
    assert result(runs[0]) == result(runs[1]) == result(runs[2])
