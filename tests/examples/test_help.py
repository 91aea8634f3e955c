"""`--help` of every training example tells all of its options."""

import pytest
from support import run

COMMON = """--device --epochs --batch --lr --seed --limit --prefetch --eager --checkpoint --every
--resume --compare --attribute --json --pictures"""
OWN = {
    "digits.py": [],
    "mnist.py": ["--data", "--model", "--momentum"],
    "cifar100.py": ["--data", "--augment"],
    "charlm.py": ["--text", "--context", "--write", "--temperature"],
}


@pytest.mark.parametrize("script", OWN)
def test_help_names_every_option(script: str) -> None:
    done = run(script, "--help", COLUMNS="200")
    assert done.returncode == 0 and not done.stderr
    told = [line.split()[0].rstrip(",") for line in done.stdout.splitlines() if "  --" in line]
    assert set(told) == {*COMMON.split(), *OWN[script]}
    for line in done.stdout.splitlines():
        assert line.split()[1:] or not line.strip().startswith("--"), f"{line} says nothing"
