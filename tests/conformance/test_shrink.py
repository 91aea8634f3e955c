"""A failing program gets small, and its first wrong operation is found."""

from __future__ import annotations

from collections.abc import Callable

import broken_tables
import numpy as np
import pytest
from vkml_conformance.capture import capture
from vkml_conformance.graphs import Graph
from vkml_conformance.program import Program
from vkml_conformance.program_json import to_json
from vkml_conformance.shrink import MOVES, equal, first_wrong, measure, shrink

import vkml


def failing_on(device: str) -> Callable[[Program], bool]:
    def fails(program: Program) -> bool:
        pairs = zip(program.computed(device), program.wanted(), strict=True)
        return not all(equal(got, want) for got, want in pairs)

    return fails


def test_graphs_shrink_to_the_operation_that_is_wrong() -> None:
    with broken_tables.registered(broken_tables.wrong_exp) as name:
        fails = failing_on(name)
        found = [p for n in range(300) if fails(p := Graph(n, 0).program)]
        assert len(found) >= 3
        for program in found[:4]:
            least = shrink(program, fails, 60)
            assert fails(least)
            assert [call.op for call in least.calls] == ["exp"]
            assert len(least.outputs) == len(least.inputs) == 1 and least.elements <= 2
            assert to_json(shrink(program, fails, 60)) == to_json(least), "the same every time"
            for move in MOVES:
                smaller = [c for m in move(least) if measure(c := m.pruned()) < measure(least)]
                assert not any(map(fails, smaller)), move


def test_what_takes_two_operations_keeps_both() -> None:
    x = vkml.tensor(np.arange(12.0).reshape(3, 4))
    y = ((x.exp() + 1.0).T.sum(dim=1) * 2.0).sqrt()
    program = capture([y.node, x.exp().node])
    with broken_tables.registered(broken_tables.strided_sum) as name:
        assert first_wrong(program, name) is None
        least = shrink(program, failing_on(name), 60)
    assert [call.op for call in least.calls] == ["permute", "sum"]
    assert least.elements <= 4


def test_the_first_wrong_call_is_found_alone() -> None:
    x = vkml.tensor([1.0, 2.0])
    y = x.abs().exp()
    program = capture([(y.exp() * 2.0).node])
    with broken_tables.registered(broken_tables.wrong_exp) as name:
        wrong = first_wrong(program, name)
        assert wrong is not None and wrong.call == 1
        assert [call.op for call in wrong.program.calls] == ["exp"]
        assert equal(wrong.program.inputs[0], np.array([1.0, 2.0], np.float32))
        assert first_wrong(program, "cpu", name) is not None, "either device may be the reference"
    assert first_wrong(program, "cpu") is None


def test_a_call_that_raises_is_wrong() -> None:
    program = capture([vkml.tensor([1.0]).neg().tanh().node])
    with broken_tables.registered(broken_tables.refusing_tanh) as name:
        wrong = first_wrong(program, name)
    assert wrong is not None and wrong.program.calls[0].op == "tanh"


def test_no_failure_is_nothing_to_shrink() -> None:
    with pytest.raises(ValueError, match="does not fail"):
        shrink(Graph(0, 0).program, lambda program: False)


def test_no_time_gives_the_program_back() -> None:
    program = Graph(0, 0).program
    assert shrink(program, lambda program: True, 0) is program


def test_everything_goes_where_everything_fails() -> None:
    least = shrink(Graph(1, 0).program, lambda program: True, 60)
    assert len(least.calls) == 0 and len(least.outputs) == 1 and least.elements <= 1
