"""The reader of pickles: the same as Python's for data, and nothing is run whatever they hold."""

from __future__ import annotations

import contextlib
import copyreg
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.data.archives import Python2Pickler
from tests.data.hostile import EXECUTED, WASTEFUL, plainly, text, touch, whole
from vkml.data import DataError
from vkml.data.pickled import NAMES
from vkml.data.unpickle import load

ROOT = Path(__file__).parents[2]


def test_the_hostile_files_work(tmp_path: Path) -> None:
    """They are run by Python's own reader, in a process of their own: each leaves its mark."""
    program = (
        "import sys, pathlib\n"
        "from tests.data.hostile import EXECUTED, plainly\n"
        "for i, make in enumerate(EXECUTED.values()):\n"
        "    plainly(make(str(pathlib.Path(sys.argv[1]) / str(i))))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {path.name for path in tmp_path.iterdir()}
    assert {n for i, n in enumerate(EXECUTED) if str(i) not in found} == set()


@pytest.mark.parametrize("trick", EXECUTED)
def test_nothing_is_run(tmp_path: Path, trick: str) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(DataError, match=r"^file: at byte "):
        load(EXECUTED[trick](str(marker)), "file")
    assert not marker.exists()


@pytest.mark.parametrize("trick", WASTEFUL)
def test_nothing_but_data_is_read(trick: str) -> None:
    data, message = WASTEFUL[trick]
    start = time.monotonic()
    with pytest.raises(DataError, match=f"^file: at byte [0-9,]+: .*{message}"):
        load(data, "file")
    assert time.monotonic() - start < 5
    assert "antigravity" not in sys.modules and "encodings.antigravity" not in sys.modules


def test_the_extension_registry_is_not_asked(tmp_path: Path) -> None:
    copyreg.add_extension("os", "system", 240)
    try:
        marker = tmp_path / "marker"
        data = whole(b"\x82\xf0" + text(touch(str(marker))) + b"\x85R")
        with pytest.raises(DataError, match="instruction"):
            load(data, "file")
        assert not marker.exists()
        plainly(data)
        assert marker.exists()
    finally:
        copyreg.remove_extension("os", "system", 240)


def test_no_function_of_numpy_or_of_the_importer_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {n: pickle.dumps({b"data": np.arange(6, dtype=np.uint8)}, n) for n in (2, 3, 4)}

    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(args)

    with monkeypatch.context() as patch:
        patch.setattr(np._core.multiarray, "_reconstruct", never)
        patch.setattr("builtins.__import__", never)
        found = [load(content, "file") for content in data.values()]
    assert [f[b"data"].tolist() for f in found] == [[0, 1, 2, 3, 4, 5]] * 3


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    return bool(type(one) is type(other) and one == other)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
LEAVES = st.one_of(st.integers(-(2**63), 2**63 - 1), st.binary(min_size=1, max_size=300), TEXTS)
ARRAYS = hnp.arrays(
    st.sampled_from(["u1", "<i2", ">i4", "i8", "f4", ">f8"]),
    hnp.array_shapes(max_dims=3, min_side=0),
)
FILES = st.dictionaries(
    st.one_of(st.binary(min_size=1, max_size=9), TEXTS),
    st.one_of(LEAVES, st.lists(LEAVES, max_size=9), ARRAYS.map(np.asfortranarray), ARRAYS),
    max_size=6,
)


@given(FILES, st.sampled_from([2, 3, 4]))
@example({b"a": list(range(3000)), b"b": [b"x" * 256] * 3}, 2)
def test_data_is_read_as_python_reads_it(value: dict[Any, Any], protocol: int) -> None:
    if protocol == 2:  # Python 3 writes b"" as a call of bytes then
        value = {k: v for k, v in value.items() if not isinstance(v, np.ndarray) or v.size}
    data = pickle.dumps(value, protocol)
    assert same(load(data, "file"), pickle.loads(data, encoding="bytes"))


@given(
    st.dictionaries(
        st.binary(max_size=9),
        st.one_of(
            st.integers(-(2**31), 2**31 - 1),
            st.binary(max_size=300),
            st.lists(st.integers(0, 70_000), max_size=5),
            hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, min_side=0)),
        ),
        max_size=5,
    )
)
@example({b"a": list(range(2001)), b"b": [b"x" * 256] * 300})
def test_what_python_2_writes_is_read(value: dict[bytes, Any]) -> None:
    data = Python2Pickler().pickle(value)
    assert same(pickle.loads(data, encoding="bytes"), value)
    assert same(load(data, "file"), value)


def check(found: Any) -> None:
    """Fail unless it is data of the allowed types."""
    for value in found.values() if type(found) is dict else [found]:
        assert type(value) in (int, bytes, str, list, np.ndarray)
        if type(value) is list:
            assert all(type(v) in (int, bytes, str) for v in value)
        if type(value) is np.ndarray:
            assert value.dtype.kind in "uif"


SEEDS = [
    Python2Pickler().pickle({b"data": np.arange(12, dtype=np.uint8).reshape(3, 4), b"l": [1, 300]}),
    *(pickle.dumps({b"data": np.ones(4, np.uint8), "l": [b"a", 2]}, p) for p in (2, 3, 4)),
]


@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8),
)
def test_changed_bytes_give_data_or_a_clear_error(
    data: bytes, changes: list[tuple[int, int]]
) -> None:
    changed = bytearray(data)
    for at, value in changes:
        changed[at % len(changed)] = value
    try:
        check(load(changed, "file"))
    except DataError as error:
        assert str(error).startswith("file: at byte ")


INSTRUCTIONS = st.sampled_from(
    [
        *(bytes([code]) for code in b"(])}easutRbN\x85\x86\x87\x89\x93\x94"),
        *(b"K\1", b"U\1a", b"U\2u1", b"X\1\0\0\0a", b"q\0", b"h\0", b"q\1", b"h\1"),
        *(f"c{m}\n{n}\n".encode() for m, n in NAMES),
    ]
)


@given(st.lists(INSTRUCTIONS, max_size=40))
def test_any_program_gives_data_or_a_clear_error(program: list[bytes]) -> None:
    with contextlib.suppress(DataError):
        check(load(whole(b"".join(program)), "file"))


@given(st.binary(max_size=200))
def test_any_bytes_give_data_or_a_clear_error(data: bytes) -> None:
    for content in (data, b"\x80\x02" + data):
        with contextlib.suppress(DataError):
            check(load(content, "file"))


def test_errors_do_not_print_what_is_in_the_file() -> None:
    name = "\x1b[31m" + "x" * 5000
    with pytest.raises(DataError) as caught:
        load(whole(text(name) + text("y") + b"\x93", 4), "file")
    assert "\x1b" not in str(caught.value) and len(str(caught.value)) < 250
    assert os.linesep not in str(caught.value)
