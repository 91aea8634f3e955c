"""Pickles that create a file where they are run, each by another trick; and ones that waste."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import pickle
import struct
from collections.abc import Callable
from typing import Any, Final

import numpy as np

Maker = Callable[[str], bytes]


class Calls:
    """Is pickled as the call of a function."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


def touch(marker: str) -> str:
    return f"touch '{marker}'"


def code(marker: str) -> str:
    return f"open({marker!r}, 'w').close()"


def text(value: str) -> bytes:
    """Push a text: protocol 2 has only the long form."""
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def call(module: str, name: str, *args: str) -> bytes:
    """Call with up to three texts, by protocol 2."""
    return named(module, name) + b"(" + b"".join(map(text, args)) + b"tR"


def whole(body: bytes, protocol: int = 2) -> bytes:
    return b"\x80" + bytes([protocol]) + body + b"."


def stacked(module: str, name: str, *args: str) -> bytes:
    return text(module) + text(name) + b"\x93(" + b"".join(map(text, args)) + b"tR"


def replaced_state(marker: str) -> bytes:
    """Give an object a __setstate__ of its own, then a state."""
    made = named("types", "SimpleNamespace") + b")\x81"
    return whole(
        made
        + b"}"
        + text("__setstate__")
        + named("os", "system")
        + b"sb"
        + text(touch(marker))
        + b"b"
    )


def in_state_of_an_array(marker: str) -> bytes:
    """Put a call among what an array is built from."""
    real = pickle.dumps(np.zeros(3, np.uint8), 2)
    at = real.index(b"(K\x01K\x03") + 1
    return real[:at] + call("os", "system", touch(marker)) + b"0" + real[at:]


def object_array(marker: str) -> bytes:
    array = np.empty(1, object)
    array[0] = Calls(os.system, touch(marker))
    return pickle.dumps({b"data": array}, 2)


def _calls(function: Any, argument: Callable[[str], Any], protocol: int) -> Maker:
    return lambda marker: pickle.dumps(Calls(function, *argument(marker)), protocol)


def _within(wrap: Callable[[Any], Any]) -> Maker:
    return lambda marker: pickle.dumps(wrap(Calls(os.system, touch(marker))), 2)


EXECUTED: Final[dict[str, Maker]] = {
    **{
        f"{what} by protocol {protocol}": _calls(function, argument, protocol)
        for protocol in range(6)
        for what, function, argument in (
            ("open", io.open, lambda m: (m, "w")),
            ("system", os.system, lambda m: (touch(m),)),
            ("eval", builtins.eval, lambda m: (code(m),)),
            ("exec", builtins.exec, lambda m: (code(m),)),
        )
    },
    "Python 2's eval": lambda m: whole(call("__builtin__", "eval", code(m))),
    "Python 2's file": lambda m: whole(
        named("__builtin__", "open") + text(m) + text("w") + b"\x86R"
    ),
    "posix": lambda m: whole(call("posix", "system", touch(m))),
    "stack global": lambda m: whole(stacked("os", "system", touch(m)), 4),
    "dotted name": lambda m: whole(stacked("pathlib", "os.system", touch(m)), 4),
    "through NumPy": lambda m: whole(stacked("numpy", "f2py.os.system", touch(m)), 4),
    "NumPy's runstring": lambda m: whole(
        named("numpy.testing._private.utils", "runstring") + text(code(m)) + b"}\x86R"
    ),
    "NumPy's savetxt": lambda m: whole(named("numpy", "savetxt") + text(m) + b"]K\x01a\x86R"),
    "NumPy's memmap": lambda m: whole(
        named("numpy", "memmap") + b"(" + text(m) + text("uint8") + text("w+") + b"K\x00K\x01tR"
    ),
    "instance": lambda m: whole(b"(" + text(touch(m)) + b"ios\nsystem\n"),
    "object": lambda m: whole(b"(" + named("os", "system") + text(touch(m)) + b"o"),
    "new object": lambda m: whole(
        named("numpy", "memmap") + b"(" + text(m) + text("uint8") + text("w+") + b"K\x00K\x01t\x81"
    ),
    "replaced __setstate__": replaced_state,
    "dict value": _within(lambda bad: {b"data": bad}),
    "dict key": lambda m: whole(b"}" + call("os", "system", touch(m)) + b"K\x01s"),
    "list item": _within(lambda bad: {b"fine_labels": [1, bad]}),
    "in a tuple": _within(lambda bad: (b"data", bad)),
    "state of an array": in_state_of_an_array,
    "object array": object_array,
    "dropped": lambda m: whole(call("os", "system", touch(m)) + b"0}"),
    "after a mark": lambda m: whole(b"((" + call("os", "system", touch(m)) + b"1N"),
    "codec": lambda m: whole(
        call("_codecs", "encode", "a", "latin1") + call("os", "system", touch(m))
    ),
    "module run": lambda m: whole(
        named("builtins", "exec")
        + named("builtins", "compile")
        + b"("
        + text(code(m))
        + text("x")
        + text("exec")
        + b"tR\x85R"
    ),
    "functions as values": lambda m: whole(
        named("functools", "partial") + named("os", "system") + text(touch(m)) + b"\x86R" + b")R"
    ),
}
"""By trick, how to make a pickle that creates the file `marker` where Python runs it."""

ARRAY: Final = named("numpy.core.multiarray", "_reconstruct") + named("numpy", "ndarray")
PLAIN: Final = ARRAY + b"K\x00\x85U\x01b\x87R"
U1: Final = named("numpy", "dtype") + b"U\x02u1K\x00K\x01\x87R"
U1_STATE: Final = b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
HUGE: Final = b"\x8a\x05\x00\x00\x00\x00\x7f"

WASTEFUL: Final[dict[str, tuple[bytes, str]]] = {
    "nothing": (b"", "ends early"),
    "protocol 0": (b"(lp0\n.", "not a pickle of protocol"),
    "protocol 5": (whole(b"}", 5), "not a pickle of protocol"),
    "no end": (b"\x80\x02}", "ends early"),
    "two values": (whole(b"}}"), "more than one value"),
    "open mark": (whole(b"(}"), "more than one value"),
    "goes on": (whole(b"}") + b"x", "goes on after its end"),
    "no value": (whole(b""), "not there"),
    "no mark": (whole(b"}e"), "has no mark"),
    "below a mark": (whole(b"}(s"), "not there"),
    "persistent id": (b"\x80\x02Pid\n.", "instruction b'P'"),
    "binary persistent id": (whole(text("id") + b"Q"), "instruction b'Q'"),
    "extension 1": (whole(b"\x82\xf0"), r"instruction b'\\x82'"),
    "extension 2": (whole(b"\x83\xf0\x00"), r"instruction b'\\x83'"),
    "extension 4": (whole(b"\x84\xf0\x00\x00\x00"), r"instruction b'\\x84'"),
    "new object with keywords": (whole(b")}\x92", 4), r"instruction b'\\x92'"),
    "out-of-band buffer": (whole(b"\x97", 4), r"instruction b'\\x97'"),
    "float": (whole(b"G" + b"\0" * 8), "instruction b'G'"),
    "huge int": (whole(b"\x8b\xff\xff\xff\x7f"), r"instruction b'\\x8b'"),
    "long int": (whole(b"\x8a\xff" + b"\xff" * 255), "an int of 255 bytes, the limit is 8"),
    "huge string": (whole(b"T\xff\xff\xff\x7f"), "ends early"),
    "negative string": (whole(b"T\xff\xff\xff\xff" + b"x" * 9), "ends early"),
    "huge bytes": (whole(b"\x8e" + b"\xff" * 8), "ends early"),
    "huge text": (whole(b"X\xff\xff\xff\xff"), "ends early"),
    "no text": (whole(b"X\1\0\0\0\xff"), "not UTF-8"),
    "endless name": (whole(b"c" + b"a" * 10_000), "a name that does not end"),
    "deep lists": (whole(b"]" * 50_000 + b"a" * 49_999), "a list that holds <list>"),
    "deep dicts": (whole(b"}U\1a" * 9_000 + b"}" + b"s" * 9_000), "a dict in a dict"),
    "list in itself": (whole(b"]q\1h\1a"), "a list that holds <list>"),
    "laughing lists": (whole(b"]q\0" + b"]q\1(h\0h\0h\0h\0eq\0" * 60), "a list that holds <list>"),
    "many steps": (whole(b"K\1" * (2**20 + 1)), "more than 1,048,576 instructions"),
    "unknown memo": (whole(b"h\7"), "recalls value 7"),
    "kept nothing": (whole(b"r\xff\xff\xff\xff"), "not there"),
    "a tuple": (whole(b"K\1\x85"), "holds <tuple>"),
    "a name": (whole(named("numpy", "ndarray")), "holds <Name>"),
    "none": (whole(b"N"), "holds <NoneType>"),
    "a list as a key": (whole(b"}]K\1s"), "<list> as a key"),
    "a key alone": (whole(b"}(K\1u"), "a key without a value"),
    "items for a string": (whole(b"U\1aK\1a"), "as if it were a list"),
    "state of a dict": (whole(b"}}b"), "sets the state of <dict>"),
    "call of a type": (whole(named("numpy", "ndarray") + b")R"), "calls numpy.ndarray"),
    "call of a string": (whole(b"U\1a)R"), "calls <bytes>"),
    "call with a list": (whole(named("numpy", "dtype") + b"]R"), "calls numpy.dtype"),
    "array of a huge shape": (whole(ARRAY + HUGE + b"\x85U\1b\x87R"), "makes an array in a way"),
    "array of another type": (
        whole(ARRAY[:-15] + named("_codecs", "encode") + b"K\0\x85U\1b\x87R"),
        "makes an array",
    ),
    "array without a value": (whole(PLAIN), "an array without a value"),
    "array of huge claims": (
        whole(PLAIN + b"(K\1" + HUGE + b"\x85" + U1 + U1_STATE + b"\x89U\1at" + b"b"),
        "has 1 bytes for an array",
    ),
    "array of negative size": (
        whole(PLAIN + b"(K\1J\xff\xff\xff\xff\x85" + U1 + U1_STATE + b"\x89U\0tb"),
        "an array of a form",
    ),
    "array of text": (
        whole(PLAIN + b"(K\1K\1\x85" + U1 + b"\x89" + text("a") + b"tb"),
        "an array of a form",
    ),
    "array without dtype": (whole(PLAIN + b"(K\1K\1\x85N\x89U\1atb"), "an array of a form"),
    "array set twice": (
        whole(PLAIN + (b"(K\1K\1\x85" + U1 + b"\x89U\1atb") * 2),
        "an array of a form",
    ),
    "object dtype": (
        whole(named("numpy", "dtype") + b"U\2O8K\0K\1\x87R"),
        "not one of plain numbers: O8",
    ),
    "void dtype": (
        whole(named("numpy", "dtype") + b"U\2V8K\0K\1\x87R"),
        "not one of plain numbers: V8",
    ),
    "dtype of a list": (
        whole(named("numpy", "dtype") + b"]K\0K\1\x87R"),
        "not one of plain numbers",
    ),
    "dtype with fields": (
        whole(U1 + U1_STATE.replace(b"NNN", b"N}]")),
        "a dtype that is not one of plain numbers",
    ),
    "dtype with flags": (whole(U1 + U1_STATE.replace(b"K\0tb", b"K\x3ftb")), "a dtype that is not"),
    "dtype of an odd order": (whole(U1 + U1_STATE.replace(b"|", b"!")), "a dtype that is not"),
    "dtype of no state": (whole(U1 + b"}b"), "a dtype that is not one of plain numbers"),
    "other codec": (whole(call("_codecs", "encode", "a", "antigravity")), "encodes text in a way"),
    "no latin1": (whole(call("_codecs", "encode", "ф", "latin1")), "that is not latin1"),
    "other NumPy": (
        whole(named("numpy.core.multiarray", "scalar")),
        "names numpy.core.multiarray.scalar",
    ),
    "name of a list": (whole(b"]" + text("system") + b"\x93", 4), "names <list>.system"),
    "fresh module": (whole(named("antigravity", "x")), "names antigravity.x"),
}
"""By trick, a pickle that is no data, and what is said about it."""


def plainly(data: bytes) -> None:
    """Run a pickle as Python does; some tricks leave what is not a whole pickle."""
    with contextlib.suppress(Exception):
        pickle.loads(data, encoding="bytes")
