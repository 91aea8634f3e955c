"""What a run leaves behind: the hash of its weights, and a summary as JSON."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

import vkml
from vkml import nn


def weights_sha256(model: nn.Module) -> str:
    """Hash every weight: name, dtype, shape and little-endian bytes, sorted by name."""
    digest = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        array = weight.numpy()
        array = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"{name} {weight.dtype.name} {weight.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Name what the run was made with."""
    return {
        "vkml": vkml.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def write(path: Path, summary: dict[str, Any]) -> None:
    """Write a summary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
