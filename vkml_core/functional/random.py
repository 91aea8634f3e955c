"""Random numbers: Philox, a function of (seed, offset, index) and nothing else."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from typing import Any, Final

from vkml_core.dtypes import bool_, float32, int64, to_dtype
from vkml_core.errors import ArgumentError, ArgumentTypeError, DTypeError
from vkml_core.functional.common import shape_args, wrap
from vkml_core.functional.creation import Device, convert, device_name, full_like
from vkml_core.functional.elementwise import call, where
from vkml_core.graph import build, full, tracing
from vkml_core.live import LiveInt, Source, live
from vkml_core.public import public
from vkml_core.shapes import check_shape, to_int
from vkml_core.tensor import Tensor


class _Generator:
    """Hands out a fresh offset for every call that does not name its own seed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.set(secrets.randbits(63), 0)

    def set(self, seed: int, calls: int) -> None:
        """Go on as after `calls` calls since `manual_seed(seed)`."""
        with self.lock:
            self.seed, self.calls = seed, calls

    def give_back(self, seed: int, first: int, count: int) -> None:
        """Take back the `count` calls from `first` on, unless others were made since."""
        with self.lock:
            if (self.seed, self.calls) == (seed, first + count):
                self.calls = first

    def get(self, step: int = 0) -> tuple[int, int]:
        """Give the seed and the number of calls so far, and count `step` more."""
        with self.lock:
            self.calls += step
            return self.seed, self.calls - step


_generator: Final = _Generator()
_OWN_STREAM: Final = 2**62
_LIMITS: Final = {"seed": 2**63, "calls": _OWN_STREAM}
"""What the generator's state holds, and the first number that each part may not reach."""


@public(method=False)
def manual_seed(seed: int) -> None:
    """Seed everything that is random; the numbers are the same on every device."""
    _refused("manual_seed")
    value = to_int(seed, "manual_seed: seed")
    if not 0 <= value < 2**63:
        raise ArgumentError(f"manual_seed: seed must be from 0 to 2^63 − 1, got {value}")
    _generator.set(value, 0)


@public(method=False)
def get_rng_state() -> dict[str, int]:
    """Give the state of the generator behind `manual_seed`: its seed and the calls since.

    Two plain ints, which may be saved as JSON. Calls with a seed of their own do not count.

    >>> import vkml
    >>> vkml.manual_seed(7)
    >>> a = vkml.rand(2)
    >>> vkml.get_rng_state()
    {'seed': 7, 'calls': 1}
    """
    _refused("get_rng_state")
    return dict(zip(_LIMITS, _generator.get(), strict=True))


@public(method=False)
def set_rng_state(state: Mapping[str, int]) -> None:
    """Go on from a state that `get_rng_state` gave: the same numbers follow, on every device.

    A state that is not a dict of "seed" and "calls" is an ArgumentTypeError or an ArgumentError;
    then nothing has changed.
    """
    _refused("set_rng_state")
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(f"set_rng_state: expected a dict, got {type(state).__name__}")
    if set(state) != set(_LIMITS):
        names = ", ".join(map(repr, state)) or "nothing"
        raise ArgumentError(f"set_rng_state: expected 'seed' and 'calls', got {names}")
    values = {name: to_int(state[name], f"set_rng_state: {name}") for name in _LIMITS}
    for name, value in values.items():
        if not 0 <= value < _LIMITS[name]:
            most = f"2^{_LIMITS[name].bit_length() - 1} − 1"
            raise ArgumentError(f"set_rng_state: {name} must be from 0 to {most}, got {value}")
    _generator.set(**values)


def _refused(what: str) -> None:
    trace = tracing()
    if trace is not None:
        trace.refuse(what, "call it before the step or after it")


class _Draws:
    """The unseeded calls of a compiled step, as a feed of their seeds and offsets."""

    def __init__(self) -> None:
        self.seed, self.first = _generator.get()
        self.count = 0

    def next(self) -> tuple[int, int]:
        """Give the live (seed, offset) of one more call."""
        i, self.count = self.count, self.count + 1
        seed = Source(("seed of the generator",), lambda: self.seed, self)
        offset = Source(("call of the generator", i), lambda: _OWN_STREAM + self.first + i, self)
        return live(self.seed, seed), live(_OWN_STREAM + self.first + i, offset)

    def begin(self) -> None:
        """Nothing has to be remembered."""

    def holds(self) -> bool:
        """Nothing was decided by these numbers."""
        return True

    def take(self) -> bool:
        """Count the calls of one more step."""
        self.seed, self.first = _generator.get(step=self.count)
        return True

    def keep(self) -> None:
        """They are counted already."""

    def give_back(self) -> None:
        """Take the calls back."""
        _generator.give_back(self.seed, self.first, self.count)


def next_seed() -> tuple[int, int]:
    """Give the (seed, offset) of the next unseeded random call."""
    trace = tracing()
    if trace is not None:
        draws: Any = trace.feed(_generator, _Draws)
        found: tuple[int, int] = draws.next()
        return found
    seed, calls = _generator.get(step=1)
    return seed, _OWN_STREAM + calls


def random_bits(
    shape: Any, bits: int, seed: int | None, offset: int, device: str, op: str
) -> Tensor:
    """Give the top `bits` of a fresh Philox word for each element, as int32."""
    pair = next_seed() if seed is None else (seed, offset)
    numbers = [
        v if isinstance(v, LiveInt) else to_int(v, f"{op}: {what}")
        for v, what in zip(pair, ("seed", "offset"), strict=True)
    ]
    if not all(0 <= int(v) < 2**63 for v in numbers):
        raise ArgumentError(f"{op}: seed and offset must be from 0 to 2^63 − 1, got {numbers}")
    leaves = [full((), v, int64, device) for v in numbers]
    return wrap(build.random_bits(*leaves, shape=check_shape(shape, op), bits=bits))


def uniform(shape: Any, seed: int | None, offset: int, device: str, op: str) -> Tensor:
    """Give numbers uniform in [0, 1): the top 24 bits of a word · 2⁻²⁴."""
    return convert(random_bits(shape, 24, seed, offset, device, op), float32) * 2.0**-24


def _read(op: str, args: tuple[Any, ...], seed: Any, offset: Any) -> tuple[Any, Any, Any]:
    """Read `rand(2, 3, seed=1)` and `rand((2, 3), 1)` alike as shape, seed and offset."""
    if len(args) < 2 or hasattr(args[0], "__index__"):
        return shape_args(op, args), seed, offset
    if len(args) > 3 or seed is not None or (len(args) == 3 and offset != 0):
        raise ArgumentTypeError(f"{op}: expected (shape, seed, offset), got {args}")
    return shape_args(op, args[:1]), args[1], args[2] if len(args) == 3 else offset


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
    sizes, seed, offset = _read("rand", shape, seed, offset)
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
    sizes, seed, offset = _read("randn", shape, seed, offset)
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
