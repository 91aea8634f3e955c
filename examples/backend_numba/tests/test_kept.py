"""Compiled functions on disk: loaded again; damage, a folder that is none and Ctrl-C do no harm."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba.core import types

import vkml_backend_numba
from vkml_backend_numba import kept
from vkml_backend_numba.compiling import Separate

ADD = types.int64(types.int64, types.int64)
DIGEST = hashlib.sha256().digest_size


def three_times(a, b):
    return 3 * a + b


def works() -> None:
    """Compile or load the function and call it."""
    address = Separate(three_times, ADD).address
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)(5, 7) == 22


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "folder", lambda: tmp_path / "kept")
    return tmp_path / "kept"


@pytest.fixture
def file(folder: Path) -> Path:
    """The file of a function that was compiled."""
    works()
    (found,) = folder.iterdir()
    return found


def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_(self):
        raise AssertionError("it was not loaded")

    monkeypatch.setattr("numba.core.ccallback.CFunc._compile_uncached", compile_)


def test_it_is_loaded_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_compiler(monkeypatch)
    works()
    file.unlink()
    with pytest.raises(AssertionError, match="not loaded"):
        works()


@pytest.mark.parametrize("where", [0, DIGEST, DIGEST + 5, -1])
def test_a_flipped_bit_is_seen(where: int, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[where] ^= 1
    file.write_bytes(flipped)
    works()
    no_compiler(monkeypatch)
    works()


@pytest.mark.parametrize("left", [0, 1, DIGEST, DIGEST + 1, -1])
def test_a_file_that_ends_early_is_seen(left: int, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:left])
    works()
    assert len(file.read_bytes()) > DIGEST + 1


def test_a_folder_in_place_of_the_file(file: Path) -> None:
    file.unlink()
    (file / "full").mkdir(parents=True)
    works()
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_cannot_be(folder: Path) -> None:
    folder.write_text("a file")
    works()
    assert folder.read_text() == "a file"


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    works()
    assert list(folder.iterdir()) == []


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("VKML_NUMBA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    place = kept.folder.__wrapped__()
    assert place.is_relative_to(os.devnull)
    monkeypatch.setattr(kept, "folder", lambda: place)
    works()


def test_the_folder_is_named_by_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel, and the oracle's constants that are compiled into them."""
    read, seen = Path.read_bytes, []
    monkeypatch.setattr(Path, "read_bytes", lambda self: seen.append(self) or read(self))
    name = kept.folder.__wrapped__().name
    assert {"tile.py", "compiling.py", "kept.py", "erfc_table.py"} <= {path.name for path in seen}
    tile = next(path for path in seen if path.name == "tile.py")
    monkeypatch.setattr(Path, "read_bytes", lambda self: read(self) + b"#" * (self == tile))
    assert kept.folder.__wrapped__().name != name


PROGRAM = """
import vkml
from vkml_core.plugins import register_backend, sources
from vkml_backend_numba.backend import backend
if "numba" not in sources():
    register_backend(backend)
make = lambda: (vkml.tensor([1.0, 2.0], device="numba") * 3.0 - 1.0).numpy().tolist()
try:
    make()
    print("went on")
except KeyboardInterrupt:
    print("interrupted", make())
"""


def test_interrupting_a_compilation_breaks_nothing(tmp_path: Path) -> None:
    """Ctrl-C comes when the first function is kept; the rest is then compiled as if nothing was."""
    here = str(Path(vkml_backend_numba.__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "VKML_NUMBA_CACHE": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + 120
        while not list(tmp_path.glob("*/*")) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=200)
    assert (process.returncode, said) == (0, "interrupted [2.0, 5.0]\n")
    (folder,) = tmp_path.iterdir()
    files = [file.read_bytes() for file in folder.iterdir()]
    assert len(files) == 4  # the chain, two loops, the machine
    for data in files:
        assert hashlib.sha256(data[DIGEST:]).digest() == data[:DIGEST]
