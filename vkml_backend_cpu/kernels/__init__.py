"""The array kernels of the oracle: pure functions on NumPy arrays, one file per access pattern.

Every function takes arrays of any layout (transposed, broadcast, negative strides, read-only),
leaves them alone, and returns a fresh C-contiguous array that depends on values and shapes only.
Float arrays are float32. The caller enters ``np.errstate`` and makes every NaN canonical.
"""
