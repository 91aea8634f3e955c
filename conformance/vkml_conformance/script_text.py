"""What every reproducer begins and ends with."""

from __future__ import annotations

from typing import Final

HEAD: Final = '''\
"""Computes one graph on {device} and on {reference}, and shows the first element that differs."""

import base64
import sys
import zlib
from importlib import import_module
from operator import attrgetter

import numpy as np

import vkml
from vkml_core import plugins
from vkml_core.graph import build, full

DEVICE, REFERENCE = {device!r}, {reference!r}
for place in {backends!r}:  # backends that are not installed: module:attribute
    module, _, attribute = place.partition(":")
    plugins.register_backend(attrgetter(attribute)(import_module(module)))


def array(dtype, shape, words="", packed=""):
    """Make an array of its elements in hex, or of its bytes."""
    kind = np.dtype(dtype).newbyteorder("<")
    data = bytes().join(bytes.fromhex(w)[::-1] for w in words.split())
    data = zlib.decompress(base64.b64decode(packed)) if packed else data
    return np.frombuffer(data, kind).astype(dtype).reshape(shape)


def call(name, *nodes, **attributes):
    """Record one operation; in eager mode it is computed at once."""
    node = getattr(build, name)(*nodes, **attributes)
    if vkml.is_eager():
        vkml.realize(vkml.Tensor(node))
    return node


'''

TAIL: Final = '''

def results(arrays, device):
    """Compute all results in one submission."""
    tensors = graph([vkml.tensor(x, device=device).node for x in arrays], device)
    vkml.realize(*tensors)
    return [t.numpy() for t in tensors]


def again(arrays, device):
    """Send other values through the same plan first: nothing may be left of them."""
    results([np.roll(x, 1) if x.dtype.kind in "fb" else x for x in arrays], device)
    return results(arrays, device)


def eager(arrays, device):
    """Compute an operation at a time."""
    with vkml.eager_mode():
        return results(arrays, device)


def differs(got, want):
    """Say where the first bit differs; None where all agree."""
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"got {got.dtype}{got.shape}, want {want.dtype}{want.shape}"
    bits = [np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}") for x in (got, want)]
    wrong = np.argwhere(bits[0] != bits[1])
    if not len(wrong):
        return None
    at = tuple(map(int, wrong[0]))
    shown = [f"0x{int(b[at]):0{2 * b.itemsize}x} ({x[at]!s})" for b, x in zip(bits, (got, want))]
    told = f"{len(wrong)} of {want.size} elements differ, first at {at}: "
    return f"{told}{DEVICE} gives {shown[0]}, {REFERENCE} gives {shown[1]}"


def main():
    """Exit with 1 where a bit differs."""
    np.seterr(all="ignore")
    arrays, wrong = leaves(), 0
    wanted = results(arrays, REFERENCE)
    for run in (results, again, eager):
        for i, (got, want) in enumerate(zip(run(arrays, DEVICE), wanted)):
            told = differs(got, want)
            wrong += told is not None
            print(f"output {i}, {run.__name__}: {told or 'equal'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
'''
