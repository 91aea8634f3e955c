"""vkml: train neural networks on any Vulkan GPU, with the same bits everywhere."""

from importlib import import_module as _import_module
from typing import Any as _Any

import vkml_core.methods as _methods
from vkml_core.compile import compile
from vkml_core.configuration import configuration
from vkml_core.decisions import (
    Decision,
    decisions,
    decisions_published,
    record_decisions,
    stop_recording_decisions,
)
from vkml_core.device import device
from vkml_core.dtypes import DType, bool_, float16, float32, int32, int64
from vkml_core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CheckpointError,
    CompileError,
    DeviceError,
    DeviceLost,
    DivisionError,
    DTypeError,
    Error,
    GradientError,
    IndexError_,
    NotImplementedError_,
    OutOfMemoryError,
    PlanError,
    PluginError,
    RegistrationError,
    ShapeError,
    UnsupportedOpError,
)
from vkml_core.graph import enable_grad, no_grad
from vkml_core.plugins import available_devices, best_device
from vkml_core.public import PUBLIC as _PUBLIC
from vkml_core.runtime import eager_mode, is_eager, set_eager
from vkml_core.tensor import Tensor

__version__ = "0.1.0"

_functions = {name: entry.function for name, entry in _PUBLIC.items() if name != "getitem"}
globals().update(_functions)


_SUBMODULES = ("attribution", "nn", "optim", "data", "serialize")
_SERIALIZE = ("Checkpoint", "load", "load_module", "save", "save_module")


def __getattr__(name: str) -> _Any:
    """Import a sub-package when it, or a name from `vkml.serialize`, is first asked for."""
    if name in _SUBMODULES:
        return _import_module(f"vkml.{name}")
    if name in _SERIALIZE:
        return getattr(_import_module("vkml.serialize"), name)
    raise AttributeError(f"module 'vkml' has no attribute {name!r}")


__all__ = sorted({*_functions, *_SERIALIZE, *(n for n in dir() if not n.startswith("_"))})
del _methods
