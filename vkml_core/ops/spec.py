"""The row of an operation and the registry that validates rows.

An operation is declared once, as an `OpSpec`; everything else about it (functions, methods,
documentation, support tables, conformance cases) is derived from the row.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as _pydantic_dataclass

from vkml_core.dtypes import DType
from vkml_core.errors import RegistrationError, UnsupportedOpError
from vkml_core.shapes import Shape, View

if TYPE_CHECKING:
    from vkml_core.graph import Node


class Kind(Enum):
    """The access pattern of an operation: what a scheduler or a backend goes by."""

    LEAF = "leaf"
    ELEMENTWISE = "elementwise"
    REDUCE = "reduce"
    SCAN = "scan"
    VIEW = "view"
    MOVE = "move"
    INDEX = "index"
    MATMUL = "matmul"
    CONV = "conv"
    POOL = "pool"
    GENERATE = "generate"
    ASSIGN = "assign"


class Form(Enum):
    """The numeric form that the contract (docs/numerics.md) fixes for an operation."""

    EXACT = "exact: no rounding"
    ROUNDED = "correctly rounded"
    WRITTEN = "one rounding per written step"
    POW = "the contract's pow"
    INTEGER = "integer, wrapping"
    SUM = "sum in 32 lanes × chunks of 1024"
    PROD = "product by a tree of neighbours"
    CUMSUM = "sequential in chunks of 1024"
    SELECT = "selects an element"
    MATMUL = "multiply, then add in k order, chunks of 512"
    CONV = "the contract's im2col and matmul"
    WINDOW = "adds in window order"
    SCATTER = "adds in source order"
    PHILOX = "Philox4x32-10"


@dataclass(frozen=True, slots=True)
class NotDifferentiable:
    """Why an operation has no gradient rule, by design."""

    reason: str


attributes: Final = _pydantic_dataclass(
    frozen=True,
    slots=True,
    config=ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True),
)
"""Decorator of attribute classes: frozen, hashable and validated when built."""

Typed = tuple[Shape, DType]
Infer = Callable[[Sequence["Node"], Any], Typed]
Vjp = Callable[["Node", "Node", int], "Node"]
"""(output node, its gradient, which input) → the gradient of that input."""
ViewRule = Callable[[View, Any], View | None]


@dataclass(frozen=True, slots=True, eq=False)
class OpSpec:
    """One operation: what it takes, what it gives, how it is rounded and differentiated."""

    name: str
    kind: Kind
    form: Form
    arity: int | None
    """Number of inputs; None means one or more."""
    dtypes: frozenset[DType]
    """What the first input may be."""
    infer: Infer
    vjp: Vjp | NotDifferentiable
    doc: str
    attrs: type[Any] | None = None
    view: ViewRule | None = None

    @property
    def differentiable(self) -> bool:
        """Whether a gradient rule exists."""
        return not isinstance(self.vjp, NotDifferentiable)

    def __repr__(self) -> str:
        return f"OpSpec({self.name!r})"


class Registry(Mapping[str, OpSpec]):
    """Rows by name; each is checked when it is registered."""

    def __init__(self) -> None:
        self._rows: dict[str, OpSpec] = {}

    def register(self, spec: OpSpec) -> OpSpec:
        """Add a row, or raise RegistrationError naming the row and the rule it breaks."""
        for rule, broken in _RULES:
            if broken(spec):
                raise RegistrationError(f"registry: row {spec.name!r}: {rule}")
        if spec.name in self._rows:
            raise RegistrationError(f"registry: row {spec.name!r}: the name is taken")
        self._rows[spec.name] = spec
        return spec

    def __getitem__(self, name: str) -> OpSpec:
        try:
            return self._rows[name]
        except KeyError:
            raise UnsupportedOpError(f"registry: no operation is called {name!r}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _attrs_broken(spec: OpSpec) -> bool:
    params = getattr(spec.attrs, "__dataclass_params__", None)
    return spec.attrs is not None and not (
        dataclasses.is_dataclass(spec.attrs) and params is not None and params.frozen
    )


_RULES: Final[tuple[tuple[str, Callable[[OpSpec], bool]], ...]] = (
    (
        "a name is lower_case letters, digits and underscores",
        lambda s: not re.fullmatch(r"[a-z][a-z0-9_]*", s.name),
    ),
    ("arity is None or ≥ 0", lambda s: s.arity is not None and s.arity < 0),
    ("a leaf, and only a leaf, takes no input", lambda s: (s.kind is Kind.LEAF) != (s.arity == 0)),
    ("dtypes is not empty", lambda s: not s.dtypes),
    ("infer is a function", lambda s: not callable(s.infer)),
    (
        "vjp is a function or NotDifferentiable with a reason",
        lambda s: not (s.vjp.reason if isinstance(s.vjp, NotDifferentiable) else callable(s.vjp)),
    ),
    ("attrs is a frozen dataclass", _attrs_broken),
    ("a view, and only a view, has a view rule", lambda s: (s.kind is Kind.VIEW) != bool(s.view)),
    ("doc is one line ending in a full stop", lambda s: not re.fullmatch(r"[^\n]+\.", s.doc)),
)

REGISTRY: Final = Registry()
"""The rows of all operations, by name."""
register: Final = REGISTRY.register
