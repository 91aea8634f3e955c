"""Whether two ways of running a program give the same bits: `python benchmarks/same_bits.py`.

For each library that is installed: the same inputs, computed twice, and the share of elements whose
bits differ. Each run is a process of its own. Nothing is timed. What is not installed is said.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

HEAD: Final = """
import sys
import numpy as np
rng = np.random.default_rng(0)
x = rng.standard_normal((256, 512)).astype(np.float32)
w = (rng.standard_normal((512, 256)) / 16).astype(np.float32)
way, out = sys.argv[1:3]
"""
TORCH: Final = """
import torch
torch.set_num_threads(int(way))
torch.manual_seed(0)
x, w = torch.tensor(x), torch.tensor(w)
model = torch.nn.Sequential(torch.nn.Linear(512, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer, y = torch.optim.SGD(model.parameters(), lr=0.1), torch.arange(256) % 10
for _ in range(20):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
np.savez(out, matmul=x @ w, sum=x.sum(), softmax=x.softmax(1),
         trained=model[0].weight.detach(), version=torch.__version__)
"""
VKML: Final = """
import vkml
from vkml import nn, optim
vkml.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10)).to(way)
x, w = vkml.tensor(x, device=way), vkml.tensor(w, device=way)
optimizer, y = optim.SGD(model.parameters(), lr=0.1), vkml.arange(256, device=way) % 10
for _ in range(20):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
np.savez(out, matmul=(x @ w).numpy(), sum=x.sum().numpy(), softmax=x.softmax(1).numpy(),
         trained=model[0].weight.numpy(), version=vkml.__version__)
"""
JAX: Final = """
import jax
run = jax.jit if way == "jit" else lambda f: f
np.savez(out, matmul=run(lambda: x @ w)(), sum=run(jax.numpy.sum)(x),
         softmax=run(lambda x: jax.nn.softmax(x))(x), axpy=run(lambda x: x * x * 1.1 + x)(x),
         version=jax.__version__)
"""
TINYGRAD: Final = """
import os
os.environ["DEV"] = way
from importlib.metadata import version
from tinygrad import Tensor
x, w = Tensor(x[:64, :128]), Tensor(w[:128, :64])
np.savez(out, matmul=(x @ w).numpy(), sum=x.sum().numpy(), softmax=x.softmax().numpy(),
         exp=x.exp().numpy(), version=version("tinygrad"))
"""
NCNN: Final = """
import os
import ncnn
with open(out + ".param", "w") as file:
    file.write("7767517\\n3 3\\nInput in 0 1 a\\n")
    file.write("UnaryOp e 1 1 a b 0=7\\nSoftmax s 1 1 b c 0=0 1=1\\n")
open(out + ".bin", "wb").close()
net = ncnn.Net()
net.opt.use_vulkan_compute, net.opt.lightmode = way == "vulkan", False
for kind in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
    setattr(net.opt, "use_" + kind, False)
net.load_param(out + ".param")
net.load_model(out + ".bin")
run = net.create_extractor()
run.input("a", ncnn.Mat(x[0].copy()).clone())
np.savez(out, exp=np.array(run.extract("b")[1]), softmax=np.array(run.extract("c")[1]),
         version=ncnn.__version__)
os._exit(0)
"""
IREE: Final = """
import subprocess
from importlib.metadata import version
import iree.compiler
source = '''
func.func @f(%x: tensor<256x512xf32>, %w: tensor<512x256xf32>)
    -> (tensor<256x256xf32>, tensor<256x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %product = linalg.matmul ins(%x, %w : tensor<256x512xf32>, tensor<512x256xf32>)
    outs(%start : tensor<256x256xf32>) -> tensor<256x256xf32>
  %exp = math.exp %x : tensor<256x512xf32>
  return %product, %exp : tensor<256x256xf32>, tensor<256x512xf32>
}'''
target, more = {"cpu": ("llvm-cpu", ["--iree-llvmcpu-target-cpu=host"]),
                "vulkan": ("vulkan-spirv", [])}[way]
with open(out + ".vmfb", "wb") as file:
    file.write(iree.compiler.compile_str(source, target_backends=[target], extra_args=more))
np.save(out + ".x.npy", x)
np.save(out + ".w.npy", w)
device = {"cpu": "local-task", "vulkan": "vulkan"}[way]
subprocess.run(["iree-run-module", "--device=" + device, "--module=" + out + ".vmfb",
                "--function=f", "--input=@" + out + ".x.npy", "--input=@" + out + ".w.npy",
                "--output=@" + out + ".0.npy", "--output=@" + out + ".1.npy"],
               check=True, capture_output=True)
np.savez(out, matmul=np.load(out + ".0.npy"), exp=np.load(out + ".1.npy"),
         version=version("iree-base-compiler"))
"""


class Case(NamedTuple):
    """One library, its program, and two ways of running it."""

    library: str
    program: str
    ways: tuple[str, str]
    what: str


CASES: Final = (
    Case("vkml", VKML, ("cpu", "vulkan"), "two devices"),
    Case("PyTorch", TORCH, ("1", "2"), "1 and 2 threads"),
    Case("JAX", JAX, ("jit", "op by op"), "jit, and one operation after another"),
    Case("tinygrad", TINYGRAD, ("CPU", "PYTHON"), "the devices CPU and PYTHON"),
    Case("ncnn", NCNN, ("cpu", "vulkan"), "CPU and Vulkan"),
    Case("IREE", IREE, ("cpu", "vulkan"), "CPU and Vulkan"),
)


def compared(case: Case, folder: Path) -> Iterator[str]:
    """Run a case twice; give its version and what share of each result differs."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    results = []
    for way in case.ways:
        out = folder / f"{case.library}-{way.replace(' ', '-')}.npz"
        command = [sys.executable, "-c", HEAD + case.program, way, str(out)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )
        if done.returncode:
            yield f"did not run: {done.stderr.strip().splitlines()[-1]}"
            return
        results.append(np.load(out))
    one, two = results
    yield f"{one['version']}, {case.what}"
    for name in one.files:
        if name != "version":
            share = np.mean(one[name].view(np.int32) != two[name].view(np.int32))
            yield f"{name} {100 * share:.3g} %"


def main() -> None:
    """Print a row a library."""
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            version, *shares = compared(case, Path(folder))
            print(f"| {case.library} {version} | {', '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
