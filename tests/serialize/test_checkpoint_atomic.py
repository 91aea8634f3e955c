"""A path stands for the old file or the new one: kills, failures of every call, links, modes."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.numpy

import vkml
from tests.serialize.kills import CALLS


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("mode", ["random", "boundaries", "sizes"])
def test_a_killed_writer_leaves_the_old_or_the_new_file(mode: str, tmp_path: Path) -> None:
    script = Path(__file__).parent / "kills.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", script, mode, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


class Fault:
    """Raises an error at one call of the system or the library, before or after it is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException) -> None:
        self.left, self.error, self.raised_at = number, error, ""
        for owner, names in ((os, CALLS), (safetensors.numpy, ("save_file",))):
            for name in names:
                monkeypatch.setattr(owner, name, self.watched(name, getattr(owner, name)))

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.boundary(f"before {name}")
            result = function(*args, **kwargs)
            self.boundary(f"after {name}")
            return result

        return call

    def boundary(self, where: str) -> None:
        self.left -= 1
        if self.left == -1:
            self.raised_at = where
            raise self.error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=repr)
def test_every_failure_leaves_one_whole_file_and_nothing_else(
    error: BaseException, tmp_path: Path
) -> None:
    path, number, places = tmp_path / "x", 0, []
    while True:
        vkml.save([0], path)
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(patch, number, error)
            try:
                vkml.save([1], path)
            except type(error) as caught:
                assert caught is error
        if not fault.raised_at:
            break
        replaced = "after replace" in places
        places.append(fault.raised_at)
        assert [p.name for p in tmp_path.iterdir()] == ["x"], fault.raised_at
        assert vkml.load(path) == [int(replaced or fault.raised_at == "after replace")], places
        number += 1
    assert number > 20 and {"before save_file", "after fsync", "before chmod"} < {*places}


def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, seen = tmp_path / "x", os.fsync, []

    def fsync(opened: int) -> None:
        found = os.fstat(opened)
        seen.append((found.st_ino, path.exists(), found.st_size))
        real(opened)

    monkeypatch.setattr(os, "fsync", fsync)
    vkml.save({"w": vkml.ones(3)}, path)
    file, folder = path.stat(), tmp_path.stat()
    assert [s[:2] for s in seen] == [(file.st_ino, False), (folder.st_ino, True)]
    assert seen[0][2] == file.st_size


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_permissions(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for mask in (0o022, 0o077, 0o002, 0o277):
        before = os.umask(mask)
        try:
            vkml.save([1], path)
            (tmp_path / "plain").write_text("")
        finally:
            os.umask(before)
        assert mode(path) == mode(tmp_path / "plain") == 0o666 & ~mask
        for p in (path, tmp_path / "plain"):
            p.unlink()
    for kept in (0o600, 0o640, 0o664, 0o755, 0o200):
        vkml.save([1], path)
        path.chmod(kept)
        vkml.save([2], path)
        assert mode(path) == kept
    path.chmod(0o644)
    assert vkml.load(path) == [2]


def test_links(tmp_path: Path) -> None:
    folder, other = tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    other.mkdir()
    target, link, twice = folder / "x", other / "link", other / "twice"
    link.symlink_to(Path("..", "a", "x"))
    twice.symlink_to(link)
    vkml.save([1], twice)  # the target is not there yet
    assert twice.is_symlink() and link.is_symlink() and not target.is_symlink()
    assert vkml.load(target) == [1]
    hard = folder / "hard"
    hard.hardlink_to(target)
    vkml.save([2], link)
    assert link.is_symlink() and vkml.load(link) == vkml.load(target) == [2]
    assert vkml.load(hard) == [1]
    assert {p.name for p in folder.iterdir()} == {"x", "hard"}
    assert {p.name for p in other.iterdir()} == {"link", "twice"}


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"\xff \n")
    for path in ("x", Path("y"), os.fsencode("z"), "n" * 255, odd):
        vkml.save({"p": 1}, path)  # type: ignore[arg-type]
        assert vkml.load(path) == {"p": 1}  # type: ignore[arg-type]
    assert {p.name for p in tmp_path.iterdir()} == {"x", "y", "z", "n" * 255, odd}


def test_what_is_no_place_for_a_file(tmp_path: Path) -> None:
    file, loop, pipe = tmp_path / "file", tmp_path / "loop", tmp_path / "pipe"
    file.write_bytes(b"old")
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    for path, kind in (
        (tmp_path, IsADirectoryError),
        (tmp_path / "none" / "x", FileNotFoundError),
        (file / "x", NotADirectoryError),
        (loop, OSError),
        (tmp_path / ("n" * 256), OSError),
        (pipe, vkml.ArgumentError),
        (Path("/dev/null"), vkml.ArgumentError),
    ):
        with pytest.raises(kind):
            vkml.save([1], path)
    for path in (3, None, io.BytesIO()):
        with pytest.raises(vkml.ArgumentTypeError, match="save: path: expected a path"):
            vkml.save([1], path)  # type: ignore[arg-type]
    assert {p.name for p in tmp_path.iterdir()} == {"file", "loop", "pipe"}
    assert file.read_bytes() == b"old" and loop.is_symlink() and pipe.is_fifo()


def test_a_library_that_hides_a_failure_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "x", safetensors.numpy.save_file

    def cut(arrays: Any, name: Path, **options: Any) -> None:
        real(arrays, name, **options)
        os.truncate(name, name.stat().st_size - 1)

    vkml.save({"w": vkml.ones(3)}, path)
    before = path.read_bytes()
    monkeypatch.setattr(safetensors.numpy, "save_file", cut)
    with pytest.raises(vkml.CheckpointError, match="not whole: the tensors take 12 bytes"):
        vkml.save({"w": vkml.zeros(3)}, path)
    assert path.read_bytes() == before and len([*tmp_path.iterdir()]) == 1


def test_threads_that_save_to_one_path(tmp_path: Path) -> None:
    path = tmp_path / "x"
    written = [{"n": i, "w": [i] * 1000} for i in range(4)]
    threads = [
        threading.Thread(target=lambda obj=obj: [vkml.save(obj, path) for _ in range(10)])
        for obj in written
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert vkml.load(path) in written and len([*tmp_path.iterdir()]) == 1
