"""The process in which `bisect` runs a script on one device, telling of every graph it computes.

`python -m vkml_conformance.trace DEVICE SCRIPT [ARGUMENT…]`. Events go to the standard output as
lines of JSON, and each waits for an answer on the standard input. What the script prints goes to
the standard error.
"""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from weakref import WeakKeyDictionary

import numpy as np

from vkml_conformance.capture import Outline, outline
from vkml_conformance.named import load, place_of
from vkml_conformance.program import Number
from vkml_conformance.program_json import to_json
from vkml_core import plugins, runtime
from vkml_core.dtypes import DType
from vkml_core.graph import Node, Storage, pending_inputs, reachable
from vkml_core.shapes import Shape

ON: Final = "on"
PROGRAM: Final = "program"
"""Answers: go on, or first give the program of the last graph."""


def backend_of(device: str) -> tuple[str, Any | None]:
    """Give the name of a device, and the backend to register where it is `module:attribute`."""
    place = place_of(device)
    if place is None:
        return device, None
    backend = load(place)
    return backend.NAME, backend


class Channel:
    """The standard streams, taken from the script."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._in = os.fdopen(os.dup(0), "r", encoding="utf-8")
        os.dup2(2, 1)
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), 0)

    def tell(self, event: str, **fields: Any) -> str:
        """Send an event and wait for the answer; ends the process when nobody listens any more."""
        self._out.write(json.dumps({"event": event, **fields}) + "\n")
        self._out.flush()
        answer = self._in.readline().strip()
        if not answer:
            os._exit(0)
        return answer


class Tracer:
    """Stands between the runtime and the device: every graph is described before it is computed,
    and its results are hashed after that.
    """

    def __init__(self, channel: Channel, device: str, script: Path) -> None:
        self._channel, self._device, self._script = channel, device, script
        self._run = runtime._run
        self._lines: WeakKeyDictionary[Node, str] = WeakKeyDictionary()
        self._known: WeakKeyDictionary[Storage, str] = WeakKeyDictionary()

    def __enter__(self) -> None:
        self._stack = ExitStack()
        self._stack.enter_context(patch.object(runtime, "_run", self.run))
        self._stack.enter_context(patch.object(Node, "__init__", self._noted()))

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _noted(self) -> Callable[..., None]:
        """Give a way to make nodes that notes the line which each is recorded at."""
        make = Node.__init__

        def noted(node: Node, *args: Any, **more: Any) -> None:
            make(node, *args, **more)
            self._lines[node] = self._line()

        return noted

    def _line(self) -> str:
        """Give the line of the user's code that is being run: the innermost beside the script."""
        frame = sys._getframe(2)
        folder = str(self._script.parent)
        while frame.f_back is not None:
            name, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
            if file.startswith(folder) and not name.startswith("vkml"):
                return f"{Path(file).name}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def run(self, device: str, roots: Sequence[Node]) -> None:
        """Compute as the runtime does, and tell of it."""
        if not roots:
            self._run(device, roots)
            return
        described, nodes = outline(roots)
        lines = [self._lines.get(node, "") for node in nodes]
        structure, inputs = _structure(roots), [self._digest(x) for x in described.inputs]
        self._run(device, roots)
        answer = self._channel.tell(
            "graph",
            device=device,
            own=device == self._device,
            structure=structure,
            inputs=inputs,
            results=[self._result(root) for root in roots],
            line=self._line(),
        )
        if answer == PROGRAM:
            self._give(described, lines)

    def _give(self, described: Outline, lines: list[str]) -> None:
        self._channel.tell("program", program=to_json(described.download()), lines=lines)

    def _digest(self, given: Number | tuple[Storage, Shape, DType]) -> str:
        """Hash an input; what was hashed as a result or before is not read again."""
        if isinstance(given, Number):
            return _sha(np.array(given.value, given.dtype.numpy).tobytes())
        storage, shape, dtype = given
        if storage not in self._known:
            array = storage.device.download(storage.buffer, shape, dtype)
            self._known[storage] = _sha(array.tobytes())
        return self._known[storage]

    def _result(self, root: Node) -> str:
        assert root.storage is not None  # it has just been computed
        return self._digest((root.storage, root.shape, root.dtype))


def _structure(roots: Sequence[Node]) -> str:
    """Hash what two graphs have in common when one plan serves both."""
    said = runtime.structure(reachable(roots, pending_inputs), roots)
    return _sha(repr(said).encode())


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(arguments: Sequence[str]) -> None:
    """Run the script and tell how it ends."""
    device, script, *rest = arguments
    path = Path(script).resolve()
    channel = Channel()
    try:
        name, backend = backend_of(device)
        if backend is not None:
            plugins.register_backend(backend)
        name = plugins.canonical(name)
        plugins.open_device(name)
    except BaseException as error:  # whatever a backend does belongs into the message
        channel.tell("no device", text=f"{type(error).__name__}: {error}")
        return
    os.environ["VKML_DEVICE"] = name
    sys.argv = [str(path), *rest]
    sys.path.insert(0, str(path.parent))
    with Tracer(channel, name, path):
        failure = _failure(path)
    channel.tell("failed" if failure else "end", text=failure)


def _failure(path: Path) -> str:
    """Run the script as Python would; give what went wrong, or nothing."""
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as left:
        return f"it exits with {left.code}" if left.code else ""
    except BaseException as error:
        own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        at = f" at {path.name}:{own[-1].lineno}" if own else ""
        return f"{type(error).__name__}{at}: {error}"
    return ""


if __name__ == "__main__":
    main(sys.argv[1:])
