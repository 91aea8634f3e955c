"""The suite as pytest tests: one for each operation, dtype and part. Runs in this process.

`vkml-conformance run` also survives a backend that crashes or hangs.
"""

from __future__ import annotations

from functools import cache

import pytest

from vkml_conformance.check import Check, Outcome
from vkml_conformance.engine import judge
from vkml_conformance.pytest_plugin import BACKEND, INDEX, MODE, SEED
from vkml_conformance.schema import Selection
from vkml_conformance.suite import bundles
from vkml_conformance.worker import find
from vkml_core.device import device
from vkml_core.discovery import Refused
from vkml_core.errors import Error

Group = tuple[Check, ...]
SHOWN = 3


@cache
def groups(mode: str, seed: int) -> dict[str, Group]:
    """Give the checks of a mode by what a test is called."""
    found: dict[str, list[Check]] = {}
    for bundle in bundles(Selection.model_validate({"mode": mode, "seed": seed})):
        for check in bundle:
            found.setdefault(f"{check.op}-{check.dtype}-{check.part}", []).append(check)
    return {name: tuple(checks) for name, checks in found.items()}


@cache
def opened(backend: str, index: int) -> str:
    """Give the name of the device under test; open it once."""
    name = find(backend, index)
    device(name).capabilities()
    return name


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make the tests. Without a backend that is a usage error, so that nothing passes unseen."""
    config = metafunc.config
    if config.getoption(BACKEND) is None:
        raise pytest.UsageError(
            "vkml_conformance: which backend? Add --backend NAME, such as --backend vulkan; "
            "one that is not installed is named as module:attribute"
        )
    found = groups(config.getoption(MODE), config.getoption(SEED))
    metafunc.parametrize("checks", list(found.values()), ids=list(found))


@pytest.fixture(scope="session")
def name(request: pytest.FixtureRequest) -> str:
    """The device under test."""
    option = request.config.getoption
    try:
        return opened(option(BACKEND), option(INDEX))
    except (Error, Refused) as error:
        pytest.fail(str(error), pytrace=False)


def test_backend(checks: Group, name: str) -> None:
    """Every bit is the oracle's."""
    level = device(name).capabilities().level
    outcomes = [(check, judge(check, name, level)) for check in checks]
    wrong = [f"{c.id}: {_told(o)}" for c, o in outcomes if o.status in ("differs", "error")]
    if wrong:
        shown = "\n".join(wrong[:SHOWN])
        pytest.fail(f"{len(wrong)} of {len(checks)} checks differ\n{shown}", pytrace=False)
    statuses = {outcome.status for _, outcome in outcomes}
    if "equal" not in statuses:
        reasons = {outcome.message for _, outcome in outcomes}
        pytest.skip(f"{', '.join(sorted(statuses))}: {'; '.join(sorted(reasons))}")


def _told(outcome: Outcome) -> str:
    return str(outcome.difference or outcome.message)
