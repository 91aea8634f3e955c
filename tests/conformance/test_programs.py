"""Programs keep a graph exactly, and scripts made of them show what differs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import broken_tables
import numpy as np
import pytest
from vkml_conformance.capture import capture, program_of
from vkml_conformance.check import Subject
from vkml_conformance.graphs import Graph
from vkml_conformance.program import Call, Number, Program
from vkml_conformance.program_json import from_json, to_json
from vkml_conformance.script import script_of
from vkml_conformance.values import words

import vkml
from vkml_core.dtypes import float32, int64
from vkml_core.errors import ArgumentTypeError, ShapeError
from vkml_core.ops.reduce import Axes

HERE = Path(__file__).parent
ODD = np.array([0x80000000, 1, 0x7FC00000, 0xFF800000, 0x3F800000], np.uint32).view(np.float32)


def bits(arrays: list[np.ndarray]) -> list[tuple[object, ...]]:
    return [(x.dtype, x.shape, words(x).tobytes()) for x in arrays]


def test_what_is_captured_gives_the_same_bits() -> None:
    x = vkml.tensor(ODD)
    h = (x.reshape(5, 1) * vkml.tensor([2.0, 3.0])).sum(dim=1) + 0.1
    want = bits([(h * 1.0).numpy(), h.to(vkml.float16).numpy()])
    h = (x.reshape(5, 1) * vkml.tensor([2.0, 3.0])).sum(dim=1) + 0.1
    program = capture([(h * 1.0).node, h.to(vkml.float16).node])
    assert [type(i).__name__ for i in program.inputs] == ["ndarray", "ndarray", "Number", "Number"]
    assert bits(program.wanted()) == want == bits(program.computed("cpu"))
    assert program.results == ("output 0 (mul)", "output 1 (cast)")


def test_a_computed_node_is_an_array() -> None:
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3.0).realize()
    program = capture([y.node, (y + 1.0).node])
    assert [call.op for call in program.calls] == ["add"] and program.outputs == (0, 2)
    assert program.wanted()[0].tolist() == [3.0, 6.0]


def test_an_assignment_leaves_the_old_value_to_who_holds_it() -> None:
    t = vkml.tensor([1.0, 2.0])
    before = t * 10.0
    old = t.node
    t.assign_(t + 1.0)
    after = t * 10.0
    program = capture([before.node, after.node, t.node])
    assert "assign" in {call.op for call in program.calls}
    want = [[10.0, 20.0], [20.0, 30.0], [2.0, 3.0]]
    assert [x.tolist() for x in program.wanted()] == want
    leaves = [vkml.tensor(x) for x in program.leaves()]
    nodes = [leaf.node for leaf in leaves]
    results = program.record(leaves)
    assert [leaf.node for leaf in leaves] == nodes, "the leaves of the caller stay what they are"
    assert [r.numpy().tolist() for r in results] == want
    assert t.numpy().tolist() == [2.0, 3.0] and old is not t.node
    with vkml.eager_mode():
        assert [x.tolist() for x in program.computed("cpu")] == want


def test_json_keeps_every_bit_and_every_attribute() -> None:
    for number in range(60):
        program = Graph(number, 0).program
        again = from_json(to_json(program))
        assert again.calls == program.calls and again.outputs == program.outputs
        assert bits(again.leaves()) == bits(program.leaves())
        assert to_json(again) == to_json(program)
    minus = Program((Number((2,), float32, -0.0), ODD), (), (0, 1))
    assert bits(from_json(to_json(minus)).wanted()) == bits(minus.wanted())


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ('{"version": 2}', ValueError, "expected version 1, got 2"),
        ("[]", ValueError, "got 'list'"),
        ('{"version": 1, "inputs": [], "calls": []}', ValueError, "'outputs' is missing"),
        (
            '{"version": 1, "inputs": [], "outputs": [],'
            ' "calls": [{"op": "sum", "attrs": {"axes": 1.5}, "args": [0]}]}',
            ArgumentTypeError,
            "sum: axes",
        ),
    ],
)
def test_what_is_no_program_is_refused(text: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        from_json(text)


def test_numbers_alone_still_tell_their_device() -> None:
    both = (Number((), int64, 3), Number((), int64, -2))
    made = Program(both, (Call("add", None, (0, 1)),), (2,))
    assert made.leaves()[0].size == 0 and made.wanted()[0].item() == 1


def test_a_call_that_does_not_fit_is_the_rows_error() -> None:
    inputs = np.zeros(3, np.float32), np.zeros(4, np.float32)
    with pytest.raises(ShapeError, match="equal shapes"):
        Program(inputs, (Call("add", None, (0, 1)),), (2,)).wanted()


def test_pruning_keeps_what_outputs_need() -> None:
    calls = (Call("neg", None, (1,)), Call("abs", None, (2,)), Call("exp", None, (3,)))
    inputs = (np.zeros(3, np.float32), np.arange(3, dtype=np.float32), Number((), float32, 1.0))
    small = Program(inputs[:2], calls[:1], (2,)).pruned()
    assert len(small.inputs) == 1 and small.calls == (Call("neg", None, (0,)),)
    assert small.wanted()[0].tolist() == [0.0, -1.0, -2.0]
    assert len(Program(inputs, calls[:2], (3,)).pruned().calls) == 1


def test_exact_normal_promises_where_no_step_is_subnormal() -> None:
    tiny = np.float32(2.0**-130)

    def promised(op: str, attrs: object, *inputs: np.ndarray) -> bool:
        calls = (Call(op, attrs, tuple(range(len(inputs)))),)
        program = Program(inputs, calls, (len(inputs),))
        held = program.held(program.wanted())
        assert held is None or all(mask.all() for mask in held)
        return held is not None

    one = np.ones(2, np.float32)
    low = np.array([2.0**-70, 1.0], np.float32)
    assert promised("mul", None, one, one) and not promised("mul", None, low, low)
    assert not promised("add", None, one * tiny, one)
    assert promised("sum", Axes((0,)), low)
    assert not promised("sum", Axes((0,)), one * np.float32(2.0**-110)), "a difference may be tiny"
    assert not promised("matmul", None, low.reshape(1, 2), low.reshape(2, 1))
    assert promised("matmul", None, low.reshape(1, 2), one.reshape(2, 1))
    assert not promised("prod", Axes((0,)), np.array([2.0**-70, 2.0**-60, 2.0**60], np.float32))
    assert promised("prod", Axes((0,)), np.array([2.0**-70, 2.0**60], np.float32))
    assert promised("exp", None, np.float32([-1.0])) and not promised("exp", None, [-90.0] * one)
    assert promised("sum", Axes((0,)), np.array([3, 4], np.int32))


def run(script: str, folder: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a user does: the suite is not on the path."""
    file = folder / "shows.py"
    file.write_text(script)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env |= {"PYTHONPATH": os.pathsep.join(map(str, path))} if path else {}
    command = [sys.executable, str(file)]
    return subprocess.run(command, cwd="/", env=env, capture_output=True, text=True, timeout=120)


def test_a_script_of_a_right_device_exits_with_0(tmp_path: Path) -> None:
    for number in (0, 1, 2, 7):
        script = script_of(Graph(number, 0), "cpu")
        assert "vkml_conformance" not in script
        done = run(script, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(": equal") == 3 * len(Graph(number, 0).results)
        assert not done.stderr


def test_a_script_shows_the_bits_that_differ(tmp_path: Path) -> None:
    x = vkml.tensor(np.zeros((20, 5)), dtype=float32)
    program = capture([x.exp().node])
    done = run(script_of(program, "wrong-exp", "broken_tables:wrong_exp"), tmp_path, HERE)
    assert done.returncode == 1, done.stderr
    said = "1 of 100 elements differ, first at (19, 4): wrong-exp gives 0x3f800001 (1.0000001), "
    assert said + "cpu gives 0x3f800000 (1.0)" in done.stdout


def test_a_script_shows_what_only_the_second_run_gets_wrong(tmp_path: Path) -> None:
    program = capture([(-vkml.tensor([1.0, 2.0, 3.0])).node])
    done = run(script_of(program, "stale-neg", "broken_tables:stale_neg"), tmp_path, HERE)
    assert done.returncode == 1, done.stderr
    assert "output 0, results: equal" in done.stdout
    assert "output 0, again: 3 of 3 elements differ" in done.stdout


def test_a_script_between_two_devices_that_are_not_installed(tmp_path: Path) -> None:
    program = capture([vkml.tensor([0.5]).exp().node])
    places = "broken_tables:strided_sum", "broken_tables:wrong_exp"
    script = script_of(
        program, "strided-sum", places[0], reference="wrong-exp", reference_backend=places[1]
    )
    done = run(script, tmp_path, HERE)
    assert done.returncode == 1 and "wrong-exp gives" not in done.stdout.partition(": ")[0]
    assert "strided-sum gives" in done.stdout and "wrong-exp gives" in done.stdout


def test_any_subject_becomes_a_program() -> None:
    subject: Subject = Graph(3, 0)
    program = program_of(subject)
    assert program.calls == Graph(3, 0).program.calls
    assert bits(program.wanted()) == bits(list(subject.wanted()))
    assert program_of(program) is program


def test_the_helpers_of_these_tests_are_broken() -> None:
    with broken_tables.registered(broken_tables.wrong_exp) as name:
        assert vkml.tensor([0.0], device=name).exp().item() != 1.0
