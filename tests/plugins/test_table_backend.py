"""A backend made of a table of kernels, and the rows that are refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from toy import TABLE, Kernel, add, same

from vkml_core.backend import Available, Backend, Unavailable
from vkml_core.errors import DeviceError, RegistrationError
from vkml_core.stepwise import StepwiseDevice
from vkml_core.table_backend import table_backend

BAD_ROWS: dict[str, tuple[str, Any, str]] = {
    "unknown": ("frobnicate", same, "no operation of vkml has that name"),
    "too few": ("add", same, "a kernel is called as kernel(attrs, array0, array1)"),
    "too many": ("neg", add, "a kernel is called as kernel(attrs, array0)"),
    "keyword only": ("neg", lambda attrs, *, a: a, "kernel(attrs, array0)"),
    "not variadic": (
        "cat",
        lambda attrs, a=None: a,
        "a kernel is called as kernel(attrs, *arrays)",
    ),
    "no function": ("add", 3, "a kernel is a function, got int"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused_when_the_table_is_given(case: str) -> None:
    row, kernel, rule = BAD_ROWS[case]
    for make in (
        lambda: table_backend("toy", {row: kernel}, api_version=(1, 0)),
        lambda: StepwiseDevice("host", "cpu", {row: kernel}, backend="toy"),
    ):
        with pytest.raises(RegistrationError) as caught:
            make()
        assert str(caught.value).startswith(f"backend 'toy': row {row!r}: ")
        assert rule in str(caught.value)


def test_good_rows_of_every_form() -> None:
    table: dict[str, Kernel] = {
        "add": lambda *arrays: arrays[1],
        "neg": lambda attrs, a, extra=None: a,
        "cat": lambda attrs, *arrays: arrays[0],
        "mul": SimpleNamespace(__call__=add).__call__,
    }
    assert table_backend("toy", table, api_version=(1, 0)).open(0).capabilities().ops == set(table)


def test_table_backend_is_a_whole_backend() -> None:
    backend = table_backend(
        "toy",
        TABLE,
        api_version=(1, 0),
        device_name="a toy",
        kind="other",
        level="exact-normal",
        probe=lambda: Unavailable("away", "come back"),
    )
    assert isinstance(backend, Backend)
    assert backend.probe() == Unavailable("away", "come back")
    assert table_backend("toy", TABLE, api_version=(1, 0)).probe() == Available()
    opened = backend.open(0)
    assert (opened.name, opened.kind) == ("a toy", "other")
    assert opened.capabilities().level == "exact-normal"
    assert opened.report()["operations"] == str(len(TABLE))
    with pytest.raises(DeviceError, match="toy: has one device, got index 1"):
        backend.open(1)
