"""Small data sets for the examples, in their published formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.data.archives import encode_idx


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """IDX files of noise with a bright row where the label says; half of them packed."""
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(0)
    for stem, n in (("train", 900), ("t10k", 200)):
        labels = rng.integers(0, 10, n).astype(np.uint8)
        images = rng.integers(0, 200, (n, 10, 8)).astype(np.uint8)
        images[np.arange(n), labels] = 255
        packed = gzip.compress(encode_idx(images), mtime=0)
        (folder / f"{stem}-images-idx3-ubyte.gz").write_bytes(packed)
        (folder / f"{stem}-labels-idx1-ubyte").write_bytes(encode_idx(labels))
    return folder
