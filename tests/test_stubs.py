"""The committed type stubs are what the public table gives, and type checkers accept a program."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = """
import vkml
from vkml import nn, optim

x: vkml.Tensor = vkml.tensor([1.0], requires_grad=True, dtype=vkml.float32)
y: vkml.Tensor = (2 * x.exp() @ x + x[0]).sum(dim=0, keepdim=True)
with vkml.no_grad():
    x -= 0.5 * vkml.ones_like(x)
values, order = vkml.topk(x, 1)
optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1).step()
"""
WRONG = """
import vkml

vkml.relu("text")
vkml.tensor([1.0]).no_such_method()
"""


def test_stubs_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("write_stubs", ROOT / "tools" / "write_stubs.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for path, make in tool.STUBS.items():
        assert path.read_text() == make(), f"run python tools/write_stubs.py: {path.name}"


def mypy(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder), "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_program_is_type_checked(tmp_path: Path) -> None:
    right = mypy(PROGRAM, tmp_path)
    assert right.returncode == 0, right.stdout
    wrong = mypy(WRONG, tmp_path)
    assert wrong.stdout.count("error:") == 2, wrong.stdout
