"""Numbers and small functions that the expressions of `operations` and other kernels use."""

from __future__ import annotations

from typing import Final

import numpy as np

from vkml_backend_numba.compiling import kernel

F0: Final = np.float32(0.0)
F1: Final = np.float32(1.0)
NAN: Final = np.float32(np.nan)
INF: Final = np.float32(np.inf)


@kernel
def one_nan(x):
    """Give x, a NaN with the contract's bits."""
    return x if x == x else NAN


@kernel
def floored(x, y):
    """Divide integers towards −∞; the least one by −1 wraps."""
    if y == -1:
        return -x
    if y == 0:
        return 0
    return x // y


@kernel
def saturated(x, bound, least, most):
    """Truncate a float32; too large saturates, NaN gives 0."""
    inside = abs(x) < bound
    whole = np.int64(x if inside else F0)
    return whole if inside else (most if x >= bound else (least if x <= -bound else 0))


@kernel
def log_end(x):
    """Give a logarithm of what is not positive and finite."""
    return -INF if x == F0 else (INF if x == INF else NAN)


@kernel
def log1p_end(x):
    """Give log1p of what is not between −1 and ∞, or of a zero."""
    return x if (x == F0) | (x == INF) else (-INF if x == -F1 else NAN)
