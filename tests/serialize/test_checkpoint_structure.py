"""What goes in comes out: structures, keys, numbers, shared tensors; and what is refused."""

from __future__ import annotations

import math
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

import vkml
from tests.serialize.files import same

ODD_NAN = struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]


def round_trip(obj: Any, folder: Path) -> Any:
    vkml.save(obj, folder / "x.safetensors")
    return vkml.load(folder / "x.safetensors")


keys = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.sampled_from([np.float32, np.float64, np.uint8, np.int64, np.bool_]).map(
        lambda t: np.arange(3).astype(t)
    ),
    st.sampled_from(["float32", "float16", "int32", "int64", "bool_"]).map(
        lambda t: vkml.ones((2, 1), dtype=t)
    ),
)
objects = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
    ),
    max_leaves=8,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(objects)
def test_any_structure_survives(tmp_path: Path, obj: Any) -> None:
    assert same(round_trip(obj, tmp_path), obj)


@pytest.mark.parametrize(
    "value",
    [
        -0.0,
        5e-324,
        1.7976931348623157e308,
        math.inf,
        -math.inf,
        math.nan,
        -math.nan,
        ODD_NAN,
        2**53,
        -(2**53),
        2**53 - 1,
        -(2**64) - 1,
        10**6000,
        True,
        "",
        "\udc80\0\U0001f600",
        {10**6000: 1, (10**6000,): 2},
        {1: 2, "1": 3, (1, "a", (None,)): 4, None: 5, 1.5: 6, -0.0: 7},
        {"dict": 1, "tensor": "w", "vkml": {"tuple": []}},
        [[], (), {}, ((),)],
        [{}, {"": {"": 0}}],
    ],
    ids=lambda v: type(v).__name__,
)
def test_plain_values(value: Any, tmp_path: Path) -> None:
    assert same(round_trip(value, tmp_path), value)
    assert same(round_trip({"x": (value, [value])}, tmp_path), {"x": (value, [value])})


def test_a_mapping_of_tensors_is_a_plain_file_and_keeps_its_order(tmp_path: Path) -> None:
    state = OrderedDict(b=vkml.ones(2), a=vkml.zeros((2, 3)), **{"c.0.weight": vkml.eye(2)})
    path = tmp_path / "x.safetensors"
    vkml.save(state, path)
    seen = load_file(path)
    assert seen.keys() == state.keys()
    for name, t in state.items():
        assert same(seen[name], t.numpy())
    assert list(vkml.load(path)) == ["b", "a", "c.0.weight"]


def test_names_are_readable_and_unique(tmp_path: Path) -> None:
    x = [vkml.full((), float(i)) for i in range(7)]
    obj = {
        "model": {"fc.weight": x[0]},
        "optimizer": {"state": {0: {"buffer": x[1]}, "0": {"buffer": x[2]}}},
        "model.fc": {"weight": x[3]},
        "__metadata__": x[4],
        "\udc80": x[5],
        ("a", 1): [x[6]],
    }
    path = tmp_path / "x.safetensors"
    vkml.save(obj, path)
    assert {k: int(v) for k, v in load_file(path).items()} == {
        "model.fc.weight": 0,
        "optimizer.state.0.buffer": 1,
        "optimizer.state.0.buffer~2": 2,
        "model.fc.weight~2": 3,
        "__metadata__~2": 4,
        "?": 5,
        "('a', 1).0": 6,
    }
    assert same(vkml.load(path), obj)
    for root, name in ((x[0], "tensor"), (np.zeros(2), "array")):
        vkml.save(root, path)
        assert list(load_file(path)) == [name]
        assert same(vkml.load(path), root)
    vkml.save({"": x[0], "a": {"": x[1]}}, path)
    assert sorted(load_file(path)) == ["", "a."]


def test_one_tensor_in_many_places_is_stored_once_and_is_one_again(tmp_path: Path) -> None:
    t, a = vkml.ones(1000), np.zeros(1000)
    obj = {"x": t, "y": [t, (t,)], "a": a, "b": {0: a}, "other": vkml.ones(1000)}
    loaded = round_trip(obj, tmp_path)
    assert loaded["x"] is loaded["y"][0] is loaded["y"][1][0] is not loaded["other"]
    assert loaded["a"] is loaded["b"][0]
    assert (tmp_path / "x.safetensors").stat().st_size < 18_000
    assert list(load_file(tmp_path / "x.safetensors")) == ["a", "other", "x"]


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    obj = {"b": vkml.arange(3), "a": [vkml.ones(2), 1.5, {"k": (1, 2)}]}
    files = [tmp_path / str(i) for i in range(4)]
    for path in files:
        vkml.save(obj, path, metadata={"epoch": 3, "loss": [0.5, 0.25]})
    assert len({path.read_bytes() for path in files}) == 1


class Odd(list):  # type: ignore[type-arg]
    """A list of a type of its own."""


@pytest.mark.parametrize(
    ("obj", "where"),
    [
        ({1, 2}, "obj: a set"),
        ({"a": [1, {"b": {3}}]}, "obj['a'][1]['b']: a set"),
        ({"a": (object(),)}, "obj['a'][0]: a object"),
        ({"f": print}, "obj['f']: a builtin"),
        ([1, b"x"], "obj[1]: a bytes"),
        ([1j], "obj[0]: a complex"),
        ({"x": np.float64(1)}, "obj['x']: a float64"),
        ({"x": np.int64(1)}, "use .item()"),
        ([vkml.nn.ReLU()], "obj[0]: a ReLU"),
        ([vkml.nn.ReLU()], "use its state_dict()"),
        ({np.int64(1): 2}, "the key"),
        ({(1, frozenset()): 2}, "the key"),
        ({frozenset(): 2}, "the key"),
        ([Odd()], "obj[0]: a Odd"),
        ({"d": vkml.float32}, "obj['d']: a DType"),
        ({"d": vkml.device("cpu")}, "obj['d']: a device"),
        ({"x": np.zeros(2, np.complex64)}, "obj['x']: an array of complex64"),
        ({"x": np.array([None])}, "obj['x']: an array of object"),
        ({"x": np.array(["s"])}, "obj['x']: an array of <U1"),
        ({"x": np.ma.masked_array([1], [True])}, "obj['x']: a MaskedArray"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_cannot_be_saved_is_named(obj: Any, where: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    vkml.save({"old": vkml.ones(1)}, path)
    before = path.read_bytes()
    with pytest.raises(TypeError) as caught:
        vkml.save(obj, path)
    assert where in str(caught.value) and isinstance(caught.value, vkml.Error)
    assert path.read_bytes() == before and len([*tmp_path.iterdir()]) == 1


def test_cycles_and_depth_are_refused(tmp_path: Path) -> None:
    a: list[Any] = []
    a.append({"x": (a,)})
    with pytest.raises(vkml.ArgumentError, match=r"obj\[0\]\['x'\]\[0\] contains itself"):
        vkml.save(a, tmp_path / "x")
    twice = [1]
    assert round_trip([twice, twice], tmp_path) == [[1], [1]]
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert round_trip(deep, tmp_path) == deep
    with pytest.raises(vkml.ArgumentError, match="deeper than 100"):
        vkml.save((deep,), tmp_path / "x")


def test_metadata(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    given = {"z": "text", "format": "pt", "epoch": 3, "best": (0.5, math.inf), "\udc80": "x"}
    vkml.save({"w": vkml.ones(1)}, path, metadata=given)
    assert vkml.Checkpoint.read_metadata(path) == given
    assert list(vkml.Checkpoint.read_metadata(path)) == list(given)
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        plain = file.metadata()
    assert {k: v for k, v in plain.items() if k != "vkml"} == {"z": "text", "format": "pt"}
    loaded = vkml.Checkpoint.load(path)
    assert (loaded.metadata, loaded.version) == (given, 1) and list(loaded.tensors) == ["w"]
    loaded.metadata = {}
    loaded.save(path)
    assert vkml.Checkpoint.read_metadata(path) == {}
    for bad in ({"vkml": "1"}, {"t": vkml.ones(1)}, {"t": np.ones(1)}, {1: 2}, [], {"s": {1}}):
        with pytest.raises((vkml.ArgumentError, vkml.ArgumentTypeError), match="metadata"):
            vkml.save({}, path, metadata=bad)  # type: ignore[arg-type]
    vkml.save({}, path)
    assert vkml.load(path) == {}


def test_a_structure_too_long_for_the_format(tmp_path: Path) -> None:
    with pytest.raises(vkml.ArgumentError, match=r"header too large; put long lists into arrays"):
        vkml.save(["x" * 100_000_000], tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
