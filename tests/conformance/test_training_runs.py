"""Whole runs end in the recorded bits, and a wrong bit anywhere in them is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from faulty import faulty
from vkml_conformance import training
from vkml_conformance.check import Check
from vkml_conformance.engine import judge
from vkml_conformance.models import MODELS

from vkml_backend_cpu.table import TABLE


def small(name: str, steps: int = 2) -> Check:
    (check,) = [c for c in training.derive() if c.op == name]
    return Check(**{**vars(check), "subject": training.TrainingSubject(name, 0, steps)})


def test_the_checks() -> None:
    found = list(training.derive())
    assert [c.id for c in found] == [f"training/{name}" for name in training.DIGESTS]
    assert [c.id for c in training.derive(4)] == [f"training/{name}@4" for name in MODELS]
    assert {(c.family, c.part, c.dtype) for c in found} == {("training", "training", "float32")}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_ends_in_the_recorded_bits(name: str) -> None:
    assert training.digest(name, "cpu") == training.DIGESTS[name]


def test_a_check_is_the_run_of_the_digest() -> None:
    subject = training.TrainingSubject("transformer")
    wanted = subject.wanted()
    assert len(wanted) == len(subject.results) == training.STEPS + len(subject.leaves())
    sha = training.hashlib.sha256(b"".join(w.tobytes() for w in wanted)).hexdigest()
    assert sha == training.DIGESTS["transformer"]
    losses = [float(w) for w in wanted[: training.STEPS]]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.03


@pytest.mark.parametrize("name", MODELS)
def test_the_oracle_passes(name: str) -> None:
    outcome = judge(small(name), "cpu", "exact")
    assert outcome.status == "equal" and outcome.elements > 10_000, outcome


def test_another_seed_is_another_run() -> None:
    first, second = (training.TrainingSubject("mlp", seed, 1) for seed in (0, 1))
    assert not np.array_equal(first.leaves()[0], second.leaves()[0])
    assert first.wanted()[0] != second.wanted()[0]


def test_one_wrong_bit_in_a_row_is_seen() -> None:
    def off(attrs: Any, x: Any) -> Any:
        out = np.array(TABLE["erfc"](attrs, x))
        if out.dtype == np.float32 and out.size > 40:
            out.reshape(-1).view(np.uint32)[37] ^= 1
        return out

    with faulty(erfc=off) as device:
        outcome = judge(small("transformer"), device, "exact")
    assert outcome.status == "differs" and outcome.difference is not None


def test_exact_normal_promises_nothing() -> None:
    assert judge(small("mlp"), "cpu", "exact-normal").status == "left out"
