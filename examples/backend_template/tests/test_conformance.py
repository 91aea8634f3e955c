"""The conformance suite: a test for each operation, dtype and part, every bit the oracle's.

Operations without a row in the table are skipped, and the reason names them. `--vkml-mode default`
checks more, `--vkml-seed 1` other values.
"""

from vkml_conformance.test_backend import name, pytest_generate_tests, test_backend

__all__ = ["name", "pytest_generate_tests", "test_backend"]
