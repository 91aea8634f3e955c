"""Files with random damage: a CheckpointError or what was saved, never anything else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from safetensors import deserialize
from safetensors.numpy import save_file

import vkml
from tests.serialize.files import F32, NONE, SUMS, build, document, loads, same
from vkml.serialize.formats import FORMATS

OBJ = {"w": vkml.tensor([[1.5, -2.0], [0.0, 3.0]]), "n": [np.arange(3, dtype=np.uint8), (1, None)]}
FUZZ = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("ours") / "x"
    vkml.save(OBJ, path, metadata={"epoch": 3, "note": "text"})
    return path.read_bytes()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("plain") / "x"
    rng = np.random.default_rng(0)
    arrays = {f"{d}.x": rng.integers(0, 2, (3, 2)).astype(d) for d in ("f4", "f2", "i8", "?", "u1")}
    save_file({**arrays, "empty": np.zeros((0, 2), np.int32)}, path, metadata={"k": "v"})
    return path.read_bytes()


def agrees(content: bytes, path: Path) -> bool:
    """Whether the outcome for a file from elsewhere is an error or what the library finds there."""
    found = loads(content, path)
    if found is None:
        return True
    theirs = dict(deserialize(content))
    if found.keys() != theirs.keys():
        return False
    for name, t in found.items():
        kind = FORMATS[theirs[name]["dtype"]]
        raw = np.frombuffer(theirs[name]["data"], kind.stored).reshape(theirs[name]["shape"])
        if not np.array_equal(t.numpy(), vkml.tensor(kind.tensor_values(raw)).numpy(), True):
            return False
    return True


def test_every_single_bit(ours: bytes, path: Path) -> None:
    loaded = 0
    for i in range(8 * len(ours)):
        content = bytearray(ours)
        content[i // 8] ^= 1 << i % 8
        found = loads(bytes(content), path)
        assert found is None or same(found, OBJ), f"bit {i}"
        loaded += found is not None
    assert loaded < 80, "only bits of the copied text and letters of unused fields may change"


def test_every_length(ours: bytes, plain: bytes, path: Path) -> None:
    for whole in (ours, plain):
        assert all(loads(whole[:n], path) is None for n in range(len(whole)))
        assert loads(whole + b"\0", path) is None
        assert loads(whole, path) is not None


@st.composite
def damaged(draw: st.DrawFn, corpus: list[bytes]) -> bytes:
    """A file with some bits flipped, cut out, moved in or repeated."""
    content = bytearray(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        end = min(len(content), at + draw(st.integers(0, 16)))
        kind = draw(st.sampled_from(["flip", "cut", "splice", "write", "end"]))
        if kind == "flip" and content:
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del content[at:end]
        elif kind == "splice":
            other = draw(st.sampled_from(corpus))
            source = draw(st.integers(0, len(other)))
            content[at:end] = other[source : source + draw(st.integers(0, 64))]
        elif kind == "write":
            content[at:end] = draw(
                st.sampled_from([b"0", b"9", b"null", b"{", b'"', b"-", b"[", b","])
            )
        else:
            del content[at:]
    return bytes(content)


def test_fuzz_of_our_files(ours: bytes, plain: bytes, path: Path) -> None:
    @FUZZ
    @given(damaged([ours, ours, plain]))
    def run(content: bytes) -> None:
        found = loads(content, path)
        assert found is None or same(found, OBJ) or agrees(content, path)
        if b'"vkml"' in content and found is not None:
            assert same(found, OBJ)

    run()


def test_fuzz_of_other_files(plain: bytes, path: Path) -> None:
    @FUZZ
    @given(damaged([plain]))
    def run(content: bytes) -> None:
        assert agrees(content, path)

    run()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
entries = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from([*FORMATS, "F8_E5M2", "C64", "f32", ""]) | json_values,
        "shape": st.lists(st.sampled_from([0, 1, 2, 3, 2**32, 2**63, -1]), max_size=5)
        | json_values,
        "data_offsets": st.lists(st.integers(0, 16), min_size=2, max_size=2) | json_values,
    },
    optional={"more": json_values},
)
headers = st.dictionaries(
    st.text(max_size=3) | st.just("__metadata__"), entries | json_values, max_size=4
)


@FUZZ
@given(headers, st.binary(max_size=16))
@example({"a": {**F32, "shape": [2**62, 4]}}, b"1234")
@example({"a": {**F32, "shape": [0, 2**62], "data_offsets": [0, 0]}}, b"")
def test_fuzz_of_headers(tmp_path: Path, header: object, data: bytes) -> None:
    assert agrees(build(header, data), tmp_path / "x")


@FUZZ
@given(st.binary(max_size=64))
def test_fuzz_of_bytes(tmp_path: Path, content: bytes) -> None:
    assert agrees(content, tmp_path / "x")


def test_fuzz_of_documents(path: Path) -> None:
    @FUZZ
    @given(json_values | st.fixed_dictionaries({"dict": json_values}), json_values)
    def run(content: Any, metadata: Any) -> None:
        for body in ([content, NONE, SUMS], [None, metadata, SUMS]):
            if all(map(finite, body)):
                loads(document(body), path)

    run()


def finite(value: Any) -> bool:
    if isinstance(value, list | dict):
        return all(map(finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)
