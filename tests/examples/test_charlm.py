"""The character model: below its bigram baseline, the same text everywhere, resumable."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import result, run, train

from tests.everywhere import devices

SMALL = ("charlm.py", "--context", 12, "--write", 20)


@pytest.fixture(scope="module")
def verse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text in which longer memory helps: the same words in a fixed order."""
    path = tmp_path_factory.mktemp("text") / "verse.txt"
    path.write_text("one two three four five six seven eight nine ten\n" * 60, encoding="utf-8")
    return path


def test_the_loss_falls_below_the_bigrams_of_the_text(verse: Path, tmp_path: Path) -> None:
    summary = train(tmp_path / "out", *SMALL, "--text", verse, "--device", "cpu", "--epochs", 3)
    last = summary["epochs"][-1]
    assert last["loss"] < summary["baseline"]
    assert last["held_out_loss"] < summary["held_out_baseline"]
    assert len(summary["prompt"]) == 12 and len(summary["wrote"]) == 20


def test_it_follows_pytorch(verse: Path, tmp_path: Path) -> None:
    args = (*SMALL, "--text", verse, "--device", "cpu", "--limit", 320, "--compare", "torch")
    compare = train(tmp_path / "out", *args, "--epochs", 1)["compare"]
    assert compare["steps"] == 20 and compare["first_loss_difference"] < 1e-5
    assert compare["largest_loss_difference"] < 1e-3


def test_run_and_text_are_the_same_everywhere(verse: Path, tmp_path: Path) -> None:
    args = (*SMALL, "--text", verse, "--limit", 64, "--epochs", 1)
    cpu, vulkan = (train(tmp_path / d, *args, "--device", d) for d in devices())
    assert result(cpu) == result(vulkan) and cpu["wrote"]


def test_a_resumed_run_writes_the_same_text(verse: Path, tmp_path: Path) -> None:
    args = (*SMALL, "--text", verse, "--device", "cpu", "--limit", 64)
    args += ("--checkpoint", tmp_path / "saved")
    whole = train(tmp_path / "whole", *args, "--epochs", 2)
    train(tmp_path / "part", *args, "--epochs", 1, "--write", 0)
    rest = train(tmp_path / "rest", *args, "--epochs", 2, "--resume", tmp_path / "saved")
    assert result(rest) == result(whole)


def test_a_text_that_is_too_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("short")
    done = run(*SMALL, "--text", tmp_path / "short.txt", "--device", "cpu")
    assert done.returncode == 1
    assert done.stderr == "error: short.txt: is too short for --context 12\n"
