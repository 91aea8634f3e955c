"""Settings from `VKML_*`: what they may be, and errors that name the variable."""

from __future__ import annotations

from typing import Any

import pytest

from vkml_core.errors import ArgumentError
from vkml_core.settings import Settings, excluded, settings


def test_nothing_set_means_the_defaults() -> None:
    assert settings({}) == Settings(device=None, eager=False, require_level=None, cpu_threads=None)
    assert settings({"VKML_DEVICE": "", "VKML_EAGER": " "}) == settings({})


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("VKML_DEVICE", "vulkan:1", "device", "vulkan:1"),
        ("VKML_DEVICE", " cpu ", "device", "cpu"),
        ("VKML_EAGER", "1", "eager", True),
        ("VKML_EAGER", "true", "eager", True),
        ("VKML_EAGER", "0", "eager", False),
        ("VKML_REQUIRE_LEVEL", "exact", "require_level", "exact"),
        ("VKML_REQUIRE_LEVEL", "exact-normal", "require_level", "exact-normal"),
        ("VKML_CPU_THREADS", "8", "cpu_threads", 8),
    ],
)
def test_good_values(name: str, text: str, field: str, value: Any) -> None:
    got = settings({name: text, "VKML_OTHER": "belongs to a backend"})
    assert getattr(got, field) == value
    assert got == settings({}).model_copy(update={field: value})


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("VKML_EAGER", "perhaps", "0 or 1"),
        ("VKML_EAGER", "2", "0 or 1"),
        ("VKML_REQUIRE_LEVEL", "Exact", "exact or exact-normal"),
        ("VKML_CPU_THREADS", "0", "a whole number from 1 to 4096"),
        ("VKML_CPU_THREADS", "-1", "a whole number from 1 to 4096"),
        ("VKML_CPU_THREADS", "2.5", "a whole number from 1 to 4096"),
        ("VKML_CPU_THREADS", "many", "a whole number from 1 to 4096"),
        ("VKML_CPU_THREADS", "9" * 400, "a whole number from 1 to 4096"),
    ],
)
def test_bad_values(name: str, text: str, expected: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        settings({name: text})
    assert str(caught.value) == f"{name}: expected {expected}, got {text!r}"


def test_all_bad_values_are_told_at_once() -> None:
    with pytest.raises(ArgumentError, match=r"VKML_EAGER: .*; VKML_CPU_THREADS: "):
        settings({"VKML_EAGER": "x", "VKML_CPU_THREADS": "y"})


def test_the_environment_is_read_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKML_CPU_THREADS", "3")
    assert settings().cpu_threads == 3
    monkeypatch.setenv("VKML_CPU_THREADS", "4")
    assert settings().cpu_threads == 4


@pytest.mark.parametrize(
    ("text", "names"),
    [("", set()), (" , ,", set()), ("a", {"a"}), (" a , b-c,a,", {"a", "b-c"}), ("A:1", {"A:1"})],
)
def test_what_is_excluded(text: str, names: set[str]) -> None:
    assert excluded({"VKML_EXCLUDE": text}) == names
    assert excluded({}) == frozenset()
