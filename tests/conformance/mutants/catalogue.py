"""The list of broken backends, of those that cannot be used, and of correct ones that look odd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vkml_conformance.schema import Verdict


@dataclass(frozen=True)
class Mutant:
    """A backend, what the suite has to say of it, and what it stands for."""

    backend: str
    """`module:attribute`."""
    about: str
    verdict: Verdict = "differs"
    cause: str = ""
    """A word of the guess at the cause; empty where no guess is asked for."""
    options: tuple[str, ...] = ("--quick",)
    """What the test of it asks for, so that it is short; the mutation table has whole runs."""


SOME: Final = ("--quick", "--family", "reduce", "--family", "elementwise", "--cases", "2")
MUTANTS: Final[dict[str, Mutant]] = {
    "fused": Mutant(
        "mutants.arithmetic:fused",
        "multiply-add fused in every product of matrices",
        cause="fused multiply-add",
    ),
    "loops": Mutant(
        "mutants.arithmetic:loops",
        "contraction only inside loops: short products are unrolled and right",
        cause="fused multiply-add",
    ),
    "expression": Mutant(
        "mutants.arithmetic:expression",
        "contraction only in fused element-wise kernels: x * y + z in one step",
        cause="fused multiply-add",
    ),
    "reduction": Mutant(
        "mutants.order:reduction", "reduction order changed: sum by a tree", cause="reduction order"
    ),
    "chunks": Mutant(
        "mutants.order:chunks",
        "reduction order changed: the sums of chunks are added one after the other",
        cause="reduction order",
        options=("--family", "reduce", "--ops", "sum", "--dtype", "float32"),
    ),
    "split": Mutant(
        "mutants.order:split",
        "split-K combined in another order",
        cause="reduction order",
        options=("--family", "matmul", "--dtype", "float32"),
    ),
    "flushing": Mutant(
        "mutants.arithmetic:flushing",
        "subnormals flushed, and level exact declared",
        cause="subnormals flushed",
    ),
    "division": Mutant(
        "mutants.arithmetic:division",
        "division off by one ulp once in 10^6: a wrong table entry",
        options=("--ops", "div", "--dtype", "float32"),
    ),
    "quotient": Mutant(
        "mutants.arithmetic:quotient",
        "division off by one ulp once in 10^6: a reciprocal too short",
    ),
    "nan": Mutant("mutants.special:nan", "max drops NaN", cause="NaN handling"),
    "zero": Mutant("mutants.special:zero", "-0 lost: neg as 0 - x", cause="negative zero"),
    "last": Mutant(
        "mutants.tiles:last",
        "last rows of a product are not written where they fill no tile",
        cause="uninitialised tail",
        options=("--family", "matmul", "--dtype", "float32"),
    ),
    "tail": Mutant("mutants.tiles:tail", "tile tail reading beyond K"),
    "rows": Mutant(
        "mutants.tiles:rows",
        "large products read beyond the end of a row, and multiply what is there by zeros",
        cause="read beyond the end of a line",
        options=("--family", "matmul", "--dtype", "float32"),
    ),
    "barrier": Mutant(
        "mutants.executor:barrier",
        "missing barrier: stale read on the second run only",
        cause="only through replay",
        options=("--ops", "tan", "--dtype", "float32"),
    ),
    "accumulator": Mutant(
        "mutants.executor:accumulator", "wrong result only through replay: accumulators kept"
    ),
    "bound": Mutant(
        "mutants.executor:bound",
        "wrong result only through replay: the first run's inputs are read again",
        cause="only op by op",  # values that are assigned to come first
    ),
    "numbers": Mutant(
        "mutants.executor:numbers",
        "wrong result only through replay: the first run's numbers are used again",
    ),
    "batch": Mutant(
        "mutants.order:batch", "result depends on the batch size", cause="reduction order"
    ),
    "half": Mutant(
        "mutants.arithmetic:half", "float16 rounded toward zero", cause="float16 rounding"
    ),
    "ties": Mutant("mutants.special:ties", "argmax ties to the last", cause="ties"),
    "philox": Mutant(
        "mutants.special:philox", "Philox counter off by one for sizes not divisible by 4"
    ),
    "gradient": Mutant("mutants.tiles:gradient", "gradient correct for contiguous input only"),
    "reused": Mutant("mutants.executor:reused", "memory reused while it is still read"),
    "index32": Mutant("mutants.tiles:index32", "int64 indices truncated to their low 32 bits"),
    "index16": Mutant("mutants.tiles:index16", "int64 indices truncated to their low 16 bits"),
    "int64": Mutant("mutants.tiles:int64", "int64 computed in 32 bits", cause="index truncated"),
    "state": Mutant(
        "mutants.failures:state", "an exception half way leaves a STATE buffer overwritten"
    ),
    "flag": Mutant(
        "mutants.failures:flag", "an exception half way leaves its flag set for the next run"
    ),
    "refuses": Mutant("mutants.process:refuses", "an operation declared and refused"),
    "crash": Mutant("mutants.process:crash", "a crash: abort() in cumsum", "crashed"),
    "fault": Mutant("mutants.process:fault", "a crash: a null pointer in cumsum", "crashed"),
    "hang": Mutant("mutants.process:hang", "a hang in argsort", "timed out"),
    "probing": Mutant("mutants.process:probing", "a hang in probe()", "timed out"),
    "closed": Mutant("mutants.process:closed", "open() raises", "failed to load"),
    "other-api": Mutant("mutants.process:other_api", "another API major", "failed to load"),
    "missing": Mutant("mutants.missing:backend", "a library is missing", "failed to load"),
    "noisy": Mutant(
        "mutants.process:noisy", "correct, with garbage on stdout", "passed", options=SOME
    ),
    "slow": Mutant("mutants.correct:slow", "correct, but slow", "passed", options=SOME),
    "third": Mutant(
        "mutants.correct:third", "correct, with a third of the operations", "passed", options=SOME
    ),
    "flushing-declared": Mutant(
        "mutants.arithmetic:flushing_declared",
        "correct at level exact-normal: subnormals flushed, and that declared",
        "passed",
        options=SOME,
    ),
}
