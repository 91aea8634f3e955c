"""Puts the package under test on the path; it is not part of the distribution vkml."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))
