"""Writes docs/support.md from the registry and the tables: `python tools/write_support.py`.

A backend supports a row where it has it; a gradient, where it has every row that the gradient's
graph is made of. Nobody edits the file; a test compares it with what this writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from vkml_conformance.cases import cases_of, takes
from vkml_conformance.engine import upload
from vkml_conformance.layouts import LAYOUTS
from vkml_conformance.rows import RowSubject

from vkml_backend_cpu.table import TABLE
from vkml_backend_vulkan.lower import OPS
from vkml_core.dtypes import DTYPES, DType
from vkml_core.graph import reachable
from vkml_core.ops.spec import REGISTRY, Kind, OpSpec

PAGE: Final = Path(__file__).parents[1] / "docs" / "support.md"
BACKENDS: Final = {"cpu": frozenset(TABLE), "vulkan": OPS}
CORE: Final = frozenset(
    op for op, row in REGISTRY.items() if row.kind in (Kind.LEAF, Kind.VIEW, Kind.ASSIGN)
)
"""Rows that the core itself turns into buffers and strides; no backend needs to have them."""
HEAD: Final = """\
# Support

Written by `tools/write_support.py` from the registry and the backends' tables; do not edit.

✓ result · ✓∂ result and gradient · ✗ result missing · ✓✗ gradient missing · blank: the row does
not take the dtype. A row has no gradient where its result is an index, a bool or flat, and where
the dtype is no float. That each of these has the oracle's bits is shown by
`tests/vulkan/test_every_row.py`, and on any machine by `vkml-conformance run`.
"""


@cache
def gradient_ops(spec: OpSpec, dtype: DType) -> frozenset[str]:
    """Give the rows that the graphs of a row's gradients are made of; none without a gradient."""
    plain = [c for c in cases_of(spec, dtype) if set(c.layouts) == {LAYOUTS[0]}]
    found: set[str] = set()
    for case in {id(c.sample): c for c in plain if c.differentiable}.values():
        subject = RowSubject(case, "gradient")
        roots = [g.node for g in subject.record(upload(subject.leaves(), "cpu"))]
        found |= {node.op.name for node in reachable(roots, lambda node: node.inputs)}
    return frozenset(found)


def parts(spec: OpSpec, dtype: DType, has: frozenset[str]) -> list[bool]:
    """Tell whether a backend has the result and, where there is one, the gradient."""
    gradient = gradient_ops(spec, dtype)
    return [spec.name in has, *([gradient <= has] if gradient else [])]


def cell(spec: OpSpec, dtype: DType, has: frozenset[str]) -> str:
    """Show a row with a dtype in a backend."""
    if dtype not in takes(spec):
        return ""
    found = parts(spec, dtype, has)
    return "✗" if not found[0] else "✓" + ("∂" if all(found) else "✗") * (len(found) - 1)


def section(backend: str) -> Iterator[str]:
    """Give the lines about one backend: the share that it supports, and its table."""
    has = BACKENDS[backend] | CORE
    every = [p for spec in REGISTRY.values() for t in takes(spec) for p in parts(spec, t, has)]
    share = f"{100 * sum(every) / len(every):.4g} %"
    yield f"## {backend}: {share} ({sum(every)} of {len(every)} results and gradients)"
    yield ""
    yield "| operation | " + " | ".join(t.name for t in DTYPES) + " |"
    yield "|---|" + ":-:|" * len(DTYPES)
    for spec in REGISTRY.values():
        yield f"| {spec.name} | " + " | ".join(cell(spec, t, has) for t in DTYPES) + " |"


def page() -> str:
    """Give the whole page."""
    return "\n".join([HEAD, *("\n".join([*section(b), ""]) for b in BACKENDS)])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
