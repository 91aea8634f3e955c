"""The same bits whatever vector units, BLAS and threads there are: kernels and whole runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from vkml_backend_cpu.table import TABLE

from .digests import KERNELS, TRAINING
from .training import RUNS

TESTS: Final = Path(__file__).parents[1]
FOUND: Final[list[str]] = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
"""What this machine has beyond NumPy's baseline, from the oldest on."""

ENVIRONMENTS: Final[dict[str, dict[str, str]]] = {
    "as it is": {},
    "no vector units beyond the baseline": {"NPY_DISABLE_CPU_FEATURES": " ".join(FOUND)},
    "the oldest vector unit alone": {"NPY_DISABLE_CPU_FEATURES": " ".join(FOUND[1:])},
    "one thread": {
        "VKML_CPU_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "two threads": {
        "VKML_CPU_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "OPENBLAS_CORETYPE": "Prescott",
    },
    "three threads": {"VKML_CPU_THREADS": "3"},
}


@cache
def report(environment: str) -> dict[str, Any]:
    """Run `oracle.digest` in a fresh interpreter."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VKML_", "NPY_", "OPENBLAS_"))}
    path = os.pathsep.join(
        [str(TESTS), str(TESTS.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    variables = kept | {"PYTHONPATH": path} | ENVIRONMENTS[environment]
    command = [sys.executable, "-W", "error", "-m", "oracle.digest"]
    done = subprocess.run(command, env=variables, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_kernels(environment: str) -> None:
    assert report(environment)["kernels"] == KERNELS


@pytest.mark.parametrize("mode", ["lazy", "eager"])
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_training(environment: str, mode: str) -> None:
    assert {run: of[mode] for run, of in report(environment)["training"].items()} == TRAINING


def test_the_environments_are_what_they_say() -> None:
    """NumPy obeys the variable, and the matrix product the number of threads."""
    assert report("as it is")["features"] == FOUND
    assert report("no vector units beyond the baseline")["features"] == []
    assert report("the oldest vector unit alone")["features"] == FOUND[:1]
    assert [report(f"{n} thread{s}")["threads"] for n, s in (("one", ""), ("three", "s"))] == [1, 3]


def test_every_kernel_and_run_has_a_digest() -> None:
    assert set(KERNELS) == set(TABLE)
    assert set(TRAINING) == set(RUNS)


@pytest.mark.parametrize("run", RUNS)
def test_runs_are_of_finite_numbers(run: str) -> None:
    numbers = np.frombuffer(RUNS[run](), np.float32)
    assert numbers.size > 300 and np.isfinite(numbers).all()
