"""Nothing that a test leaves behind reaches the next one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vkml_core import runtime, spans


@pytest.fixture(autouse=True)
def nobody_collects() -> Iterator[None]:
    runtime.clear_cache()
    yield
    assert spans.active is None, "a capture was left running"
    runtime.clear_cache()
