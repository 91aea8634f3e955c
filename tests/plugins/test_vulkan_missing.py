"""Vkml where Vulkan is missing or broken: all else works, and it is told what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from wheels import WHOLE, Environment, Wheel

LOADS = subprocess.run([sys.executable, "-c", "import vulkan"], capture_output=True).returncode == 0
NO_LIBRARY = {"library_path": "/nowhere/libvulkan_nothing.so", "api_version": "1.3.0"}
DRIVER_FILE = json.dumps({"file_format_version": "1.0.0", "ICD": NO_LIBRARY})


@dataclass(frozen=True)
class Case:
    """A module that stands for the binding, or a driver file; and what is told."""

    told: tuple[str, ...]
    binding: str = ""
    driver: str | None = None


CASES = {
    "no binding": Case(
        ("the Vulkan binding is missing", "pip install 'vkml[vulkan]'"),
        binding="raise ModuleNotFoundError('No module named vulkan', name='vulkan')",
    ),
    "no loader": Case(
        ("the Vulkan loader is missing", "libvulkan1"),
        binding="raise OSError('Cannot find Vulkan SDK version.')",
    ),
    "no driver file": Case(("vkCreateInstance", "install a driver"), driver=None),
    "an empty driver file": Case(("vkCreateInstance",), driver=""),
    "garbage as a driver file": Case(
        ("vkCreateInstance", "could not read a driver's file"), driver="{garbage"
    ),
    "a driver file of another form": Case(("vkCreateInstance",), driver='{"ICD": []}'),
    "a driver without its library": Case(
        ("vkCreateInstance", "install a driver"), driver=DRIVER_FILE
    ),
}
ASK = """
import json, sys
import vkml
assert not any(m.startswith(("vulkan", "vkml_backend")) for m in sys.modules)
w = vkml.randn(3, 2).requires_grad_()
(w @ w.T).sum().backward()

def message(name):
    try:
        vkml.device(name).kind
    except vkml.DeviceError as error:
        return str(error)

answer = {"gradient": w.grad.shape, "available": vkml.available_devices()}
answer["told"] = [message("vulkan"), message("vulkna"), vkml.best_device()[1]]
print(json.dumps(answer))
"""


Missing = tuple[Case, Environment, dict[str, str]]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Missing:
    """A case, its environment and the variables to run it with."""
    made = CASES[request.param]
    if not made.binding and not LOADS:
        pytest.skip("Vulkan's loader or binding is not installed")
    environment = Environment(tmp_path)
    environment.install(WHOLE)
    if made.binding:
        environment.install(Wheel("vulkan", {}, {"vulkan/__init__.py": made.binding}))
        return made, environment, {}
    file = tmp_path / "driver.json"
    if made.driver is not None:
        file.write_text(made.driver)
    return made, environment, {"VK_DRIVER_FILES": str(file), "VK_ICD_FILENAMES": str(file)}


def test_vkml_works_and_errors_say_what_is_missing(case: Missing) -> None:
    made, environment, variables = case
    answer = environment.answer(ASK, **variables)
    assert answer["gradient"] == [3, 2]
    assert answer["available"] == ["cpu"]
    for message in answer["told"]:
        assert all(text in message for text in made.told), message
    assert "did you mean 'vulkan'?" in answer["told"][1]
    assert "cpu is the CPU backend" in answer["told"][2]


def test_doctor_and_devices_say_what_is_missing(case: Missing) -> None:
    made, environment, variables = case
    doctor = environment.run("-m", "vkml.cli", "doctor", **variables)
    assert (doctor.returncode, doctor.stderr) == (0, "")
    lines = [line.strip() for line in doctor.stdout.splitlines()]
    stopped = next(line for line in lines if line.startswith("vulkan ") and "stopped" in line)
    assert stopped.split() == ["vulkan", "vkml", "0.1.0", "stopped", "at", "probe"]
    reason, cure = lines[lines.index(stopped) + 1 :][:2]
    assert reason.startswith("failed at probe: ") and cure.startswith("cure: ")
    assert all(text in f"{reason} {cure}" for text in made.told)
    assert all(f"{name}={value}" in lines for name, value in variables.items())

    devices = environment.run("-m", "vkml.cli", "devices", **variables)
    assert (devices.returncode, devices.stderr) == (0, "")
    cpu, vulkan, best = devices.stdout.splitlines()
    assert cpu.startswith("* cpu ") and best.startswith("* best: cpu is the CPU backend")
    assert vulkan.split()[:2] == ["vulkan", "unavailable"]
    assert made.told[0] in vulkan


def test_the_default_device_is_not_replaced_silently(case: Missing) -> None:
    made, environment, variables = case
    ask = "import vkml; vkml.zeros(2)"
    done = environment.run("-c", ask, VKML_DEVICE="vulkan", **variables)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("vkml_core.errors.DeviceError: VKML_DEVICE=vulkan: ")
    assert all(text in last for text in made.told)


@pytest.mark.skipif(not LOADS, reason="Vulkan's loader or binding is not installed")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a file that never ends to open is needed")
def test_the_doctor_survives_a_loader_that_hangs(tmp_path: Path) -> None:
    """It waits for a driver file that nobody writes, in native code; the time limit is told."""
    environment = Environment(tmp_path)
    environment.install(WHOLE)
    file = tmp_path / "driver.json"
    os.mkfifo(file)
    variables = {"VK_DRIVER_FILES": str(file), "VK_ICD_FILENAMES": str(file)}
    done = environment.run("-m", "vkml.cli", "doctor", "--limit", "1", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    reason, cure = done.stdout.partition("stopped at probe\n")[2].splitlines()[:2]
    assert "did not come to an end within 1 s and was stopped" in reason
    assert "vk.py, line " in reason and "VKML_EXCLUDE=vulkan" in cure
    ask = "import vkml; print(*vkml.available_devices(), vkml.best_device()[0])"
    excluded = environment.run("-c", ask, VKML_EXCLUDE="vulkan", **variables)
    assert (excluded.stdout, excluded.stderr) == ("cpu cpu\n", "")
