"""What a plug-in must satisfy, rule by rule: version, members, device list, capabilities."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from vkml_core.backend import (
    API_VERSION,
    Available,
    Capabilities,
    DeviceInfo,
    DeviceKind,
    Level,
    Unavailable,
)
from vkml_core.discovery import Refused
from vkml_core.errors import RegistrationError
from vkml_core.ops.spec import REGISTRY, Kind, OpSpec

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
_METHODS: Final = {"probe": 0, "devices": 0, "open": 1}
"""Methods of a backend and how many arguments they are called with."""
_DEVICE_METHODS: Final = {
    "capabilities": 0,
    "upload": 1,
    "download": 3,
    "compile": 1,
    "synchronize": 0,
    "stats": 0,
    "report": 0,
}
_NEVER_RUN: Final = frozenset({Kind.LEAF, Kind.VIEW, Kind.ASSIGN})
"""What the scheduler turns into slots, views and copies."""


def check_version(backend: Any, distribution: str) -> None:
    """Refuse another major version of the backend contract, with both and what to install."""
    theirs = getattr(backend, "API_VERSION", None)
    if theirs is None:
        return  # the check of the members tells everything that is missing
    match theirs:
        case (int(major), int(minor)):
            pass
        case _:
            raise Refused("version", f"API_VERSION is {theirs!r}, expected (major, minor)")
    if major == API_VERSION[0]:
        return
    ours = ".".join(map(str, API_VERSION))
    newer = f"{distribution} (pip install -U {distribution})"
    if major > API_VERSION[0]:  # by its name, pip would find a package of somebody else's
        newer = "vkml, from where this one came"
    raise Refused(
        "version",
        f"the plug-in speaks backend API {major}.{minor}, this vkml speaks {ours}",
        f"install a newer {newer}, or a {distribution} made for backend API {API_VERSION[0]}",
    )


def check_backend(backend: Any, name: str) -> None:
    """Refuse what is not a `Backend` called `name`, telling every rule that it breaks."""
    if isinstance(backend, type):
        raise Refused("check", f"{backend.__name__} is a class; offer an instance or a module")
    wrong = [f"{m} is missing" for m in ("NAME", "API_VERSION") if not hasattr(backend, m)]
    wrong += _broken_methods(backend, _METHODS)
    found = getattr(backend, "NAME", name)
    if found != name:
        wrong.append(f"NAME is {found!r} but it is registered as {name!r}")
    elif not _NAME.fullmatch(name):
        wrong.append(f"the name {name!r} must be lower-case letters, digits, '-' and '_'")
    if wrong:
        raise Refused("check", "; ".join(wrong))


def check_probe(answer: Any) -> None:
    """Refuse a backend that is unavailable here, with its own reason and advice."""
    if isinstance(answer, Unavailable):
        raise Refused("probe", answer.reason, answer.advice or "mend that and try again")
    if not isinstance(answer, Available):
        raise Refused("probe", f"probe() gave {answer!r}, expected Available or Unavailable")


def check_infos(infos: Any) -> tuple[DeviceInfo, ...]:
    """Give the devices by index; refuse entries of a wrong type, kind or index."""
    listed = tuple(infos)
    for info in listed:
        if not isinstance(info, DeviceInfo):
            raise Refused("probe", f"devices() listed {info!r}, expected DeviceInfo")
        if info.kind not in get_args(DeviceKind):
            raise Refused("probe", f"devices() listed the unknown kind {info.kind!r}")
    if sorted(i.index for i in listed) != list(range(len(listed))):
        got = [i.index for i in listed]
        raise Refused("probe", f"devices() listed the indices {got}, expected 0, 1, 2, … once")
    if not listed:
        raise Refused("probe", "it has no device here", "check the driver of the device")
    return tuple(sorted(listed, key=lambda i: i.index))


def check_device(device: Any) -> Capabilities:
    """Give the capabilities; refuse a device that lacks members or names unknown operations."""
    wrong = [f"{m} is missing" for m in ("name", "kind") if not hasattr(device, m)]
    wrong += _broken_methods(device, _DEVICE_METHODS)
    if wrong:
        raise Refused("check", f"the opened device: {'; '.join(wrong)}")
    capabilities = device.capabilities()
    if not isinstance(capabilities, Capabilities):
        got = type(capabilities).__name__
        raise Refused("check", f"capabilities() gave {got}, expected Capabilities")
    unknown = sorted(capabilities.ops - set(REGISTRY))
    if unknown:
        rows = ", ".join(f"row {op!r}" for op in unknown)
        raise Refused("check", f"capabilities().ops: {rows}: no operation of vkml has that name")
    return capabilities


def check_level(capabilities: Capabilities, required: Level | None) -> None:
    """Refuse a device that holds less of the numerics contract than `VKML_REQUIRE_LEVEL`."""
    if required == "exact" and capabilities.level != "exact":
        raise Refused(
            "open",
            f"it holds the level {capabilities.level}, VKML_REQUIRE_LEVEL asks for exact",
            "use another device, or unset VKML_REQUIRE_LEVEL",
        )


def serves_all(capabilities: Capabilities) -> bool:
    """Whether a device is exact and runs every operation that a plan may hold."""
    runnable = {op for op, spec in REGISTRY.items() if spec.kind not in _NEVER_RUN}
    return capabilities.level == "exact" and runnable <= capabilities.ops


def check_table(backend: str, table: Mapping[str, Callable[..., Any]]) -> None:
    """Raise RegistrationError naming each row of a table of kernels that breaks a rule."""
    broken = ((op, _row_rule(op, kernel)) for op, kernel in table.items())
    wrong = "; ".join(f"row {op!r}: {rule}" for op, rule in broken if rule)
    if wrong:
        raise RegistrationError(f"backend {backend!r}: {wrong}")


def _row_rule(op: str, kernel: Any) -> str | None:
    if op not in REGISTRY:
        return "no operation of vkml has that name"
    if not callable(kernel):
        return f"a kernel is a function, got {type(kernel).__name__}"
    spec = REGISTRY[op]
    if _takes(kernel, 1 + (spec.arity or 0), variadic=spec.arity is None):
        return None
    return f"a kernel is called as kernel({_call_form(spec)})"


def _call_form(spec: OpSpec) -> str:
    if spec.arity is None:
        return "attrs, *arrays"
    return ", ".join(["attrs", *(f"array{i}" for i in range(spec.arity))])


def _broken_methods(owner: Any, methods: Mapping[str, int]) -> Sequence[str]:
    wrong = []
    for method, arguments in methods.items():
        function = getattr(owner, method, None)
        if function is None:
            wrong.append(f"{method} is missing")
        elif not callable(function):
            wrong.append(f"{method} is not a method")
        elif not _takes(function, arguments):
            wrong.append(f"{method} must take {arguments} arguments")
    return wrong


def _takes(function: Callable[..., Any], arguments: int, *, variadic: bool = False) -> bool:
    """Whether a function can be called with so many positional arguments (and any more)."""
    try:
        signature = inspect.signature(function)
        signature.bind(*[None] * arguments)
    except (TypeError, ValueError):
        return False
    kinds = {p.kind for p in signature.parameters.values()}
    return not variadic or inspect.Parameter.VAR_POSITIONAL in kinds
