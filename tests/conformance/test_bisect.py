"""Bisecting a script names the first operation that differs, or says why it cannot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from vkml_conformance.bisect import BisectError, bisect

HERE = Path(__file__).parent
TRAINING = """\
import sys
import vkml
from vkml import nn, optim

vkml.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
print("this goes nowhere", sys.argv[1:])
for step in range(4):
    x = vkml.randn(8, 6, seed=step)
    y = vkml.randint(0, 3, (8,), seed=step)
    optimizer.zero_grad()
    loss = vkml.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


Write = Callable[[str], Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        file = tmp_path / "train.py"
        file.write_text(text)
        return file

    return write


def test_a_training_step_is_narrowed_to_one_operation(written: Write, tmp_path: Path) -> None:
    found = bisect(written(TRAINING), ("cpu", "broken_tables:wrong_exp"), ["a", "--b"])
    assert found is not None and found.call is not None
    assert [call.op for call in found.program.calls] == ["exp"]
    assert found.program.elements == 1
    assert found.recorded_at == "train.py:13", "where the loss is written"
    assert found.graph.computed_at == "train.py:16" and found.graph.number > 1
    assert found.graph.program.calls[found.call].op == "exp"
    assert found.difference is not None and found.difference.ulps == 1
    assert "exp (recorded at train.py:13) differs" in found.message
    file = tmp_path / "one.py"
    file.write_text(str(found).removeprefix(found.message))
    done = subprocess.run(
        [sys.executable, str(file)], env={"PYTHONPATH": str(HERE)}, capture_output=True, timeout=60
    )
    assert done.returncode == 1 and b"0x" in done.stdout, done.stderr


def test_no_difference_is_none(written: Write) -> None:
    assert bisect(written(TRAINING), ("cpu", "broken_tables:refusing_tanh")) is None


def test_what_takes_several_operations(written: Write) -> None:
    script = """\
import vkml
x = vkml.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
y = x.exp() + 1.0
z = y.T.sum(dim=1)
print(z)
"""
    found = bisect(written(script), ("cpu", "broken_tables:strided_sum"))
    assert found is not None and found.call is None and found.recorded_at == ""
    assert [call.op for call in found.program.calls] == ["permute", "sum"]
    assert "together they differ: permute → sum" in found.message


def test_it_goes_on_after_equal_graphs(written: Write) -> None:
    script = """\
import vkml
x = vkml.tensor([1.0, 2.0])
for i in range(3):
    x = (x + 1.0).realize()
w = vkml.zeros(2)
w.assign_(x)
w += x.exp()
print(w)
"""
    found = bisect(written(script), ("broken_tables:strided_sum", "broken_tables:wrong_exp"))
    assert found is not None and found.graph.number == 5
    assert found.recorded_at == "train.py:7" and found.graph.computed_at == "train.py:8"
    assert "'wrong-exp', 'strided-sum'" in found.script


ERRORS = {
    "it names devices itself": (
        "import vkml\nprint(vkml.ones(2, device='cpu').exp())\n",
        "train.py computes nothing on the device that it is given: it names devices itself",
    ),
    "nothing is computed": ("x = 1\n", "or there is nothing to compute"),
    "it fails": (
        "import vkml\nvkml.ones(2).exp().sum()\n1 / 0\n",
        "train.py fails on cpu and broken_tables:deadly_tanh, all results until then are equal: "
        "ZeroDivisionError at train.py:3: division by zero",
    ),
    "it exits": ("raise SystemExit(3)\n", "it exits with 3"),
    "another way": (
        "import vkml, os\nx = vkml.ones(2)\n"
        "print(-x if os.environ['VKML_DEVICE'] == 'cpu' else x * 2)\n",
        "graph 1 is not the same on both devices .computed at train.py:3 and train.py:3",
    ),
    "other numbers": (
        "import vkml, os\nprint(-vkml.tensor([float(os.getpid())]))\n",
        "graph 1, computed at train.py:2, gets other numbers in each run",
    ),
    "another end": (
        "import vkml, os\nprint(-vkml.ones(1))\n"
        "if os.environ['VKML_DEVICE'] != 'cpu': print(-vkml.ones(2))\n",
        "train.py ends earlier on cpu",
    ),
    "it dies": (
        "import vkml, sys\nprint('last words', file=sys.stderr)\nprint(vkml.ones(2).tanh())\n",
        "deadly_tanh: the process ended with signal SIGKILL; it printed last:\nlast words",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_compared_is_said(name: str, written: Write) -> None:
    script, told = ERRORS[name]
    with pytest.raises(BisectError, match=told):
        bisect(written(script), ("cpu", "broken_tables:deadly_tanh"))


def test_a_device_named_in_the_script_on_one_side_only(written: Write) -> None:
    script = "import vkml\nprint(-vkml.ones(2, device='cpu'))\n"
    with pytest.raises(BisectError, match="names devices itself"):
        bisect(written(script), ("cpu", "broken_tables:wrong_exp"))


def test_data_may_be_made_on_another_device(written: Write) -> None:
    script = "import vkml\nx = (-vkml.ones(2, device='cpu')).numpy()\nprint(vkml.tensor(x).exp())\n"
    found = bisect(written(script), ("cpu", "broken_tables:wrong_exp"))
    assert found is not None and found.graph.number == 2


@pytest.mark.parametrize("device", ["nowhere", "cpu:7", "broken_tables:none", "no_module:backend"])
def test_an_unknown_device_is_said(device: str, written: Write) -> None:
    with pytest.raises(BisectError, match=f"^{device}: "):
        bisect(written("import vkml\nprint(-vkml.ones(1))\n"), ("cpu", device))


def test_no_such_file() -> None:
    with pytest.raises(BisectError, match=r"no file nowhere\.py"):
        bisect("nowhere.py", ("cpu", "cpu"))
