"""What the compiler made: no fused multiply-add in products, and nothing depends on threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import vkml_backend_numba
from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels.tile import COLS, ROWS, tile


def test_a_tile_rounds_products_and_has_no_fma():
    @kernel
    def one(a, rows, along, b, down, size, out):
        tile(a, rows, along, b, down, 0, size, out)

    # (1 + 2^-12)^2 − (1 + 2^-11) is 2^-24 with an fma and 0 with two roundings.
    a = np.full((ROWS, 2), 1 + 2.0**-12, np.float32)
    b = np.full((2, COLS), 1 + 2.0**-12, np.float32)
    a[:, 0], b[0] = -1.0, 1 + 2.0**-11
    out = np.full((ROWS, COLS), 7.0, np.float32)
    tables = [np.arange(ROWS) * 2, np.arange(2), np.arange(2) * COLS]
    place = [x.__array_interface__["data"][0] for x in (a, tables[0], tables[1], b, tables[2], out)]
    one(*place[:5], 2, place[5])
    assert (out == 0).all()
    code = next(iter(one.inspect_asm().values()))
    assert "mulps" in code or "fmul" in code
    assert "fmadd" not in code and "fmla" not in code


PROGRAM = """
import hashlib, json, numpy as np, vkml
from vkml_core.plugins import register_backend, sources
from vkml_backend_numba.backend import backend
if "numba" not in sources():
    register_backend(backend)
draw = np.random.default_rng(0)
make = lambda *shape: vkml.tensor(
    draw.standard_normal(shape).astype(np.float32), device="numba", requires_grad=True)
x, w, a, b = make(5, 3, 17, 17), make(9, 3, 3, 3), make(150, 700), make(700, 90)
y = vkml.max_pool2d(vkml.relu(vkml.conv2d(x, w, padding=1)), 2)
loss = (y * y).sum() + vkml.tanh(a @ b).sum()
loss.backward()
found = b"".join(t.numpy().tobytes() for t in (loss, x.grad, w.grad, a.grad, b.grad))
print(json.dumps(hashlib.sha256(found).hexdigest()))
"""


def test_results_do_not_depend_on_threads():
    here = str(Path(vkml_backend_numba.__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    found = set()
    for threads in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONPATH": path, "VKML_CPU_THREADS": threads}
        environment["NUMBA_NUM_THREADS"] = threads
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.add(json.loads(done.stdout.splitlines()[-1]))
    assert len(found) == 1


def test_a_forked_child_computes():
    code = PROGRAM + "import os\npid = os.fork()\nif pid == 0:\n    (a @ b).numpy(); os._exit(0)\n"
    code += "assert os.waitpid(pid, 0)[1] == 0\n"
    here = str(Path(vkml_backend_numba.__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
