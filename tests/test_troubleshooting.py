"""Every message that docs/troubleshooting.md quotes is one that vkml gives: each is provoked."""

import logging
import logging.handlers
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkml
from vkml import nn
from vkml_backend_cpu.table import TABLE
from vkml_core.backend import Capabilities
from vkml_core.checks import check_level
from vkml_core.plugins import register_backend, unregister_backend
from vkml_core.table_backend import table_backend
from vkml_core.trials.ending import ending

PAGE = Path(__file__).parents[1] / "docs" / "troubleshooting.md"
BLOCKS = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(), re.M | re.S)
QUOTED = [" ".join(block.split()) for block in BLOCKS]


def backward_twice() -> None:
    x = vkml.ones(2, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


def item_assignment() -> None:
    x: Any = vkml.ones(2)
    x[0] = 1


def traced_for_each_number() -> None:
    step = vkml.compile(lambda x, n: x * n, maxsize=1)
    for n in range(3):
        step(vkml.ones(2), n)


def cut_short(path: Path) -> None:
    path.write_bytes(b"not a checkpoint")
    vkml.load(path)


def fails_on_load(path: Path) -> None:
    nn.Linear(2, 3).load_state_dict({})


def two_devices() -> None:
    register_backend(table_backend("second", TABLE, api_version=(1, 2)))
    try:
        vkml.ones(2) + vkml.ones(2, device="second")
    finally:
        unregister_backend("second")


def require_exact() -> None:
    check_level(Capabilities(ops=frozenset(), level="exact-normal"), "exact")


def lost() -> None:
    vk = pytest.importorskip("vkml_backend_vulkan.vk", reason="the Vulkan binding is missing")
    raise vk.failure("vkQueueSubmit", -4, submission=3)


def binding(path: Path, source: str) -> str:
    """What the Vulkan backend says where importing the binding does that."""
    (path / "vulkan.py").write_text(source)
    return probed({"PYTHONPATH": f"{path}{os.pathsep}{os.pathsep.join(sys.path)}"})


def without_a_driver() -> str:
    nothing = "/nonexistent/driver.json"
    return probed({"VK_DRIVER_FILES": nothing, "VK_ICD_FILENAMES": nothing})


def probed(environment: dict[str, str]) -> str:
    code = "from vkml_backend_vulkan.backend import backend as b; print(b.probe().reason)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


RAISES: dict[str, Callable[[], object]] = {
    "no backend": lambda: vkml.ones(2, device="nothing"),
    "no such index": lambda: vkml.ones(2, device="cpu:7").numpy(),
    "level": require_exact,
    "lost": lost,
    "two devices": two_devices,
    "array beside tensor": lambda: vkml.ones(2) + np.ones(2),
    "item assignment": item_assignment,
    "dtype": lambda: vkml.tensor(np.ones(2, np.uint8)),
    "attribute": lambda: vars(vkml)["__getattr__"]("einsum"),
    "memory": lambda: vkml.ones(1 << 14, 1 << 14, 1 << 12).contiguous().numpy(),
    "no gradient": lambda: vkml.ones(2).sum().backward(),
    "backward twice": backward_twice,
    "assignment": lambda: vkml.ones(2, requires_grad=True).assign_(vkml.ones(2)),
    "label": lambda: nn.functional.cross_entropy(vkml.ones(2, 3), vkml.tensor([0, 7])).item(),
    "float labels": lambda: nn.functional.cross_entropy(vkml.ones(2, 3), vkml.ones(2)),
    "read inside": lambda: vkml.compile(lambda x: x if x.sum().item() else -x)(vkml.ones(2)),
}
ON_DISK: dict[str, Callable[[Path], object]] = {
    "cut short": lambda path: cut_short(path / "checkpoint"),
    "does not fit": fails_on_load,
}


def messages(path: Path) -> list[str]:
    """All messages, provoked."""
    found = [raised(call) for call in RAISES.values()]
    found += [raised(partial(call, path)) for call in ON_DISK.values()]
    found += [binding(path, text) for text in ("raise OSError('libvulkan.so.1')", "import none")]
    found += [ending(-11, b"", 20.0), ending(None, b"", 20.0)]
    return [*found, without_a_driver(), *logged(traced_for_each_number)]


def raised(call: Callable[[], object]) -> str:
    with pytest.raises(Exception) as caught:
        call()
    return str(caught.value)


def logged(call: Callable[[], object]) -> list[str]:
    handler = logging.handlers.BufferingHandler(1000)
    logging.getLogger("vkml").addHandler(handler)
    try:
        call()
    finally:
        logging.getLogger("vkml").removeHandler(handler)
    return [record.getMessage() for record in handler.buffer]


def pattern(quoted: str) -> str:
    """What a quotation stands for: … is any text, and a message may go on."""
    return ".*".join(map(re.escape, quoted.split("…"))) + r"(?:$|[;,. (].*)"


def test_quotations_and_messages_agree(tmp_path: Path) -> None:
    given = messages(tmp_path)
    matches = [(q, m) for q in QUOTED for m in given if re.fullmatch(pattern(q), m, re.S)]
    assert {q for q, _ in matches} == {*QUOTED}
    assert {m for _, m in matches} == {m for m in given if "traced anew" not in m}
