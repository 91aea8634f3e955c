"""`make quickstart` trains on a real GPU where there is one, says so, and never on a rasteriser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from wheels import ROOT, VKML, Environment, Wheel

BACKEND = """
from vkml_backend_cpu.backend import backend
from vkml_core.table_backend import table_backend

BACKEND = table_backend(
    {name!r}, backend.table, api_version=(1, 0), device_name={name!r} + " card",
    kind={kind!r}, conversions=backend.conversions,
)
"""


def fake(name: str, kind: str) -> Wheel:
    """The oracle's kernels under another name, as hardware of another kind."""
    module = f"fake_{name}"
    source = BACKEND.format(name=name, kind=kind)
    return Wheel(f"vkml-{name}", {name: f"{module}:BACKEND"}, {f"{module}.py": source})


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    made = Environment(tmp_path)
    made.install(VKML)
    return made


def quickstart(environment: Environment, tmp_path: Path, *options: str) -> tuple[str, str, str]:
    """Train; give the device, the line that told it, and the hash of the weights."""
    out = tmp_path / "summary.json"
    script = ROOT / "examples" / "digits.py"
    brief = ("--limit", "128", "--epochs", "1")
    done = environment.run(str(script), *brief, "--json", str(out), *options)
    assert done.returncode == 0, done.stderr
    summary = json.loads(out.read_text())
    (line,) = (t for t in done.stdout.splitlines() if t.startswith("device "))
    assert summary["device_reason"] in line
    return summary["device"], line, summary["weights_sha256"]


def test_a_discrete_gpu_is_preferred_and_told(environment: Environment, tmp_path: Path) -> None:
    _, _, oracle = quickstart(environment, tmp_path)
    environment.install(fake("soft", "software"), fake("weak", "integrated-gpu"))
    environment.install(fake("strong", "discrete-gpu"))
    device, line, digest = quickstart(environment, tmp_path)
    assert device == "strong"
    assert line.startswith("device  strong: strong is a discrete GPU (strong card), level exact")
    assert digest == oracle


def test_a_software_rasteriser_is_used_only_when_named(
    environment: Environment, tmp_path: Path
) -> None:
    environment.install(fake("soft", "software"))
    device, line, _ = quickstart(environment, tmp_path)
    assert device == "cpu"
    assert "no accelerator is available; software rasterisers (soft) are used only when" in line
    assert quickstart(environment, tmp_path, "--device", "soft")[:2] == (
        "soft",
        "device  soft: asked for",
    )
