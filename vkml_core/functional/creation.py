"""Functions that make tensors: from data, from numbers, from random bits."""

from __future__ import annotations

import itertools
import math
import secrets
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.dtypes import (
    DEFAULT,
    DType,
    Scalar,
    bool_,
    float32,
    int64,
    scalar_category,
    to_dtype,
)
from vkml_core.errors import ArgumentError, ArgumentTypeError, DTypeError, OutOfMemoryError
from vkml_core.functional.common import number_arg, scalar_arg, shape_args, tensor_arg, wrap
from vkml_core.functional.elementwise import call, where
from vkml_core.functional.shape import count
from vkml_core.graph import build, data, full
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
    """Copy an array to a device."""
    host = np.array(array, dtype=dtype.numpy, order="C", copy=True)
    return Tensor(
        data(open_device(device).upload(host), check_shape(host.shape, "tensor"), dtype, device)
    )


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


# Random numbers: Philox, a function of (seed, offset, index) and nothing else.
class _Generator:
    """Hands out a fresh offset for every call that does not name its own seed."""

    def __init__(self) -> None:
        self.seed = secrets.randbits(63)
        self.calls = itertools.count()


_generator: Final = _Generator()
_OWN_STREAM: Final = 2**62


@public(method=False)
def manual_seed(seed: int) -> None:
    """Seed everything that is random; the numbers are the same on every device."""
    value = to_int(seed, "manual_seed: seed")
    if not 0 <= value < 2**63:
        raise ArgumentError(f"manual_seed: seed must be from 0 to 2^63 − 1, got {value}")
    _generator.seed, _generator.calls = value, itertools.count()


def next_seed() -> tuple[int, int]:
    """Give the (seed, offset) of the next unseeded random call."""
    return _generator.seed, _OWN_STREAM + next(_generator.calls)


def random_bits(
    shape: Any, bits: int, seed: int | None, offset: int, device: str, op: str
) -> Tensor:
    """Give the top `bits` of a fresh Philox word for each element, as int32."""
    pair = next_seed() if seed is None else (seed, offset)
    numbers = [to_int(v, f"{op}: {what}") for v, what in zip(pair, ("seed", "offset"), strict=True)]
    if min(numbers) < 0 or max(numbers) >= 2**63:
        raise ArgumentError(f"{op}: seed and offset must be from 0 to 2^63 − 1, got {numbers}")
    leaves = [full((), v, int64, device) for v in numbers]
    return wrap(build.random_bits(*leaves, shape=check_shape(shape, op), bits=bits))


def uniform(shape: Any, seed: int | None, offset: int, device: str, op: str) -> Tensor:
    """Give numbers uniform in [0, 1): the top 24 bits of a word · 2⁻²⁴."""
    return convert(random_bits(shape, 24, seed, offset, device, op), float32) * 2.0**-24


@public(method=False)
def rand(
    *shape: Any,
    seed: int | None = None,
    offset: int = 0,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Give numbers uniform in [0, 1): a multiple of 2⁻²⁴ each.

    With `seed` the result is a function of (shape, seed, offset); without, of `manual_seed` and
    the number of calls since.
    """
    sizes = shape_args("rand", shape)
    made = uniform(sizes, seed, offset, device_name(device), "rand")
    return made.requires_grad_(requires_grad)


# Wichura (1988), algorithm AS 241, PPND7: about seven figures.
_CENTRAL = (
    (59.109374720, 159.29113202, 50.434271938, 3.3871327179),
    (67.187563600, 78.757757664, 17.895169469, 1.0),
)
_MIDDLE = (
    (0.17023821103, 1.3067284816, 2.7568153900, 1.4234372777),
    (0.12021132975, 0.73700164250, 1.0),
)
_FAR = (
    (0.017337203997, 0.42868294337, 3.0812263860, 6.6579051150),
    (0.012258202635, 0.24197894225, 1.0),
)


def _ratio(r: Tensor, table: tuple[tuple[float, ...], tuple[float, ...]]) -> Tensor:
    """Evaluate a quotient of two polynomials by Horner's rule."""
    parts = []
    for coefficients in table:
        value = full_like(r, coefficients[0])
        for c in coefficients[1:]:
            value = value * r + c
        parts.append(value)
    return parts[0] / parts[1]


@public(method=False)
def randn(
    *shape: Any,
    seed: int | None = None,
    offset: int = 0,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Give standard normal numbers: the inverse distribution function of `rand`, stepwise rounded.

    Source: M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988), PPND7.
    """
    sizes = shape_args("randn", shape)
    # The middle of each of the 2^24 cells, as an exact distance from one half.
    q = (uniform(sizes, seed, offset, device_name(device), "randn") - 0.5) + 2.0**-25
    central = q * _ratio(0.180625 - q * q, _CENTRAL)
    tail = call("sqrt", -call("log", 0.5 - call("abs", q)))
    outer = where(tail <= 5.0, _ratio(tail - 1.6, _MIDDLE), _ratio(tail - 5.0, _FAR))
    made = where(call("abs", q) <= 0.425, central, where(q < 0.0, -outer, outer))
    return made.requires_grad_(requires_grad)


@public(method=False)
def randint(
    low: int,
    high: int | None = None,
    shape: Any = (),
    *,
    seed: int | None = None,
    offset: int = 0,
    dtype: Any = int64,
    device: Device = None,
) -> Tensor:
    """Give integers from low (0 if one bound is given) to high − 1, at most 2³¹ apart."""
    first, last = (0, low) if high is None else (low, high)
    begin, end = to_int(first, "randint: low"), to_int(last, "randint: high")
    if not 0 < end - begin <= 2**31:
        raise ArgumentError(f"randint: expected 0 < high − low ≤ 2^31, got [{begin}, {end})")
    kind = to_dtype(dtype)
    if kind is bool_:
        raise DTypeError("randint: dtype must be a number, got bool_")
    bits = random_bits(shape, 31, seed, offset, device_name(device), "randint")
    scaled = call("floor_divide", convert(bits, int64) * (end - begin), 2**31)
    return convert(scaled + begin, kind)
