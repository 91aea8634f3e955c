"""The oracle's source calls nothing whose bits depend on a library, a CPU or a layout.

NumPy's element-wise arithmetic is IEEE 754; its elementary functions, its float reductions and
what it hands to BLAS are not specified. So the names that may be used are listed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import vkml_backend_cpu

ROOT: Final = Path(vkml_backend_cpu.__file__).parent

IEEE: Final = "add subtract multiply divide sqrt negative abs copysign signbit fmod"
WHOLE: Final = "floor ceil trunc rint remainder floor_divide invert clip"
BITS: Final = "bitwise_and bitwise_or bitwise_xor"
CHOICE: Final = "where maximum minimum max min argmax argmin argsort any all flatnonzero"
TESTS: Final = "equal not_equal less less_equal greater greater_equal isnan isinf isfinite"
MAKING: Final = (
    "array asarray ascontiguousarray arange zeros zeros_like ones_like empty empty_like full "
    "full_like repeat concatenate stack split take_along_axis moveaxis diff r_"
)
TYPES: Final = (
    "bool_ int8 int32 int64 uint16 uint32 uint64 float16 float32 float64 dtype iinfo errstate "
    "inf nan ndarray generic"
)
ALLOWED: Final = frozenset(f"{IEEE} {WHOLE} {BITS} {CHOICE} {TESTS} {MAKING} {TYPES}".split())
MATH: Final = frozenset({"inf", "nan", "factorial", "ldexp", "copysign"})
"""Of the module math: what is exact."""

UNSPECIFIED_METHODS: Final = frozenset(
    ("dot", "sum", "prod", "mean", "std", "var", "cumsum", "cumprod", "trace")
    + ("reduce", "accumulate", "reduceat", "outer", "at")
)

# Integers only, so that no order matters: sizes of shapes, the integer branch of sum, ranks.
EXCEPTIONS: Final = {
    "kernels/indexing.py scatter_add: np.prod": 1,
    "kernels/indexing.py _rounds: np.cumsum": 1,
    "kernels/indexing.py _rounds: np.bincount": 2,
    "kernels/matmul.py matmul: np.prod": 1,
    "kernels/matmul.py _chunks: np.setbufsize": 1,
    "kernels/random.py random_bits: np.prod": 1,
    "kernels/reduce.py _rows: np.prod": 2,
    "kernels/reduce.py sum: np.add.reduce": 1,
}


def dotted(node: ast.expr) -> str:
    """Give a.b.c as text, an empty string for what is no plain name."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


def modules(tree: ast.AST) -> set[str]:
    """Name the backend's own modules that are imported: their functions are checked there."""
    own = (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))
    return {a.name for n in own if (n.module or "").startswith("vkml_backend_cpu") for a in n.names}


def _import_fault(node: ast.AST) -> str | None:
    if isinstance(node, ast.ImportFrom):
        taken = [node.module or ""]
        if taken == ["math"]:
            return None if {a.name for a in node.names} <= MATH else "from math"
    elif isinstance(node, ast.Import):
        taken = [a.name for a in node.names]
    else:
        return None
    outside = ("scipy", "numba", "cmath", "ctypes", "numpy.")
    bad = [name for name in taken if name.startswith(outside) and name != "numpy.typing"]
    bad += [name for name in taken if isinstance(node, ast.ImportFrom) and name == "numpy"]
    return f"import of {bad[0]}" if bad else None


def _attribute_fault(node: ast.AST, own: set[str]) -> str | None:
    if not isinstance(node, ast.Attribute):
        return None
    name = dotted(node)
    root, _, rest = name.partition(".")
    if root == "np":
        return None if rest.split(".")[0] in ALLOWED and "." not in rest else name
    if root == "math":
        return None if rest in MATH else name
    return None if root in own or node.attr not in UNSPECIFIED_METHODS else f".{node.attr}"


def _operator_fault(node: ast.AST) -> str | None:
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
        return "@"
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow):
        # An array to a power is NumPy's pow; numbers written down are worked out by Python.
        base = node.left if isinstance(node, ast.BinOp) else node.target
        base = base.operand if isinstance(base, ast.UnaryOp) else base
        known = isinstance(base, ast.Constant) or dotted(base) == "LN2"
        known |= isinstance(base, ast.Call) and dotted(base.func) in ("Fraction", "Decimal")
        return None if known else "**"
    return None


def faults(source: str, where: str = "") -> Iterator[str]:
    """Name every use that is not allowed, with the function that it is in."""
    tree = ast.parse(source)
    own = modules(tree)

    def walk(node: ast.AST, function: str) -> Iterator[str]:
        if isinstance(node, ast.FunctionDef):
            function = node.name
        fault = _import_fault(node) or _attribute_fault(node, own) or _operator_fault(node)
        if fault:
            yield f"{where} {function}: {fault}"
        inner = isinstance(node, ast.Attribute) and dotted(node).startswith(("np.", "math."))
        for child in () if inner else ast.iter_child_nodes(node):
            yield from walk(child, function)

    yield from walk(tree, "module")


def test_only_specified_names_are_used() -> None:
    files = sorted(ROOT.rglob("*.py"))
    assert len(files) > 10
    found = [
        fault for f in files for fault in faults(f.read_text(), f.relative_to(ROOT).as_posix())
    ]
    assert {fault: found.count(fault) for fault in found} == EXCEPTIONS


@pytest.mark.parametrize(
    "bad",
    [
        "x @ y",
        "x @= y",
        "x ** y",
        "x **= 2",
        "x.dot(y)",
        "x[0].sum()",
        "f(x).mean(axis=1)",
        "np.dot(x, y)",
        "np.matmul(x, y)",
        "np.einsum('ij,jk', x, y)",
        "np.exp(x)",
        "np.add.reduce(x)",
        "np.add.at(x, i, y)",
        "np.linalg.norm(x)",
        "f = np.sin",
        "math.exp(x)",
        "from math import exp",
        "from numpy import exp",
        "import numpy.linalg",
        "import scipy.special",
    ],
)
def test_the_check_sees(bad: str) -> None:
    assert len(list(faults(bad))) == 1


@pytest.mark.parametrize(
    "good",
    [
        "2.0**-48 * (-1) ** n",
        "np.where(x > 0, np.sqrt(x), 0)",
        "from vkml_backend_cpu.kernels import reduce\nreduce.sum(x, (0,))",
        "math.factorial(n)",
        "from numpy.typing import NDArray",
    ],
)
def test_the_check_allows(good: str) -> None:
    assert not list(faults(good))
