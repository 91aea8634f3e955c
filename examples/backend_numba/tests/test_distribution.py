"""The distribution: what its entry point leads to, and that it is preferred to the oracle."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from vkml_backend_cpu.backend import backend as oracle
from vkml_core.backend import Available
from vkml_core.backends import Backends
from vkml_core.plugins import Devices, open_device

from vkml_backend_numba.backend import backend

ROOT = Path(__file__).parents[1]


def test_the_entry_point_leads_to_the_backend():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["vkml.backends"] == {
        "numba": f"{type(backend).__module__}:backend"
    }


def test_it_is_preferred_to_the_oracle():
    backends = Backends(find=lambda: ([], []))
    devices = Devices(backends)
    backends.register(oracle)
    backends.register(backend)
    name, reason = devices.best()
    assert name == "numba"
    assert "level exact" in reason


def test_probing_loads_no_numba():
    code = (
        "import sys; from vkml_backend_numba.backend import backend; backend.probe();"
        "backend.devices(); assert 'numba' not in sys.modules and 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=ROOT)


@pytest.mark.parametrize(
    ("told", "available"),
    [
        ("flags\t\t: fpu sse2 avx f16c avx2\n", True),
        ("flags\t\t: fpu sse2\n", False),
        ("flags\t\t: fpu xf16c\n", False),
        ("", True),
        (None, True),
    ],
)
def test_a_cpu_without_float16_is_told(
    told: str | None, available: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("vkml_backend_numba.backend.PROCESSORS", tmp_path / "cpuinfo")
    if told is not None:
        (tmp_path / "cpuinfo").write_text(told)
    assert isinstance(backend.probe(), Available) is available
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert isinstance(backend.probe(), Available)


def test_memory_is_given_back():
    import vkml

    device = open_device("numba")
    before = device.stats()["in_use_bytes"]
    x = vkml.tensor(np.ones((100, 100), np.float32), device="numba")
    y = vkml.relu(x @ x).numpy()
    del x
    assert y[0, 0] == 100.0
    assert device.stats()["in_use_bytes"] == before
