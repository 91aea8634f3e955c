"""Files that are cut, lie or cannot be opened: what is wrong is said, and little memory taken."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import vkml
from tests.serialize.files import F32, build, memory_below


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", "0 bytes are too few"),
        (b"1234567", "7 bytes are too few"),
        (b"PK\3\4" + b"\0" * 40, "cut short or not a safetensors file"),
        (build({}, length=10**12), "should have 1000000000000 bytes"),
        (build({}, length=2**64 - 1), "should have 18446744073709551615 bytes"),
        (build({}, length=3), "cut short"),
        (build(b"{"), "the header is not JSON"),
        (build(b"\xff{}"), "the header is not JSON"),
        (build(b"[]"), "not a JSON object"),
        (build(b"[" * 100_000), "nested too deeply"),
        (build(b'{"a":' * 100_000), "nested too deeply"),
        (build(b'{"a": NaN}'), "NaN is not a number"),
        (build(b'{"a": 1' + b"0" * 5000 + b"}"), "not JSON"),
        (build(b'{"a": {}, "a": {}}'), "the name 'a' is there twice"),
        (build(b'{"a":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}}'), "twice"),
        (build(b'{"\\ud800": {}}'), "not Unicode"),
        (build({"__metadata__": []}), "__metadata__ does not map"),
        (build({"__metadata__": {"a": 1}}), "__metadata__ does not map"),
        (build({"a": 1}), "'a' lacks a dtype"),
        (build({"a": {"dtype": "F32", "shape": [1]}}), "'a' lacks"),
        (build({"a": {**F32, "dtype": 4}}, b"1234"), "'a' lacks"),
        (build({"a": {**F32, "dtype": "F33"}}, b"1234"), "'a' has dtype 'F33'"),
        (build({"a": {**F32, "shape": 1}}, b"1234"), "'a': shape is not a list of sizes"),
        (build({"a": {**F32, "shape": [True]}}, b"1234"), "'a': shape is not"),
        (build({"a": {**F32, "shape": [1.0]}}, b"1234"), "'a': shape is not"),
        (build({"a": {**F32, "shape": [-1]}}, b"1234"), "'a': shape is not"),
        (build({"a": {**F32, "shape": [2]}}, b"1234"), "takes 8 bytes, but its data_offsets"),
        (build({"a": {**F32, "shape": [1] * 65}}, b"1234"), "NumPy cannot have"),
        (build({"a": {**F32, "data_offsets": [0]}}, b"1234"), "takes 4 bytes"),
        (build({"a": {**F32, "data_offsets": [4, 0]}}, b"1234"), "takes 4 bytes"),
        (build({"a": {**F32, "data_offsets": [0, 10**12]}}, b"1234"), "takes 4 bytes"),
        (
            build({"a": F32, "b": F32}, b"1234"),
            "'b' overlaps the tensor before it: it begins at 0, not 4",
        ),
        (
            build({"a": {**F32, "data_offsets": [4, 8]}}, b"12345678"),
            "'a' follows a gap: it begins at 4, not 0",
        ),
        (build({"a": F32}, b"12345"), "the tensors take 4 bytes, the file has 5"),
        (build({"a": F32}, b"123"), "the tensors take 4 bytes, the file has 3"),
        (
            build({"a": {**F32, "shape": [10**12], "data_offsets": [0, 4 * 10**12]}}),
            "the file has 0",
        ),
    ],
    ids=lambda v: v[:25] if isinstance(v, str) else "",
)
def test_what_is_wrong_is_said(content: bytes, wanted: str, path: Path) -> None:
    path.write_bytes(content)
    with (
        memory_below(3 * len(content) + 400_000),
        pytest.raises(vkml.CheckpointError, match=wanted) as caught,
    ):
        vkml.load(path)
    assert str(caught.value).startswith(f"{path}: ") and isinstance(caught.value, ValueError)


def test_a_sparse_file_is_not_taken_into_memory(path: Path) -> None:
    for header in (
        {"a": F32},
        {"a": {**F32, "shape": [2**36], "data_offsets": [0, 2**38]}, "b": F32},
    ):
        path.write_bytes(build(header))
        os.truncate(path, 2**38)
        with memory_below(400_000), pytest.raises(vkml.CheckpointError, match=r"begins|takes? 4"):
            vkml.load(path)


def test_what_the_system_refuses_is_its_error(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_bytes(b"")
    folder.mkdir()
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for read in (vkml.load, vkml.Checkpoint.load, vkml.Checkpoint.read_metadata):
        for path, kind in (
            (tmp_path / "none", FileNotFoundError),
            (folder, IsADirectoryError),
            (file / "x", NotADirectoryError),
            (loop, OSError),
        ):
            with pytest.raises(kind) as caught:
                read(path)
            assert str(path) in str(caught.value)
        with pytest.raises(vkml.ArgumentTypeError, match="expected a path, got int"):
            read(3)  # type: ignore[arg-type]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for special in (pipe, Path("/dev/zero")):
        with pytest.raises(vkml.CheckpointError, match="not a regular file"):
            vkml.load(special)


def test_no_permission() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "x")
        vkml.save([1], path)
        path.chmod(0)
        Path(folder).chmod(0o777)
        with as_nobody():
            for call in (lambda: vkml.load(path), lambda: vkml.save([2], path)):
                with pytest.raises(PermissionError) as caught:
                    call()
                assert str(path) in str(caught.value)
            vkml.save([3], Path(folder, "y"))
            Path(folder, "y").chmod(0o444)
            with pytest.raises(PermissionError):
                vkml.save([4], Path(folder, "y"))
        Path(folder).chmod(0o755)
        with as_nobody(), pytest.raises(PermissionError):
            vkml.save([5], Path(folder, "z"))
        assert (vkml.load(path), vkml.load(Path(folder, "y"))) == ([1], [3])
        assert len([*Path(folder).iterdir()]) == 2


@contextmanager
def as_nobody() -> Iterator[None]:
    """Act as a user without rights; root is asked for nothing otherwise."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_an_unknown_device_is_told_first(path: Path) -> None:
    with pytest.raises(vkml.DeviceError):
        vkml.load(path, device="nowhere")
