"""Writes the type stubs from the public table: `python tools/write_stubs.py`.

`vkml/__init__.pyi` tells type checkers and editors what `vkml` has; `vkml_core/typed_methods.pyi`
what the table adds to Tensor. Nobody edits them; a test compares them with what this writes.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from vkml_core import methods
from vkml_core.public import PUBLIC

ROOT: Final = Path(__file__).parent.parent
KNOWN: Final = {
    "Any": "typing",
    "DType": "vkml_core.dtypes",
    "Device": "vkml_core.functional.creation",
    "Mapping": "collections.abc",
    "Operand": "vkml_core.functional.common",
    "Plan": "vkml_core.plan",
    "Scalar": "vkml_core.dtypes",
    "Sequence": "collections.abc",
    "Tensor": "vkml_core.tensor",
}
BUILT_IN: Final = {"int", "float", "bool", "str", "None", "tuple", "list", "dict", "object"}
LATE: Final = {"_SUBMODULES": "vkml", "_SERIALIZE": "vkml.serialize"}
"""The tables of `vkml/__init__.py` with names that it imports when they are asked for."""
NOTE: Final = "# Written by tools/write_stubs.py from the public table; do not edit.\n"


class Imports:
    """The import lines that the annotations seen so far need."""

    def __init__(self) -> None:
        self.lines: set[str] = set()

    def add(self, annotation: str, module: str) -> str:
        """Note what an annotation written in `module` needs, and give it back."""
        for name in set(re.findall(r"\b[A-Za-z_]\w*\b", annotation)) - BUILT_IN:
            if name == "npt":
                self.lines.add("import numpy.typing as npt")
            elif name != "NDArray":
                self.lines.add(f"from {KNOWN.get(name, module)} import {name}")
        return annotation


def signature(function: Callable[..., Any], imports: Imports, method: bool) -> str:
    """Give the parameters and result of a function as source text."""
    module, shown, starred = inspect.unwrap(function).__module__, [], False
    for i, p in enumerate(inspect.signature(function).parameters.values()):
        if method and i == 0:
            shown.append("self")
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        star = "*" if p.kind is p.VAR_POSITIONAL else ""
        starred = starred or bool(star)
        default = "" if p.default is p.empty else " = ..."
        shown.append(f"{star}{p.name}: {imports.add(p.annotation, module)}{default}")
    result = imports.add(inspect.signature(function).return_annotation, module)
    return f"({', '.join(shown)}) -> {result}"


def methods_stub() -> str:
    """Give the stub of what the table adds to Tensor."""
    imports = Imports()
    imports.add("Any | Operand | Tensor", "")
    body = [
        f"    def {e.name}{signature(e.function, imports, True)}: ..."
        for e in PUBLIC.values()
        if e.method and e.name != "getitem"
    ]
    body += [f"    def __{d}__(self, other: Operand) -> Tensor: ..." for d in methods.BINARY]
    body += [f"    def __r{d}__(self, other: Operand) -> Tensor: ..." for d in methods.BINARY]
    body += [f"    def __i{d}__(self, other: Operand) -> Tensor: ..." for d in methods.IN_PLACE]
    body += [f"    def __{d}__(self, other: Tensor) -> Tensor: ..." for d in methods.MATRIX]
    body += [f"    def __{d}__(self) -> Tensor: ..." for d in methods.UNARY]
    for d in methods.COMPARE:
        same = d in ("eq", "ne")
        other, ignore = ("object", "  # type: ignore[override]") if same else ("Operand", "")
        body.append(f"    def __{d}__(self, other: {other}) -> Tensor: ...{ignore}")
    body.append("    def __getitem__(self, key: Any) -> Tensor: ...")
    return "\n".join([NOTE, *sorted(imports.lines), "", "class Methods:", *body, ""])


def names_in(source: ast.Module, table: str) -> list[str]:
    """Give the names that a table in source code lists."""
    (value,) = (
        node.value
        for node in source.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == table
    )
    return sorted(ast.literal_eval(value))


def face_stub() -> str:
    """Give the stub of `vkml`."""
    imports = Imports()
    source = ast.parse((ROOT / "vkml" / "__init__.py").read_text())
    exports = [
        f"from {node.module} import {alias.name} as {alias.name}"
        for node in source.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is None
    ]
    for table, module in LATE.items():
        exports += [f"from {module} import {name} as {name}" for name in names_in(source, table)]
    body = [
        f"def {e.name}{signature(e.function, imports, False)}: ..."
        for e in PUBLIC.values()
        if e.name != "getitem"
    ]
    needed = sorted(
        line for line in imports.lines if f"{line} as {line.split()[-1]}" not in exports
    )
    return "\n".join([NOTE, *needed, *exports, "", "__version__: str", "", *body, ""])


STUBS: Final = {
    ROOT / "vkml" / "__init__.pyi": face_stub,
    ROOT / "vkml_core" / "typed_methods.pyi": methods_stub,
}


def main() -> None:
    """Write both files."""
    for path, make in STUBS.items():
        path.write_text(make())


if __name__ == "__main__":
    main()
