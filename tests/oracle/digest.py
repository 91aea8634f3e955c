"""Prints the digests of all kernels and training runs as JSON: `python -m oracle.digest`."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

import vkml
from vkml_backend_cpu.table import TABLE
from vkml_core.settings import settings

from .cases import CASES
from .run import attributes, run
from .training import RUNS
from .values import rough


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def kernels() -> dict[str, str]:
    """Digest, for each row, the results of all its cases; matmul also in several tiles."""
    data = dict.fromkeys(sorted(TABLE), b"")
    for case in CASES:
        data[case.op] += run(case.op, case.attrs, *case.arrays).tobytes()
    data["matmul"] += run("matmul", None, rough("a", 230, 600), rough("b", 600, 250)).tobytes()
    data["sum"] += run("sum", attributes("sum", axes=(0,)), rough("s", 70_000)).tobytes()
    return {op: digest(bits)[:16] for op, bits in data.items()}


def training() -> dict[str, dict[str, str]]:
    """Digest each run as it is recorded and as it is computed at once."""
    modes = {"lazy": False, "eager": True}
    out: dict[str, dict[str, str]] = {}
    for name, train in RUNS.items():
        for mode, eager in modes.items():
            with vkml.eager_mode(eager):
                out.setdefault(name, {})[mode] = digest(train())
    return out


def report() -> dict[str, Any]:
    """Give all digests, and what they were computed with."""
    return {
        "kernels": kernels(),
        "training": training(),
        "features": np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
        "threads": settings().cpu_threads,
    }


if __name__ == "__main__":
    print(json.dumps(report()))
