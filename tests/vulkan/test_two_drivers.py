"""Two drivers at once: every device of both is listed, judged by itself, and told by the doctor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import needs_vulkan  # noqa: F401
import pytest

ROOT = Path(__file__).parents[2]
NAMED = os.environ.get("VK_DRIVER_FILES", "").split(os.pathsep)
LAVAPIPE = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
SWIFTSHADER = [
    path
    for path in map(
        Path, (*NAMED, ROOT / ".venv/swiftshader/icd.json", "/opt/swiftshader/icd.json")
    )
    if (path.parent / "libvk_swiftshader.so").is_file()
]
pytestmark = [
    pytest.mark.swiftshader,
    pytest.mark.skipif(not LAVAPIPE, reason="Mesa's lavapipe is not installed"),
    pytest.mark.skipif(not SWIFTSHADER, reason="SwiftShader is not here: tools/swiftshader.sh"),
]


def vkml(command: str, order: int) -> list[str]:
    """Run a command of vkml's with both drivers, in this order or the other."""
    files = os.pathsep.join(map(str, [LAVAPIPE[0], SWIFTSHADER[0]][::order]))
    environ = {k: v for k, v in os.environ.items() if not k.startswith("VKML_")}
    done = subprocess.run(
        [sys.executable, "-m", "vkml.cli", command],
        env={**environ, "VK_DRIVER_FILES": files, "VK_ICD_FILENAMES": files},
        cwd=ROOT, capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("order", [1, -1])
def test_both_are_listed(order: int) -> None:
    lines = vkml("devices", order)
    rows = {line.split()[0]: line for line in lines if line.startswith("  vulkan")}
    assert list(rows) == ["vulkan", "vulkan:1"]
    assert all(any(name in row for row in rows.values()) for name in ("llvmpipe", "SwiftShader"))
    assert "software rasterisers (vulkan, vulkan:1) are used only when named" in lines[-1]


def test_the_doctor_opens_both_and_tells_the_level_of_each() -> None:
    lines = vkml("doctor", 1)
    assert any(line.endswith("works, devices: 2") for line in lines)
    told = [line for line in lines if line.startswith("  vulkan") and " software " in line]
    levels = {name: line for line in told for name in ("llvmpipe", "SwiftShader") if name in line}
    assert levels["llvmpipe"].endswith("level exact")
    assert levels["SwiftShader"].endswith("level exact-normal")
