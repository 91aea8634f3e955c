"""What a report says: tables, sentences, JSON, the trace and the picture."""

from __future__ import annotations

import builtins
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import vkml
from vkml import attribution
from vkml.attribution import bounds
from vkml.attribution.account import CATEGORIES
from vkml.attribution.ceilings import Ceilings
from vkml.attribution.report import Report
from vkml.attribution.rows import KernelRow


@pytest.fixture(scope="module")
def report() -> Report:
    x = vkml.ones(48, 48).realize()
    return attribution.measure(lambda: (x @ x).relu().sum().item(), rounds=3, device="cpu")


def test_the_table_adds_up(report: Report) -> None:
    first, second = report.table().split("\n\n")
    lines = [line.split() for line in first.splitlines()]
    assert [line[0] for line in lines] == ["wall", *CATEGORIES, "sum"]
    assert abs(sum(float(line[1]) for line in lines[1:-1]) - float(lines[-1][1])) < 0.01
    assert lines[-1][2] == "100.0%"
    assert len(second.splitlines()) == 1 + len(report.kernels) == 4


def test_the_table_is_cut(report: Report) -> None:
    kernels = report.table(limit=1).split("\n\n")[1].splitlines()
    assert len(kernels) == 3 and kernels[-1].startswith("and 2 more, ")
    assert len(report.table(limit=0).split("\n\n")[1].splitlines()) == 2


def test_the_text_explains(report: Report) -> None:
    said = report.text()
    for part in (
        "The best of 3 rounds took ",
        "1 submission, 3 dispatches",
        "of it has a category; 0.000 ms are unattributed",
        "The same program against itself, every other round, differs by ",
        "Without profiling the best round took ",
        "Where the time went:",
        "matmul 48×48: ",
        "What bounds it: ",
    ):
        assert part in said, part


def test_json_is_plain_and_complete(report: Report) -> None:
    found = json.loads(json.dumps(report.json()))
    assert sum(found["categories_ns"].values()) == found["wall_ns"]
    assert found["attributed"] == 1.0 and found["dispatches"] == 3
    assert sum(k["busy"] for k in found["kernels"]) == found["kernels_busy_ns"]
    assert {tuple(k["ops"]) for k in found["kernels"]} == {("matmul",), ("relu",), ("sum",)}
    assert abs(sum(k["share"] for k in found["kernels"]) - 1) < 1e-9
    assert found["ceilings"]["cpu"]["bandwidth"] > 0 and not found["ceilings"]["cpu"]["failed"]


def check_trace(found: dict[str, Any]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Check what the format demands; give the complete events of each track."""
    assert found.keys() == {"traceEvents", "displayTimeUnit", "otherData"}
    assert found["displayTimeUnit"] in ("ms", "ns")
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    named: set[tuple[int, int]] = set()
    for event in found["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert isinstance(event["name"], str) and isinstance(event["args"], dict)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
            named.add((event["pid"], event["tid"]))
        else:
            assert event["ph"] == "X" and isinstance(event["cat"], str)
            assert event["dur"] >= 0 and isinstance(event["ts"], float)
            tracks[event["pid"], event["tid"]].append(event)
    assert tracks.keys() <= named
    for events in tracks.values():
        in_order = sorted(events, key=lambda e: e["ts"])
        for a, b in pairwise(in_order):
            assert a["ts"] + a["dur"] <= b["ts"] + 1e-6, "events of one track overlap"
    return tracks


def test_the_trace_is_valid(report: Report, tmp_path: Path) -> None:
    report.chrome_trace(tmp_path / "trace.json")
    tracks = check_trace(json.loads((tmp_path / "trace.json").read_text()))
    host = tracks[1, 1]
    assert sum(e["dur"] for e in host) == pytest.approx(report.wall / 1e3)
    device = [e for track, events in tracks.items() if track[0] == 2 for e in events]
    kernels = [e for e in device if e["cat"] == "kernel"]
    assert [e["name"] for e in kernels] == ["matmul", "relu", "sum"]
    assert kernels[0]["args"]["flops"] == 2 * 48**3
    assert [e["cat"] for e in device].count("submission") == 1


def test_the_picture_is_a_png(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report.png(tmp_path / "bars.png")
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_without_matplotlib_the_picture_says_what_to_install(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"vkml\[examples\]"):
        report.png(tmp_path / "bars.png")
    assert not list(tmp_path.iterdir())


def row(bytes_: int, flops: int, alone: int, dispatches: int = 1) -> KernelRow:
    return KernelRow(
        "d", "k", ("add",), ((2,),), "float32", 1, dispatches, alone, alone, bytes_, flops, None
    )


CEILINGS = Ceilings(1e9, 1e9, 1, 1)  # a byte and an operation in a nanosecond


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (row(90_000, 10, 100_000), "memory, 90%"),
        (row(10, 90_000, 100_000), "arithmetic, 90%"),
        (row(100, 100, 4_000), "its size"),
        (row(20_000, 10_000, 100_000), "neither memory nor arithmetic"),
        (row(20_000, 10_000, 100_000, dispatches=9), "its size"),
    ],
)
def test_what_bounds_a_kernel(kernel: KernelRow, what: str) -> None:
    assert bounds.bound(kernel, CEILINGS).startswith(what)


def test_unknown_ceilings_are_said() -> None:
    for ceilings in (None, Ceilings(0.0, 0.0, 1, 1, "OutOfMemoryError: …")):
        assert bounds.bound(row(1, 1, 1), ceilings).startswith("unknown")
        assert bounds.of_ceilings(row(1, 1, 1), ceilings) is None
