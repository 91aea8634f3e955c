"""Every Python block of the README and of docs/ runs, block after block in one process a page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PAGES = [p for p in TEXTS if "```python" in p.read_text()]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    script = "\n".join(blocks(page))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_readme_example_learns(tmp_path: Path) -> None:
    example = next(b for b in blocks(ROOT / "README.md") if "optimizer.step()" in b)
    assert len([line for line in example.splitlines() if line.strip()]) <= 15
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = re.search(r"accuracy ([\d.]+)%", done.stdout)
    assert found is not None and float(found[1]) > 90


def test_links_lead_somewhere() -> None:
    for page in TEXTS:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
