"""The script over all inputs: what it has recorded still holds, and it goes on after a kill."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from vkml_conformance.exhaustive import recorded

from vkml_backend_cpu.elementary import ELEMENTARY

HERE = Path(__file__).parent
RECORDED = recorded()


@pytest.fixture
def script() -> ModuleType:
    path = HERE.parent.parent / "benchmarks" / "exhaustive.py"
    spec = importlib.util.spec_from_file_location("exhaustive", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_function_is_recorded() -> None:
    assert RECORDED["all inputs"].keys() == RECORDED["block 0x3f"].keys() == ELEMENTARY.keys()


@pytest.mark.parametrize("name", ELEMENTARY)
def test_block_of_the_middle_numbers(script: ModuleType, name: str) -> None:
    """The 2^24 inputs from 0.5 to 2 give the outputs of the run over all inputs."""
    assert script.block_digest(ELEMENTARY[name], 0x3F) == RECORDED["block 0x3f"][name]


def test_goes_on_after_a_kill(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BLOCK", 1 << 10)
    monkeypatch.setattr(script, "BLOCKS", 6)
    whole, state = script.run("exp", None), tmp_path / "exp.json"
    with monkeypatch.context() as killed:
        real, seen = script.block_digest, []

        def digest(function: object, block: int) -> str:
            if block == 4:
                raise KeyboardInterrupt
            seen.append(block)
            result: str = real(function, block)
            return result

        killed.setattr(script, "block_digest", digest)
        with pytest.raises(KeyboardInterrupt):
            script.run("exp", state)
    assert seen == [0, 1, 2, 3] and len(script.load(state, "exp")) == 4
    assert script.run("exp", state) == whole
    with pytest.raises(ValueError, match="belongs to exp"):
        script.run("log", state)
