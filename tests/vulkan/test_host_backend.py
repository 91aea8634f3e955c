"""The backend's front: probing with and without a driver, order of devices, clean validation."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vkml_backend_vulkan.instance import Physical

_ROOT = Path(__file__).parents[2]
_LAYER = "VK_LAYER_KHRONOS_validation"


def _python(code: str, arguments: Sequence[str] = (), **environ: str) -> str:
    """Run code in another process and give what it printed."""
    path = os.pathsep.join([str(_ROOT), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environ},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


_PROBE = """
from vkml_backend_vulkan.backend import backend
print(backend.probe())
"""


def test_no_driver_is_unavailable() -> None:
    said = _python(_PROBE, VK_DRIVER_FILES="/nonexistent", VK_ICD_FILENAMES="/nonexistent")
    assert "Unavailable" in said and "install a driver with Vulkan 1.2" in said


def test_no_binding_is_unavailable() -> None:
    said = _python("import sys; sys.modules['vulkan'] = None\n" + _PROBE)
    assert "Unavailable" in said and "pip install" in said


def test_no_loader_is_unavailable() -> None:
    said = _python("import sys\n" + _WITHOUT_LOADER + _PROBE)
    assert "Unavailable" in said and "libvulkan1" in said


_WITHOUT_LOADER = """
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "vulkan":
            raise OSError("Cannot find Vulkan SDK version")
sys.meta_path.insert(0, Finder)
"""


def test_importing_the_backend_loads_no_vulkan() -> None:
    said = _python("import sys, vkml_backend_vulkan.backend; print('vulkan' in sys.modules)")
    assert said.strip() == "False"


def test_devices_are_in_order_and_software_says_so(physical: Physical) -> None:
    from vkml_backend_vulkan.backend import backend
    from vkml_backend_vulkan.instance import _ORDER

    infos = backend.devices()
    assert [i.index for i in infos] == list(range(len(infos)))
    ranks = [_ORDER.index(i.kind) for i in infos]
    assert ranks == sorted(ranks)
    software = [i for i in infos if "llvmpipe" in i.name or "SwiftShader" in i.name]
    assert all(i.kind == "software" for i in software)
    assert infos[0].name == physical.name


def test_a_device_that_lacks_something_is_not_offered(
    physical: Physical, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan import instance
    from vkml_backend_vulkan.backend import backend
    from vkml_core.backend import Unavailable

    poor = replace(physical, missing=("bufferDeviceAddress",))
    monkeypatch.setattr(instance, "surveyed", lambda: (poor,))
    answer = backend.probe()
    assert isinstance(answer, Unavailable) and "lacks bufferDeviceAddress" in answer.reason


_VALIDATED = """
import sys
from pathlib import Path
import numpy as np
from host_kernels import KERNELS
from host_support import buffer, floats, leaf, run, value
from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.instance import usable
from vkml_core.errors import IndexError_
from vkml_core.graph import build, const
for mapped in (None, False):
    device = VulkanDevice(usable()[0], KERNELS, Path(sys.argv[1]), mapped=mapped)
    w = leaf(device, floats(100_000))
    for _ in range(12):
        doubled = build.abs(build.abs(build.add(w, const(w, 1.0))))
        run(device, [build.assign(w, build.add(doubled, w))], donate=[w])
    index = leaf(device, np.array([100_000, 1], np.int32))
    try:
        value(device, build.gather(w, index, axis=0))
    except IndexError_:
        print("index error")
    device.upload(floats(10_000_000))
    device.synchronize()
    if mapped is None:
        device.close()  # the other is closed at the end of the process
{extra}
print("done")
"""
_INVALID = """
from vkml_backend_vulkan import vk
commands = device.transfer.begin()
for _ in range(2):  # without a barrier
    device.transfer.copy(commands, buffer(w), 0, device.memory.allocate(64), 0, 64)
    device.transfer.copy(commands, device.memory.allocate(64), 0, buffer(w), 0, 64)
vk.lib.vkCmdDispatch(commands, 1, 1, 1)
"""


def _validated(directory: Path, extra: str = "") -> str:
    return _python(
        _VALIDATED.format(extra=extra),
        [str(directory)],
        VK_INSTANCE_LAYERS=_LAYER,
        VK_LAYER_ENABLES="VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
    )


def _has_layer(name: str) -> bool:
    from vkml_backend_vulkan import vk

    listed = vk.enumerate_("vkEnumerateInstanceLayerProperties", "VkLayerProperties")
    return name in {vk.string(layer.layerName) for layer in listed}


def test_validation_is_silent(physical: Physical, tmp_path: Path) -> None:
    if not _has_layer(_LAYER):
        pytest.skip(f"{_LAYER} is not installed")
    assert _validated(tmp_path).split("\n") == ["index error", "index error", "done", ""]
    said = _validated(tmp_path, _INVALID)
    assert "VUID-vkCmdDispatch" in said and "SYNC-HAZARD" in said, "the layer sees nothing at all"


def test_the_core_opens_it(
    physical: Physical, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan.backend import backend
    from vkml_core.backends import Backends
    from vkml_core.plugins import Devices

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    devices = Devices(Backends(lambda: ([], [])))  # it may be installed too
    devices.backends.register(backend)
    assert "vulkan" in devices.available()
    opened = devices.open("vulkan")
    assert opened.name == physical.name and opened.kind == physical.kind
    assert opened.capabilities().alignment == 64
    opened.close()  # type: ignore[attr-defined]
