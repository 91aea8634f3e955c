"""Describes the public contract with backends: a line for each class, field, method and function.

`PROMISED` is what a plug-in may import. Annotations are taken as they are written, so that the
description does not depend on the version of Python or NumPy.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from pydantic import BaseModel

from vkml_core.ops.spec import REGISTRY, OpSpec

PROMISED: Final = {
    "vkml_core.backend": (
        "Array DeviceKind Level Available Unavailable DeviceInfo Capabilities Buffer Executable "
        "Device Profiling Backend API_VERSION"
    ),
    "vkml_core.plan": "SlotKind Slot Operand Call Step Hazard Barrier Plan",
    "vkml_core.plan_rules": (
        "Conflict add_barriers dependencies has_head hazards is_whole place reads_in_step reshaped"
    ),
    "vkml_core.table_backend": "TableBackend table_backend",
    "vkml_core.stepwise": "Kernel Conversions StepwiseDevice",
    "vkml_core.host_memory": "HostBuffer HostMemory",
    "vkml_core.plugins": "open_device register_backend unregister_backend",
    "vkml_core.dtypes": "Category Scalar DType bool_ int32 int64 float16 float32 DTYPES to_dtype",
    "vkml_core.shapes": "MAX_RANK MAX_ELEMENTS Shape View contiguous_strides reduce_shape size",
    "vkml_core.errors": (
        "Error ArgumentError DTypeError DeviceError DeviceLost DivisionError IndexError_ "
        "OutOfMemoryError PlanError RegistrationError ShapeError UnsupportedOpError"
    ),
    "vkml_core.profile": "Clock Dispatch StepProfile SubmissionProfile History",
    "vkml_core.work": "Work Done work_of",
    "vkml_core.decisions": "Decision publish",
    "vkml_core.spans": "Phase span",
    "vkml_core.settings": "Settings settings",
    "vkml_core.ops.spec": "Kind Form REGISTRY",
}
"""Modules and the names in them that are promised."""
UNVERSIONED: Final = "vkml_core.backend.API_VERSION"
"""Changes with the version, by its nature."""
OPS: Final = "operations"
"""What the lines about rows of the registry begin with."""
Lines = dict[str, str]
"""What is promised by its place."""


def promised() -> set[str]:
    """Give the places of all names that are promised."""
    return {f"{module}.{name}" for module, names in PROMISED.items() for name in names.split()}


def describe() -> Lines:
    """Give the contract as it is now."""
    lines: Lines = {}
    for module, names in PROMISED.items():
        loaded = import_module(module)
        for name in names.split():
            lines.update(_described(f"{module}.{name}", loaded, name))
    for spec in REGISTRY.values():
        lines.update(_row(spec))
    return {place: text for place, text in lines.items() if place != UNVERSIONED}


def _described(place: str, module: ModuleType, name: str) -> Iterator[tuple[str, str]]:
    value = getattr(module, name)
    if isinstance(value, type):
        yield from _class(place, value)
    elif inspect.isroutine(value):
        yield place, f"function {_signature(value)}"
    else:
        yield place, f"= {_source(module, name)}"


def _class(place: str, cls: type) -> Iterator[tuple[str, str]]:
    yield place, _kind(cls)
    if issubclass(cls, Enum):
        for member in cls:
            yield f"{place}.{member.name}", f"= {member.value!r}"
    else:
        for text, name in _fields(cls):
            yield f"{place}.{name}", text
    for name, member in vars(cls).items():
        if not name.startswith("_") or (name == "__init__" and _kind(cls) == "class"):
            yield from _member(f"{place}.{name}", member)


def _kind(cls: type) -> str:
    bases = ", ".join(b.__name__ for b in cls.__bases__ if b is not object)
    if getattr(cls, "_is_protocol", False):
        return "protocol"
    if dataclasses.is_dataclass(cls):
        return "frozen dataclass" if vars(cls)["__dataclass_params__"].frozen else "dataclass"
    if issubclass(cls, BaseModel):
        return "frozen model" if cls.model_config.get("frozen") else "model"
    return f"class({bases})" if bases else "class"


def _fields(cls: type) -> Iterator[tuple[str, str]]:
    """Give what a class declares: of a dataclass also which place and default a field has."""
    notes = {n: getattr(a, "__forward_arg__", a) for n, a in inspect.get_annotations(cls).items()}
    if dataclasses.is_dataclass(cls):
        for i, field in enumerate(dataclasses.fields(cls)):
            yield f"field {i}: {notes[field.name]}{_default(field)}", field.name
    elif issubclass(cls, BaseModel):
        for name, info in cls.model_fields.items():
            default = "" if info.is_required() else f" = {_shown(info.default)}"
            yield f"field: {notes[name]}{default}", name
    else:
        for name, note in notes.items():
            if not name.startswith("_"):
                yield f"attribute: {note}", name


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f" = {_shown(field.default_factory)}()"
    return "" if field.default is dataclasses.MISSING else f" = {_shown(field.default)}"


def _member(place: str, member: Any) -> Iterator[tuple[str, str]]:
    if isinstance(member, property) and member.fget is not None:
        yield place, f"property -> {inspect.get_annotations(member.fget).get('return')}"
    elif isinstance(member, staticmethod | classmethod):
        yield place, f"{type(member).__name__} {_signature(member.__func__)}"
    elif inspect.isfunction(member):
        yield place, f"method {_signature(member)}"


@dataclasses.dataclass(frozen=True)
class _Shown:
    """A default value that prints alike everywhere."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _shown(value: Any) -> _Shown:
    return _Shown(getattr(value, "__qualname__", None) or repr(value))


def _signature(function: Callable[..., Any]) -> str:
    found = inspect.signature(function)
    parameters = [
        p if p.default is p.empty else p.replace(default=_shown(p.default))
        for p in found.parameters.values()
    ]
    return str(found.replace(parameters=parameters)).replace("'", "")


@cache
def _assigned(module: ModuleType) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {t.id: ast.unparse(node.value) for t in targets if isinstance(t, ast.Name)}
    return found


def _source(module: ModuleType, name: str) -> str:
    """Give the expression that a name stands for."""
    return _assigned(module)[name]


def _row(spec: OpSpec) -> Iterator[tuple[str, str]]:
    """Describe an operation and its attributes, which calls carry."""
    place, arity = f"{OPS}.{spec.name}", "any" if spec.arity is None else spec.arity
    dtypes = " ".join(sorted(d.name for d in spec.dtypes))
    yield place, f"{spec.kind.name} {spec.form.name}, {arity} of {dtypes}"
    for text, name in _fields(spec.attrs) if spec.attrs else ():
        yield f"{place}.{name}", text
