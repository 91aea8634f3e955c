"""The one importer of the Vulkan binding: structs that keep what they point to, checked calls.

Everything is built with cffi itself: the binding's own constructors copy nested structs and free
their strings. Importing this module raises ImportError without the PyPI distribution `vulkan` and
OSError without a Vulkan loader.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final
from weakref import WeakKeyDictionary

import vulkan._vulkan as _binding

from vkml_core.errors import DeviceError, DeviceLost, Error, OutOfMemoryError

ffi: Final[Any] = _binding.ffi
lib: Final[Any] = _binding.lib
"""Every constant, and the raw entry points: for recording, where a checked call would cost more
than the call itself."""
NULL: Final[Any] = ffi.NULL
WHOLE_SIZE: Final = 0xFFFF_FFFF_FFFF_FFFF
"""The binding's own VK_WHOLE_SIZE is −1, which does not fit."""

live: Final[Counter[str]] = Counter()
"""Objects created and not yet destroyed, by kind."""
_kept: Final[WeakKeyDictionary[Any, Any]] = WeakKeyDictionary()
_RESULTS: Final = {
    getattr(_binding, n): n  # of names for one number the shortest, which has no vendor's suffix
    for n in sorted(dir(_binding), key=len, reverse=True)
    if n.startswith("VK_ERROR_")
}
_MEMORY: Final = "free tensors, or use smaller batches"
_ERRORS: Final[dict[str, tuple[type[Error], str]]] = {
    "VK_ERROR_OUT_OF_HOST_MEMORY": (OutOfMemoryError, _MEMORY),
    "VK_ERROR_OUT_OF_DEVICE_MEMORY": (OutOfMemoryError, _MEMORY),
    "VK_ERROR_TOO_MANY_OBJECTS": (OutOfMemoryError, _MEMORY),
    "VK_ERROR_DEVICE_LOST": (
        DeviceLost,
        "the driver stopped the device (a kernel that ran too long, or a fault; the system's log "
        "may say more): its tensors are gone",
    ),
    "VK_ERROR_INCOMPATIBLE_DRIVER": (
        DeviceError,
        "install a driver with Vulkan 1.2 (on Debian: mesa-vulkan-drivers, or the GPU vendor's "
        "driver), or correct VK_DRIVER_FILES",
    ),
    "VK_ERROR_INITIALIZATION_FAILED": (
        DeviceError,
        "the driver could not start: check that `vulkaninfo --summary` works for this user",
    ),
    "VK_ERROR_LAYER_NOT_PRESENT": (
        DeviceError,
        "a layer named in VK_INSTANCE_LAYERS is not installed",
    ),
}
_FIRST_CALL: Final = (
    DeviceError,
    "the loader could not read a driver's file: correct or remove the JSON file that "
    "VK_DRIVER_FILES names, or that a driver put among the loader's (/usr/share/vulkan/icd.d)",
)
"""Of vkCreateInstance: nothing was allocated before, so it is not memory that is short."""
_OTHER: Final = (DeviceError, "check that the driver is up to date, and run with validation layers")


def text(string: str) -> Any:
    """Make a C string; the caller keeps it."""
    return ffi.new("char[]", string.encode())


def array(kind: str, items: Iterable[Any]) -> Any:
    """Make a C array; it keeps what its items point to."""
    kept = list(items)
    made = ffi.new(f"{kind}[]", [_value(i, ffi.typeof(kind)) for i in kept])
    _kept[made] = kept
    return made


def struct(kind: str, **fields: Any) -> Any:
    """Make a pointer to a struct, sType filled in; it keeps what its fields point to.

    A struct inside a struct is given by its pointer and copied.
    """
    types = dict(ffi.typeof(kind).fields)
    values = {name: _value(value, types[name].type) for name, value in fields.items()}
    if "sType" in types:
        values["sType"] = getattr(lib, _structure_type(kind))
    made = ffi.new(f"{kind} *", values)
    _kept[made] = fields
    return made


def _value(value: Any, wanted: Any) -> Any:
    if wanted.kind == "struct" and isinstance(value, ffi.CData):
        return value[0]
    return value


def _structure_type(kind: str) -> str:
    """VkPhysicalDeviceVulkan12Features → VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES."""
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z][a-z]+|\d", kind[2:])
    return "_".join(["VK_STRUCTURE_TYPE", *words]).upper()


def call(name: str, *arguments: Any, **said: Any) -> int:
    """Call, or raise the vkml error with the call, what was `said` about it, and advice."""
    result: int = getattr(lib, name)(*arguments)
    if result < 0:
        raise failure(name, result, **said)
    return result


def failure(name: str, result: int, **said: Any) -> Error:
    """Make the error of a call that gave a negative VkResult."""
    code = _RESULTS.get(result, f"VkResult {result}")
    kind, advice = _ERRORS.get(code, _OTHER)
    if name == "vkCreateInstance" and kind is OutOfMemoryError:
        kind, advice = _FIRST_CALL
    shown = ", ".join(f"{k} = {v}" for k, v in said.items())
    return kind(f"vulkan: {name}({shown}) failed with {code}; {advice}")


def create(name: str, *arguments: Any, **said: Any) -> Any:
    """Call a function whose last parameter receives a new object; give it and count it."""
    out = ffi.new(ffi.typeof(getattr(_binding.lib, name)).args[-1])
    call(name, *arguments, out, **said)
    live[_kind(out[0])] += 1
    return out[0]


def destroy(name: str, *arguments: Any) -> None:
    """Destroy the object that is the last argument before the allocator."""
    live[_kind(arguments[-1])] -= 1
    getattr(lib, name)(*arguments, NULL)


def _kind(handle: Any) -> str:
    return re.sub(r"struct (\w+)_T \*", r"\1", ffi.typeof(handle).cname)


def enumerate_(name: str, kind: str, *arguments: Any) -> Any:
    """Call a function twice, for the number of items and for the items: a C array."""
    count = ffi.new("uint32_t *")
    getattr(lib, name)(*arguments, count, NULL)
    items = ffi.new(f"{kind}[]", count[0])
    getattr(lib, name)(*arguments, count, items)
    return items


def string(characters: Any) -> str:
    """Read a C string."""
    found: bytes = ffi.string(characters)
    return found.decode(errors="replace")
