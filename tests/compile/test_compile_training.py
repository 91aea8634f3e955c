"""Compiled training is lazy training is eager training, to the bit, on every device."""

from __future__ import annotations

import pytest

import vkml
from tests.compile.programs import MODELS, MODES, OPTIMISERS, Run, batches, submissions
from tests.everywhere import devices
from vkml_core import runtime

PAIRS = [
    *(("perceptron", o) for o in OPTIMISERS),
    ("convolutions", "momentum"),
    ("convolutions", "RMSProp"),
    ("transformer", "AdamW"),
]


@pytest.mark.parametrize(("model", "optimiser"), PAIRS)
def test_the_same_bits_in_every_mode(model: str, optimiser: str) -> None:
    wanted = None
    for device in devices():
        for mode in MODES:
            run = Run(model, optimiser, mode, device)
            found = run.train(batches(model, 10)), run.state()
            wanted = wanted or found
            assert found[0] == wanted[0], (device, mode)
            for name, value in wanted[1].items():
                assert found[1][name] == value, (device, mode, name)


@pytest.mark.parametrize("model", MODELS)
def test_one_submission_a_call_and_no_new_plan(model: str) -> None:
    for device in devices():
        run = Run(model, "AdamW", "compiled", device)
        data = list(batches(model, 12))
        run.train(data[:4])
        plans, start = runtime.cache_info()["plans"], submissions(device)
        run.train(data[4:])
        assert submissions(device) - start == 8
        assert runtime.cache_info()["plans"] == plans
        assert run.step.cache_info()[:2] == (10, 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize("optimiser", ["momentum", "AdamW"])
@pytest.mark.parametrize("modes", [("compiled", "lazy"), ("lazy", "compiled"), ("compiled",) * 2])
def test_a_checkpoint_in_the_middle(optimiser: str, modes: tuple[str, str]) -> None:
    whole = Run("transformer", optimiser, "lazy", "cpu")
    losses = whole.train(batches("transformer", 10))
    data = list(batches("transformer", 10))
    first = Run("transformer", optimiser, modes[0], "cpu")
    found = first.train(data[:5])
    kept = (
        first.model.state_dict(),
        first.optimizer.state_dict(),
        first.schedule.state_dict(),
        first.model.random_state(),
        vkml.get_rng_state(),
    )
    first.train(data[5:])  # what was taken keeps its values
    second = Run("transformer", optimiser, modes[1], "cpu")
    second.train(data[:2])  # into a run that is compiled already
    second.model.load_state_dict(kept[0])
    second.optimizer.load_state_dict(kept[1])
    second.schedule.load_state_dict(kept[2])
    second.model.load_random_state(kept[3])
    vkml.set_rng_state(kept[4])
    found += second.train(data[5:])
    assert found == losses
    assert second.state() == whole.state()


def test_modes_may_take_turns() -> None:
    wanted = Run("transformer", "AdamW", "lazy", "cpu")
    losses = wanted.train(batches("transformer", 9))
    run = Run("transformer", "AdamW", "compiled", "cpu")
    found = []
    for i, batch in enumerate(batches("transformer", 9)):
        if i % 3 == 1:
            run.step, kept = run._step, run.step
            found += run.train([batch])
            run.step = kept
        else:
            found += run.train([batch])
    assert found == losses and run.state() == wanted.state()


def test_compiled_in_eager_mode() -> None:
    wanted = Run("convolutions", "momentum", "lazy", "cpu")
    losses = wanted.train(batches("convolutions", 5))
    run = Run("convolutions", "momentum", "compiled", "cpu")
    with vkml.eager_mode():
        found = run.train(batches("convolutions", 5))
    assert found == losses and run.state() == wanted.state()
