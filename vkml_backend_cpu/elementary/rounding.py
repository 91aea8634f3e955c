"""From a float64 approximation with a proved error bound to the correctly rounded float32.

If the true value lies in v (1 ± bound) and both ends round to the same float32, so does the true
value (rounding is monotone). The inputs where the ends differ go to ``exact.evaluate``. This is
the rounding test of Ziv (1991). The kernels use only float64 + - * / sqrt rint, integer
operations and table look-ups, each of which IEEE 754 fixes to the bit, so neither the C library
nor the vector width of the machine can change a result.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkml_backend_cpu.convert import canonical_nan
from vkml_backend_cpu.elementary import exact

Bool = NDArray[np.bool_]
Words = NDArray[Any]  # uint64; the stubs of NumPy take uint64 >> int for signed
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

BLOCK = 1 << 14  # elements; the float64 temporaries of a block stay in a second-level cache


def require_float32(*arrays: Float32) -> None:
    """Raise TypeError unless every array is float32."""
    for array in arrays:
        if array.dtype != np.float32:
            raise TypeError(f"elementary functions take float32, got {array.dtype}")


@dataclass(frozen=True)
class Elementary:
    """A unary function on float32, correctly rounded for all 2^32 inputs.

    ``kernel`` approximates it in float64 with a relative error below ``bound`` for the arguments
    between ``low`` and ``high``, both excluded, which contain 1. ``limits`` maps single arguments
    to their values and overrules the kernel at zero; where neither applies the value is NaN.
    With ``signed_zero`` the value at -0 is minus the value at +0. The cases are C99 annex F's.
    """

    name: str
    kernel: Callable[[Float64], Float64]
    bound: float
    low: float
    high: float
    limits: Mapping[float, float]
    signed_zero: bool

    def __call__(self, x: Float32) -> Float32:
        """Apply to a float32 array of any shape; fresh result of that shape, canonical NaN."""
        require_float32(x)
        flat = np.ascontiguousarray(x).reshape(-1)
        out = np.empty_like(flat)
        with np.errstate(all="ignore"):
            for start in range(0, flat.size, BLOCK):
                part = slice(start, start + BLOCK)
                out[part] = self._block(flat[part])
        return out.reshape(x.shape)

    def inside(self, x: Float32) -> Bool:
        """Where the kernel applies."""
        inside: Bool = (x > self.low) & (x < self.high)
        if 0.0 in self.limits:
            inside &= x != 0
        return inside

    def _block(self, x: Float32) -> Float32:
        inside = self.inside(x)
        if inside.all():
            return self._rounded(x)
        out = self._rounded(np.where(inside, x, np.float32(1)))
        out[~inside] = self._outside(x[~inside])
        return out

    def _rounded(self, x: Float32) -> Float32:
        value = self.kernel(x.astype(np.float64))
        low = (value * (1 - self.bound)).astype(np.float32)
        high = (value * (1 + self.bound)).astype(np.float32)
        for i in np.flatnonzero(low != high):
            low[i] = exact.evaluate(self.name, float(x[i]))
        return low

    def _outside(self, x: Float32) -> Float32:
        out = np.full_like(x, np.nan)
        for argument, value in self.limits.items():
            out[x == argument] = value
        if self.signed_zero:
            np.copysign(out, x, out=out, where=x == 0)
        return canonical_nan(out)


def correctly_rounded(
    bound: float,
    low: float = -math.inf,
    high: float = math.inf,
    limits: Mapping[float, float] = MappingProxyType({}),
    signed_zero: bool = False,
) -> Callable[[Callable[[Float64], Float64]], Elementary]:
    """Decorate a float64 kernel: the result is its correctly rounded float32 function."""

    def decorate(kernel: Callable[[Float64], Float64]) -> Elementary:
        return Elementary(kernel.__name__, kernel, bound, low, high, limits, signed_zero)

    return decorate
