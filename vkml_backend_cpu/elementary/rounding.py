"""From a float64 approximation with a proved error bound to the correctly rounded float32.

If the true value lies in v (1 ± bound) and both ends round to the same float32, so does the true
value (rounding is monotone). The inputs where the ends differ go to ``exact.evaluate``. This is
the rounding test of Ziv (1991). The kernels use only float64 + - * / sqrt rint, integer
operations and table look-ups, each of which IEEE 754 fixes to the bit, so neither the C library
nor the vector width of the machine can change a result.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vkml_backend_cpu.convert import canonical_nan
from vkml_backend_cpu.elementary import exact

Bool = NDArray[np.bool_]
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

    ``kernel`` approximates it in float64 with a relative error below ``bound`` for arguments in
    ``domain``, which contains 1; ``outside`` gives the values elsewhere, by C99 annex F.
    """

    name: str
    kernel: Callable[[Float64], Float64]
    bound: float
    domain: Callable[[Float32], Bool]
    outside: Callable[[Float32], Float32]

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

    def _block(self, x: Float32) -> Float32:
        inside = self.domain(x)
        whole = bool(inside.all())
        value = self.kernel((x if whole else np.where(inside, x, np.float32(1))).astype(np.float64))
        out = (value * (1 - self.bound)).astype(np.float32)
        undecided = out != (value * (1 + self.bound)).astype(np.float32)
        for i in np.flatnonzero(undecided):
            out[i] = exact.evaluate(self.name, float(x[i]) if inside[i] else 1.0)
        if not whole:
            out[~inside] = canonical_nan(self.outside(x[~inside]))
        return out


def correctly_rounded(
    bound: float, domain: Callable[[Float32], Bool], outside: Callable[[Float32], Float32]
) -> Callable[[Callable[[Float64], Float64]], Elementary]:
    """Decorate a float64 kernel: the result is its correctly rounded float32 function."""

    def decorate(kernel: Callable[[Float64], Float64]) -> Elementary:
        return Elementary(kernel.__name__, kernel, bound, domain, outside)

    return decorate
