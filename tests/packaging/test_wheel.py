"""The wheel: what is in it, and that it trains in an empty environment."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    **dict.fromkeys(
        ("vkml", "vkml_core", "vkml_backend_cpu", "vkml_backend_vulkan", "vkml_nn", "vkml_optim"),
        ROOT,
    ),
    "vkml_conformance": ROOT / "conformance",
}
SHADERS = "vkml_backend_vulkan/shaders"
MEBIBYTE = 2**20
TRAINING = """
import hashlib, sys
import vkml
from vkml import nn, optim
from vkml.data import ArrayDataset, DataLoader
import numpy as np

device = sys.argv[1]
vkml.manual_seed(0)
x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(32, 2)
loader = DataLoader(ArrayDataset(x, x.sum(1, keepdims=True)), batch_size=8, shuffle=True,
                    device=device)
model = nn.Sequential(nn.Linear(2, 8, device=device), nn.Tanh(), nn.Linear(8, 1, device=device))
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
losses = []
for _ in range(10):
    for a, b in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(a), b)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert losses[-1] < losses[0] / 10, losses
print(vkml.__file__, hashlib.sha256(np.array(losses).tobytes()).hexdigest(), sep="\\n")
"""


def call(*command: str | Path, cwd: Path) -> str:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", out)
    call(sys.executable, "-m", "pip", "wheel", *options, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    assert wheel.name.startswith("vkml-") and wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if ".dist-info/" not in n}
        (metadata,) = (n for n in archive.namelist() if n.endswith("/METADATA"))
        info = metadata.removesuffix("METADATA")
        entries = archive.read(f"{info}entry_points.txt").decode()
        assert f"{info}licenses/LICENSE" in archive.namelist()
    here = {
        str(path.relative_to(folder))
        for package, folder in PACKAGES.items()
        for path in (folder / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == here
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert "vkml-conformance = " in entries and "[pytest11]\nvkml_conformance = " in entries
    assert "[vkml.backends]\ncpu = " in entries and "\nvulkan = " in entries


def test_the_wheel_holds_every_shader_and_is_small(wheel: Path) -> None:
    """No compiler is needed where vkml is installed; the sources are there for who has one."""
    assert wheel.stat().st_size < 4 * MEBIBYTE
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read(f"{SHADERS}/spirv/manifest.json"))
        for name, entry in manifest["modules"].items():
            words = archive.read(f"{SHADERS}/spirv/{name}.spv")
            assert hashlib.sha256(words).hexdigest() == entry["spirv"], name
    assert {f"{SHADERS}/elementwise.comp", f"{SHADERS}/numerics.glsl"} <= names


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment that holds the wheel without extras; its path has spaces."""
    folder = tmp_path_factory.mktemp("an empty environment")
    call(sys.executable, "-m", "venv", folder, cwd=folder)
    made = folder / "bin" / "python"
    call(made, "-m", "pip", "install", "--quiet", "--no-cache-dir", wheel, cwd=folder)
    return made


def train(python: Path, device: str, cwd: Path) -> str:
    """Train without warnings, on what is installed; give the hash of the losses."""
    used, digest = call(python, "-W", "error", "-c", TRAINING, device, cwd=cwd).splitlines()
    assert Path(used).is_relative_to(python.parents[1])
    return digest


def test_the_wheel_trains_in_an_empty_environment(python: Path, tmp_path: Path) -> None:
    assert train(python, "cpu", tmp_path)
    said = call(python, "-m", "vkml.cli", "doctor", cwd=tmp_path)
    assert "the Vulkan binding is missing" in said and "pip install 'vkml[vulkan]'" in said


def test_it_trains_on_vulkan_after_what_doctor_advises(python: Path, tmp_path: Path) -> None:
    call(python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "vkml[vulkan]", cwd=tmp_path)
    said = call(python, "-m", "vkml.cli", "devices", cwd=tmp_path)
    assert "binding is missing" not in said
    if re.search("^  vulkan +unavailable", said, re.M):
        pytest.skip(f"no Vulkan device:\n{said}")
    assert train(python, "vulkan", tmp_path) == train(python, "cpu", tmp_path)
