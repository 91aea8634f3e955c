"""Modules and pipelines: float-control modes, constants, and the cache on disk."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import needs_vulkan  # noqa: F401
import pytest
from host_kernels import KERNELS, module

from vkml_backend_vulkan import pipeline, spirv
from vkml_core.errors import DeviceError

if TYPE_CHECKING:
    from vkml_backend_vulkan.instance import Physical

_NAMES = {4459: "DenormPreserve", 4461: "SignedZeroInfNanPreserve", 4462: "RoundingModeRTE"}


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=3)))
def test_modes_are_declared_and_valid(flags: tuple[bool, ...], tmp_path: Path) -> None:
    from vkml_backend_vulkan.instance import FloatControls

    made = spirv.with_float_controls(module("add"), FloatControls(*flags))
    file = tmp_path / "a.spv"
    file.write_bytes(made)
    valid = ["spirv-val", "--target-env", "vulkan1.2", str(file)]
    assert subprocess.run(valid, capture_output=True, text=True).stderr == ""
    listed = subprocess.run(["spirv-dis", str(file)], capture_output=True, text=True).stdout
    found = {n for n in _NAMES.values() if f"{n} 32" in listed}
    wanted = zip(
        ("RoundingModeRTE", "SignedZeroInfNanPreserve", "DenormPreserve"), flags, strict=True
    )
    assert found == {name for name, on in wanted if on}
    assert ("SPV_KHR_float_controls" in listed) == any(flags)
    assert (made == module("add")) == (not any(flags))


@pytest.mark.parametrize(
    "damage",
    [lambda m: m[:24], lambda m: m[:7], lambda m: b"\0" + m[1:], lambda m: m[:20] + bytes(8)],
)
def test_damaged_modules_are_refused(damage: object) -> None:
    from vkml_backend_vulkan.instance import FloatControls

    with pytest.raises(DeviceError, match="damaged"):
        spirv.with_float_controls(damage(module("add")), FloatControls(True, True, True))  # type: ignore[operator]


def test_a_missing_module_is_named() -> None:
    with pytest.raises(DeviceError, match=r"no module is called 'no\.such'"):
        pipeline.shipped_module("no.such")


def _opened(physical: Physical, directory: Path) -> object:
    from vkml_backend_vulkan.device import VulkanDevice

    return VulkanDevice(physical, KERNELS, directory)


def test_the_cache_is_kept_on_disk_and_damage_is_ignored(
    physical: Physical, tmp_path: Path
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    def once() -> Path:
        opened = VulkanDevice(physical, KERNELS, tmp_path / "new")
        assert opened.pipelines.get("copy", (64,)) is opened.pipelines.get("copy", (64,))
        assert opened.pipelines.get("copy", (32,)) != opened.pipelines.get("copy", (64,))
        assert opened.stats()["pipelines"] == 2
        opened.close()
        (file,) = (tmp_path / "new").iterdir()
        assert physical.uuid in file.name
        return file

    file = once()
    good = file.read_bytes()
    assert pipeline.read_cache(file) == good[32:]
    for damaged in (b"", good[:-1], good[:40], b"x" + good[1:], good[:-1] + b"\xff"):
        file.write_bytes(damaged)
        assert pipeline.read_cache(file) == b""
        once()
        assert pipeline.read_cache(file)
    file.unlink()
    assert once() == file


def test_a_cache_that_cannot_be_written_is_no_error(physical: Physical, tmp_path: Path) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    (tmp_path / "file").write_text("not a directory")
    opened = VulkanDevice(physical, KERNELS, tmp_path / "file")
    opened.pipelines.get("copy", (64,))
    opened.close()
    assert (tmp_path / "file").read_text() == "not a directory"


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user has no entry among the users."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    file = pipeline.cache_directory() / "some.cache"
    assert pipeline.read_cache(file) == b""
    with pytest.raises(OSError):
        pipeline.write_cache(file, b"data")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert pipeline.cache_directory() == Path("/somewhere/vkml/vulkan")


def test_writing_the_cache_leaves_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "cache.bin"
    pipeline.write_cache(file, b"one")
    pipeline.write_cache(file, b"two")
    assert pipeline.read_cache(file) == b"two" and list(file.parent.iterdir()) == [file]
