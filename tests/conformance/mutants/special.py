"""Special values and ties: NaN, −0, equal elements, the last random words."""

from __future__ import annotations

from typing import Any

import numpy as np

from mutants.base import Altered, floats_only
from vkml_backend_cpu.kernels import random
from vkml_backend_cpu.table import TABLE
from vkml_core.backend import Array


def without_nan(attrs: Any, a: Array, b: Array) -> Array:
    """The larger operand by an instruction that gives the other one where one is NaN."""
    larger = TABLE["maximum"](attrs, a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, larger))


def from_zero(attrs: Any, x: Array) -> Array:
    """−x is computed as 0 − x, which makes +0 of +0."""
    return np.asarray(x.dtype.type(0) - x)


def last_largest(attrs: Any, x: Array) -> Array:
    """A comparison with ≥ where > is meant: of equal elements the last one is chosen."""
    rows = np.flip(x, attrs.axis)
    return x.shape[attrs.axis] - 1 - TABLE["argmax"](attrs, rows)


def off_by_one(attrs: Any, seed: Array, offset: Array) -> Array:
    """A thread makes four words; the one that makes the rest counts itself once too often."""
    count = int(np.prod(attrs.shape, dtype=np.int64))
    words = random.philox(int(seed), int(offset), count + 4)
    rest = count % 4
    if rest:
        words[count - rest : count] = words[count - rest + 4 : count + 4].copy()
    found: Array = (words[:count] >> np.uint32(32 - attrs.bits)).astype(np.int32)
    return found.reshape(attrs.shape)


nan = Altered("nan", {"maximum": floats_only("maximum", without_nan)})
zero = Altered("zero", {"neg": floats_only("neg", from_zero)})
ties = Altered("ties", {"argmax": last_largest})
philox = Altered("philox", {"random_bits": off_by_one})
