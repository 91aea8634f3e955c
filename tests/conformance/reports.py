"""Reports made up for the tests of what is written of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vkml_conformance.cases import takes
from vkml_conformance.schema import (
    DeviceReport,
    Finding,
    Line,
    Machine,
    Place,
    Report,
    Selection,
)

from vkml_core.ops.spec import REGISTRY

MACHINE: Final = Machine(
    system="Linux 6.1 x86_64",
    processor="A processor",
    cores=2,
    python="3.11.2",
    packages={"vkml": "0.1.0", "numpy": "2.4.6", "pydantic": "2.14.4"},
)
EVIL: Final = (
    "</script><!-- <script>alert('1')</script> \u2028 \" ' & [red]x[/] \x1b[31m \x00 {{report}}"
)
PLACE: Final = Place(
    what="gradient of operand 1",
    run="replay",
    wrong=3,
    of=1024,
    index=(0, 31),
    got="0x3f800001",
    want="0x3f800000",
    got_value="1.0000001",
    want_value="1.0",
    ulps=1,
    cause="multiply and add fused",
)


def line(op: str = "add", dtype: str = "float32", part: str = "forward", **counts: Any) -> Line:
    kept = {"equal": 0, "differing": 0, "unsupported": 0, "left_out": 0, "not_run": 0} | counts
    recorded = kept.pop("recorded", None)
    elements = 210 * sum(kept.values())
    family = REGISTRY[op].kind.value if op in REGISTRY else op
    return Line(
        family=family,
        op=op,
        dtype=dtype,
        part=part,
        cases=sum(kept.values()),
        elements=elements,
        recorded=recorded,
        **kept,
    )


def finding(op: str = "add", dtype: str = "float32", part: str = "forward", **more: Any) -> Finding:
    fields: dict[str, Any] = {
        "id": f"{op}-{dtype}-{part}-7c3a",
        "family": REGISTRY[op].kind.value if op in REGISTRY else op,
        "status": "differs",
        "about": {"shapes": "(2, 3, 5, 7) (2, 3, 5, 7)", "layout": "transposed", "values": "wide"},
        "place": PLACE,
        "script": f"import vkml\n\nx = vkml.zeros(3)\nprint(vkml.{op}(x, x))\n",
    }
    return Finding(op=op, dtype=dtype, part=part, **fields | more)


def device(name: str = "vulkan", verdict: Any = "passed", **more: Any) -> DeviceReport:
    fields: dict[str, Any] = {
        "backend": name.partition(":")[0],
        "distribution": "vkml 0.1.0",
        "hardware": "llvmpipe (LLVM 15.0.6, 256 bits)",
        "kind": "software",
        "level": "exact",
        "details": {"driver": "Mesa 22.3.6", "self-test": "all 86 probes gave the wanted bits"},
        "seconds": 12.34,
        "lines": (line(equal=40), line(part="gradient", equal=40)),
        "results": "c0ffee" * 5,
    }
    return DeviceReport(device=name, verdict=verdict, **fields | more)


def report(*devices: DeviceReport, **more: Any) -> Report:
    fields: dict[str, Any] = {
        "contract": 1,
        "suite": "5eed" * 16,
        "selection": Selection(),
        "machine": MACHINE,
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 61.5,
    }
    return Report(devices=devices, **fields | more)


def every_line(**counts: int) -> Iterator[Line]:
    """Lines of the whole registry, and of what is not of the registry."""
    for spec in REGISTRY.values():
        for dtype in takes(spec):
            floats = dtype.is_floating_point and spec.differentiable
            for part in ("forward", "gradient", "second") if floats else ("forward",):
                yield line(spec.name, dtype.name, part, **counts)
    for op, part in (("graph", "graph"), ("training", "training"), ("invariance", "batch")):
        yield line(op, "float32", part, **counts)


def everything() -> Report:
    """One device that passed, one with differences, one that lacks, one lost, one not loaded."""
    return report(_passed(), _differing(), _lacking(), _crashed(), _unloaded())


def _passed() -> DeviceReport:
    return device("cpu", hardware="NumPy 2.4.6", kind="cpu", lines=tuple(every_line(equal=48)))


def _differing() -> DeviceReport:
    lines, findings = [], []
    for made in every_line(equal=48):
        if made.op in ("matmul", "exp", "max", "graph") and made.dtype.startswith("float"):
            made = made.model_copy(update={"equal": 45, "differing": 3})
            for n in range(3):
                findings.append(finding(made.op, made.dtype, made.part, id=f"{made.op}-{n}"))
        lines.append(made)
    findings[0] = finding("exp", "float32", "forward", message=EVIL, about={"shape": EVIL})
    told = finding(
        "matmul", "float32", "forward", status="error", place=None, message="RuntimeError: " + EVIL
    )
    return device(
        "vulkan:1", "differs", lines=tuple(lines), findings=(told, *findings), results="ab" * 16
    )


def _lacking() -> DeviceReport:
    lines = []
    for made in every_line(equal=48):
        if made.dtype in ("float16", "int64"):
            made = made.model_copy(update={"equal": 0, "unsupported": 48})
        elif made.op in ("graph", "conv2d"):
            made = made.model_copy(update={"equal": 30, "unsupported": 18})
        elif made.family == "scan":
            made = made.model_copy(update={"equal": 0, "left_out": 48})
        lines.append(made)
    return device("small", lines=tuple(lines), level="exact-normal", kind="integrated-gpu")


def _crashed() -> DeviceReport:
    lines = [
        made if i < 90 else made.model_copy(update={"equal": 0, "not_run": 48})
        for i, made in enumerate(every_line(equal=48))
    ]
    lost = lines[90].model_copy(update={"equal": 20, "differing": 1, "not_run": 27})
    lines[90] = lost
    told = finding(
        lost.op, lost.dtype, lost.part, status="crash", place=None, message="SIGSEGV (signal 11)"
    )
    said = (
        "Its process ended with SIGSEGV (signal 11) three times; the last that it printed:\n"
        "Fatal Python error: Segmentation fault\n"
        '  File "crashing/device.py", line 31 in run\n'
    )
    return device("crashing", "crashed", lines=tuple(lines), findings=(told,), failure=said)


def _unloaded() -> DeviceReport:
    return device(
        "mypkg.backend:backend",
        "failed to load",
        backend="mypkg.backend:backend",
        hardware="",
        kind="",
        level="",
        distribution="",
        details={},
        lines=(),
        results="",
        seconds=0.2,
        failure="libmy.so.2: cannot open shared object file; install the package libmy2.",
    )
