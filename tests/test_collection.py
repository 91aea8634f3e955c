"""The names of tests are the same in every process: xdist's workers compare them."""

import subprocess
import sys
from pathlib import Path

WRITES_A_TIME = """
import gzip, pytest
@pytest.mark.parametrize("content", [gzip.compress(b"x", mtime={time}), b"y"])
def test(content):
    pass
"""


def names(folder: Path, time: int) -> str:
    (folder / "test_it.py").write_text(WRITES_A_TIME.format(time=time))
    root = Path(__file__).parents[1]
    (folder / "conftest.py").write_text((root / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_bytes_are_not_part_of_a_name(tmp_path: Path) -> None:
    first, second = (names(tmp_path, time).splitlines()[:2] for time in (1, 2))
    assert first == second and len(set(first)) == 2
