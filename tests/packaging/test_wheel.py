"""The wheel: what is in it, and that it trains in an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("vkml", "vkml_core", "vkml_backend_cpu", "vkml_nn", "vkml_optim")
TRAINING = """
import vkml
from vkml import nn, optim
from vkml.data import ArrayDataset, DataLoader
import numpy as np

vkml.manual_seed(0)
x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(32, 2)
loader = DataLoader(ArrayDataset(x, x.sum(1, keepdims=True)), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
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
print(vkml.__file__)
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
        folder = metadata.removesuffix("METADATA")
        entries = archive.read(f"{folder}entry_points.txt").decode()
        assert f"{folder}licenses/LICENSE" in archive.namelist()
    here = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == here
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert "[vkml.backends]\ncpu = " in entries


def test_the_wheel_trains_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    call(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", "--no-cache-dir", wheel, cwd=tmp_path)
    used = call(python, "-W", "error", "-c", TRAINING, cwd=tmp_path)
    assert Path(used.strip()).is_relative_to(tmp_path)
