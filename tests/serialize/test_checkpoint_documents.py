"""Entries of vkml in a header that lie about what is in the file."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

import vkml
from tests.serialize.files import NONE, SUMS, build, document, loads, same


def test_a_right_document_is_read(path: Path) -> None:
    found = loads(document([[{"tensor": "w"}, {"array": "w"}], NONE, SUMS]), path)
    assert same(found, [vkml.ones(1), np.ones(1, np.float32)])


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (document([[], NONE, SUMS], version=2), "version 2 of the format, this vkml reads up to 1"),
        (document([[], NONE, SUMS], version=10**9, crc="?"), "update vkml"),
        (document([[], NONE, SUMS], version=0), "no version"),
        (document([[], NONE, SUMS], version=True), "no version"),
        (document([[], NONE, SUMS], version="1"), "no version"),
        (document([[], NONE, SUMS], crc="00000000"), "is damaged"),
        (document([[], NONE, []]), "is damaged"),
        (document([[], NONE, {}]), "not those that its structure names"),
        (document([[], NONE, {"v": ""}]), "not those"),
        (document([[{"tensor": "w"}], NONE, {"w": "00000000"}]), "'w' is damaged"),
        (document([[{"tensor": "w"}], NONE, {"w": 3}]), "'w' is damaged"),
        (document([[{"tensor": "v"}], NONE, SUMS]), "names a tensor 'v' that is not there"),
        (document([[{"array": "v"}], NONE, SUMS]), "names a tensor 'v' that is not there"),
        (document([[{"tensor": 3}], NONE, SUMS]), "names a tensor 3"),
        (document([[{"set": []}], NONE, SUMS]), "unknown type 'set'"),
        (document([[{}], NONE, SUMS]), "unknown type ''"),
        (document([[{"list": [], "tuple": []}], NONE, SUMS]), "unknown type 'list, tuple'"),
        (document([[{"tuple": 1}], NONE, SUMS]), "a sequence that is not a list"),
        (document([[{"dict": {}}], NONE, SUMS]), "not a list of pairs"),
        (document([[{"dict": [[1]]}], NONE, SUMS]), "not a list of pairs"),
        (document([[{"dict": [1]}], NONE, SUMS]), "not a list"),
        (document([[{"dict": [[[], 1]]}], NONE, SUMS]), "wrong key"),
        (document([[{"dict": [["a", 1], ["a", 1]]}], NONE, SUMS]), "a key twice"),
        (document([[{"int": "12"}], NONE, SUMS]), "wrong int"),
        (document([[{"int": 12}], NONE, SUMS]), "wrong int"),
        (document([[{"float": "nan"}], NONE, SUMS]), "wrong float"),
        (document([[], [], SUMS]), "metadata is not a dict"),
        (document([[], {"dict": [["a", {"tensor": "w"}]]}, SUMS]), "its metadata names a tensor"),
        (build({"__metadata__": {"vkml": "{"}}), "the entry 'vkml' of the header is not JSON"),
        (build({"__metadata__": {"vkml": "[]"}}), "no version"),
        (build({"__metadata__": {"vkmm": '{"vkml":1}'}}), "the entry 'vkml' .* is damaged"),
    ],
    ids=lambda v: v[:25] if isinstance(v, str) else "",
)
def test_documents_that_lie(content: bytes, wanted: str, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(vkml.CheckpointError, match=wanted) as caught:
        vkml.load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("depth", [200, 5000, 200_000])
def test_deep_documents(depth: int, path: Path) -> None:
    text = f"[{'[' * depth}{']' * depth},null,{{}}]"
    crc = f"{zlib.crc32(text.encode()):08x}"
    entry = f'{{"vkml":1,"crc32":"{crc}","content":{text[1:-9]},"metadata":null,"checksums":{{}}}}'
    path.write_bytes(build({"__metadata__": {"vkml": entry}}))
    with pytest.raises(vkml.CheckpointError, match=r"nested|metadata"):
        vkml.load(path)
