"""Lines longer than a run are merged: stable, in both directions, along any axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle.run import attributes
from tests.vulkan.family import values
from tests.vulkan.single import Source, judge
from vkml_backend_vulkan.lower.sort import RUN, runs_of
from vkml_core.backend import Device

LENGTHS = (1, RUN - 1, RUN, RUN + 1, 2 * RUN, 2 * RUN + 1, 3 * RUN, 5 * RUN + 7, 9000)


def test_the_passes() -> None:
    assert runs_of(RUN) == []
    assert runs_of(RUN + 1) == [RUN]
    assert runs_of(4 * RUN) == [RUN, 2 * RUN]
    assert runs_of(4 * RUN + 1) == [RUN, 2 * RUN, 4 * RUN]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_long_lines(device: Device, length: int, descending: bool) -> None:
    attrs = attributes("argsort", axis=0, descending=descending)
    judge(device, "argsort", attrs, values("long", length, dtype=np.float32))
    few = np.arange(length, dtype=np.int32) * 7919 % 5  # many are equal
    judge(device, "argsort", attrs, few)


@pytest.mark.parametrize("dtype", [np.float16, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes_and_layouts(device: Device, axis: int, dtype: Any) -> None:
    shape = [2, 3, 2]
    shape[axis] = 2 * RUN + 5
    x = values("axes", *shape, dtype=dtype)
    attrs = attributes("argsort", axis=axis, descending=False)
    judge(device, "argsort", attrs, x)
    judge(device, "argsort", attrs, Source.strange(x))
