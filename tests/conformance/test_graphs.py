"""Random graphs: the same ones everywhere, over the whole registry, right on the oracle."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vkml_conformance.choices import Chooser
from vkml_conformance.engine import judge
from vkml_conformance.graphs import LEAST, MOST, Graph, derive, first_dtype, graph_check, grow
from vkml_conformance.growth import LARGEST
from vkml_conformance.program import Number, Program
from vkml_conformance.program_json import to_json

from vkml_core.dtypes import DTYPES, to_dtype
from vkml_core.ops.spec import REGISTRY, Kind

COUNT = 400


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [Graph(number, 0).program for number in range(COUNT)]


class Drawn:
    """The stream of choices that Hypothesis makes, and shrinks."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def choose(self, n: int) -> int:
        return self._data.draw(st.integers(0, n - 1))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_every_stream_of_choices_makes_a_graph_that_can_be_computed(
    data: st.DataObject,
) -> None:
    choices = Drawn(data)
    dtype = first_dtype(choices)
    program = grow(choices, "drawn", dtype)
    assert LEAST <= len(program.calls) <= MOST
    wanted = program.wanted()
    assert to_dtype(wanted[0].dtype) is dtype
    assert all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(wanted, program.computed("cpu"), strict=True)
    )


def test_every_row_is_called_and_every_dtype_comes_out(programs: list[Program]) -> None:
    ops = Counter(op for program in programs for op in {call.op for call in program.calls})
    rows = {name for name, spec in REGISTRY.items() if spec.kind is not Kind.LEAF}
    assert ops.keys() == rows
    assert min(ops.values()) >= 5, ops.most_common()[-5:]
    first = Counter(check.dtype for check in derive(0, COUNT))
    assert first.keys() == {t.name for t in DTYPES}
    numbers = [x for program in programs for x in program.inputs if isinstance(x, Number)]
    assert {x.dtype.category for x in numbers} == {"float", "int", "bool"}


def test_graphs_have_the_size_that_is_said(programs: list[Program]) -> None:
    counts = [len(program.calls) for program in programs]
    assert min(counts) >= LEAST and max(counts) <= MOST and max(counts) > MOST - 15
    assert all(x.size <= LARGEST for program in programs for x in program.leaves())
    assert sum(len(program.outputs) > 1 for program in programs) > 0.9 * COUNT
    for n in (31, 32, 33, 511, 512, 513, 1023, 1024, 1025):
        assert any(n in x.shape for program in programs for x in program.leaves()), n


def test_values_are_shared(programs: list[Program]) -> None:
    def shares(program: Program) -> bool:
        used = Counter(a for call in program.calls for a in dict.fromkeys(call.args))
        return any(n > 1 for place, n in used.items() if place >= len(program.inputs))

    assert sum(map(shares, programs)) > 0.8 * COUNT


def test_some_graphs_are_gradients(programs: list[Program]) -> None:
    """A rule of a gradient writes rows that nothing else does in such numbers."""
    only = {"conv2d_input_grad", "conv2d_weight_grad", "col2im", "max_unpool2d"}
    both = [p for p in programs if {"conv2d"} < {c.op for c in p.calls} & (only | {"conv2d"})]
    assert len(both) >= 3


def test_values_stay_interesting(programs: list[Program]) -> None:
    shares, dull = [], 0
    for program in programs:
        wanted = [x for x in program.wanted() if x.size]
        alive = [np.mean(np.isfinite(x) & (x != 0)) for x in wanted if x.dtype.kind == "f"]
        shares += alive
        dull += bool(alive) and max(alive) < 0.1
    assert np.mean(shares) > 0.7
    assert dull < 0.05 * COUNT


def test_choices_come_of_a_name_alone() -> None:
    """SHAKE-256 in words of 32 bits, whatever Python or library it is."""
    chooser = Chooser("graph 0 of seed 0")
    assert [chooser.choose(100) for _ in range(5)] == [27, 48, 23, 68, 59]
    long = Chooser("long")
    numbers = [long.choose(1 << 30) for _ in range(3000)]
    stream = np.frombuffer(hashlib.shake_256(b"long").digest(12000), "<u4") % (1 << 30)
    assert numbers == stream.tolist()


def test_the_same_number_is_the_same_graph_in_every_process() -> None:
    texts = [to_json(Graph(number, 9).program) for number in range(40)]
    assert len(set(texts)) == 40
    code = (
        "from vkml_conformance.graphs import Graph\n"
        "from vkml_conformance.program_json import to_json\n"
        "for number in reversed(range(40)): print(to_json(Graph(number, 9).program))"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    for seed in ("1", "2"):  # the order of sets changes with it
        env = {"PYTHONPATH": path, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert done.stdout.splitlines() == texts[::-1], done.stderr
    assert to_json(Graph(5, 0).program) != texts[5]


def test_ids_and_what_is_told_of_a_graph() -> None:
    ids = [check.id for check in derive(3, 4)]
    assert ids == ["graph/0@3", "graph/1@3", "graph/2@3", "graph/3@3"]
    check = graph_check(7)
    assert (check.id, check.family, check.part, check.op) == ("graph/7", "graph", "graph", "graph")
    program = Graph(7, 0).program
    assert check.about["operations"] == str(len(program.calls)) and check.about["seed"] == "0"
    assert all(call.op in check.about["ops"] for call in program.calls)
    assert to_dtype(program.wanted()[0].dtype).name == check.dtype
    assert judge(check, "cpu", "exact").status == "equal"


def test_listing_makes_no_graph() -> None:
    start = time.perf_counter()
    assert len([check.id for check in derive(11, 5000)]) == 5000
    assert time.perf_counter() - start < 2
