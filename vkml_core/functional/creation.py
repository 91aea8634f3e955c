"""Functions that make tensors from data and from numbers."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core import spans
from vkml_core.dtypes import (
    DEFAULT,
    DType,
    Scalar,
    float32,
    int64,
    scalar_category,
    to_dtype,
)
from vkml_core.errors import ArgumentError, ArgumentTypeError, DTypeError, OutOfMemoryError
from vkml_core.functional.common import number_arg, scalar_arg, shape_args, tensor_arg, wrap
from vkml_core.functional.elementwise import call
from vkml_core.functional.shape import count
from vkml_core.graph import Storage, build, data, full
from vkml_core.plugins import canonical, default_device, open_device
from vkml_core.public import public
from vkml_core.shapes import MAX_RANK, check_shape, to_int
from vkml_core.tensor import Tensor

Device = str | None
HOST_LIMIT: Final = 2**28
"""The most elements of a range of floats, which is worked out on the host in float64."""


def device_name(device: object) -> str:
    """Give the canonical name of a device; None means the default one."""
    return default_device() if device is None else canonical(device)


def upload(array: npt.NDArray[Any], dtype: DType, device: str) -> Tensor:
    """Copy an array to a device; every NaN becomes the contract's (docs/numerics.md, rule 3)."""
    shape = check_shape(array.shape, "tensor")
    host = np.array(array, dtype=dtype.numpy, order="C", copy=True)
    if dtype.is_floating_point:
        host[np.isnan(host)] = np.nan
    opened = open_device(device)
    with spans.span(spans.Phase.READ):
        buffer = opened.upload(host)
    return Tensor(data(Storage(buffer, opened), shape, dtype, device))


def _host(values: object) -> npt.NDArray[Any]:
    """Turn anything array-like into a NumPy array, with errors that say what is wrong."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise ArgumentError(f"tensor: the data does not form an array: {error}") from None
    if array.ndim > MAX_RANK:
        check_shape(array.shape, "tensor")
    if array.dtype.kind not in "biuf" and array.size:
        raise DTypeError(
            f"tensor: data of NumPy dtype {array.dtype} is not supported; "
            "vkml has bool_, int32, int64, float16, float32"
        )
    return array


def _inferred(values: object, array: npt.NDArray[Any]) -> DType:
    if isinstance(values, np.ndarray | np.generic):
        return to_dtype(array.dtype)
    if array.size == 0 or array.dtype.kind == "f":
        return float32
    return DEFAULT["bool" if array.dtype.kind == "b" else "int"]


def _convert(array: npt.NDArray[Any], dtype: DType) -> npt.NDArray[Any]:
    if dtype.category == "int" and array.dtype.kind == "f":
        array = np.trunc(array)
    if dtype.category == "int" and array.size and array.dtype.kind != "b":
        info = np.iinfo(dtype.numpy)
        low, high = array.min(), array.max()
        if not (low >= info.min and high <= info.max):
            raise ArgumentError(
                f"tensor: values from {low} to {high} do not fit {dtype.name} "
                f"[{info.min}, {info.max}]"
            )
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype.numpy)


@public(method=False)
def tensor(
    data: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Copy numbers, nested lists, a NumPy array or a tensor into a new leaf.

    Python floats and float64 become float32, Python ints int64.

    >>> import vkml
    >>> vkml.tensor([[1, 2], [3, 4]], dtype=vkml.float32).shape
    (2, 2)
    """
    name = device_name(
        device if device is not None or not isinstance(data, Tensor) else data.device
    )
    values = data.numpy() if isinstance(data, Tensor) else data
    array = _host(values)
    wanted = _inferred(values, array) if dtype is None else to_dtype(dtype)
    made = upload(_convert(array, wanted), wanted, name)
    return made.requires_grad_(requires_grad)


@public(method=False)
def from_numpy(array: npt.NDArray[Any], device: Device = None) -> Tensor:
    """Copy a NumPy array into a tensor."""
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(f"from_numpy: expected an ndarray, got {type(array).__name__}")
    return tensor(array, device=device)


@public(method=False)
def asarray(t: Tensor) -> npt.NDArray[Any]:
    """Copy a tensor into a NumPy array."""
    return tensor_arg(t, "asarray: t").numpy()


def _filled(
    op: str, shape: Any, value: object, dtype: Any, device: Device, requires_grad: bool = False
) -> Tensor:
    number = scalar_arg(value, f"{op}: value")
    kind = DEFAULT[scalar_category(number)] if dtype is None else to_dtype(dtype)
    made = wrap(full(check_shape(shape, op), number, kind, device_name(device)))
    return made.requires_grad_(requires_grad)


@public(method=False, name="full")
def full_(
    shape: Any, value: Scalar, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor whose every element is `value`."""
    return _filled("full", shape, value, dtype, device, requires_grad)


@public(method=False)
def zeros(
    *shape: Any, dtype: Any = float32, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor of zeros."""
    return _filled("zeros", shape_args("zeros", shape), 0.0, dtype, device, requires_grad)


@public(method=False)
def ones(
    *shape: Any, dtype: Any = float32, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor of ones."""
    return _filled("ones", shape_args("ones", shape), 1.0, dtype, device, requires_grad)


@public(method=False)
def full_like(t: Tensor, value: Scalar, dtype: Any = None) -> Tensor:
    """Like `full`, with the shape, dtype and device of `t`."""
    like = tensor_arg(t, "full_like: t")
    return _filled(
        "full_like", like.shape, value, like.dtype if dtype is None else dtype, like.device
    )


@public(method=False)
def zeros_like(t: Tensor, dtype: Any = None) -> Tensor:
    """Make zeros with the shape, dtype and device of `t`."""
    return full_like(t, 0, dtype)


@public(method=False)
def ones_like(t: Tensor, dtype: Any = None) -> Tensor:
    """Make ones with the shape, dtype and device of `t`."""
    return full_like(t, 1, dtype)


@public(method=False)
def arange(
    start: Scalar,
    stop: Scalar | None = None,
    step: Scalar = 1,
    dtype: Any = None,
    device: Device = None,
) -> Tensor:
    """Give start, start + step, … up to but not including stop; one argument is the stop."""
    first, last = (0, start) if stop is None else (start, stop)
    numbers = [number_arg(v, "arange") for v in (first, last, step)]
    if numbers[2] == 0 or not np.isfinite(numbers).all():
        raise ArgumentError(f"arange: step must not be 0 and all must be finite, got {numbers}")
    name = device_name(device)
    floating = "float" in {scalar_category(v) for v in (first, last, step)}
    wanted = (float32 if floating else int64) if dtype is None else to_dtype(dtype)
    if floating:
        length = _host_length(max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2])), "arange")
        host = numbers[0] + np.arange(length, dtype=np.float64) * numbers[2]
        return upload(_convert(host, wanted), wanted, name)
    begin, end, by = (to_int(v, "arange") for v in (first, last, step))
    span = range(begin, end, by)
    return convert(count(len(span), begin, name, by), wanted)


def _host_length(n: int, op: str) -> int:
    if n > HOST_LIMIT:
        raise OutOfMemoryError(
            f"{op}: {n} numbers would be worked out on the host, the limit is {HOST_LIMIT}"
        )
    return n


def convert(x: Tensor, dtype: DType) -> Tensor:
    """Give x in another dtype."""
    return x if x.dtype is dtype else wrap(build.cast(x.node, dtype=dtype))


@public(method=False)
def linspace(start: float, end: float, steps: int, device: Device = None) -> Tensor:
    """Give `steps` numbers from start to end, evenly spaced (worked out in float64)."""
    n = to_int(steps, "linspace: steps")
    if n < 0:
        raise ArgumentError(f"linspace: steps must be ≥ 0, got {n}")
    _host_length(n, "linspace")
    ends = number_arg(start, "linspace: start"), number_arg(end, "linspace: end")
    with np.errstate(invalid="ignore", over="ignore"):
        host = np.linspace(*ends, n, dtype=np.float64)
    return upload(_convert(host, float32), float32, device_name(device))


@public(method=False)
def eye(n: int, m: int | None = None, dtype: Any = float32, device: Device = None) -> Tensor:
    """Give ones on the diagonal of an (n, m) matrix of zeros."""
    rows = to_int(n, "eye: n")
    cols = rows if m is None else to_int(m, "eye: m")
    check_shape((rows, cols), "eye")
    name = device_name(device)
    on = call("equal", count(rows, 0, name).reshape(rows, 1), count(cols, 0, name))
    return convert(on, to_dtype(dtype))
