"""Fixtures of the Vulkan tests: they run on lavapipe unless VK_DRIVER_FILES names a driver.

Where the Khronos validation layer is installed every test runs under it, and one message from it
fails the test.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from tests.vulkan.validation import LAYER, Log, installed

if TYPE_CHECKING:
    from host_faults import Faults
    from shader import Mapper

    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical
    from vkml_backend_vulkan.selftest.probe import Probe
    from vkml_backend_vulkan.selftest.verdict import Verdict

_LAVAPIPE: Final = next(iter(sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))), None)
_ALSO_ON_SWIFTSHADER: Final = {
    "test_every_row": "float32",
    **dict.fromkeys(("test_elementwise", "test_matmul", "test_reduce"), ""),
    **dict.fromkeys(("test_training", "test_validation"), ""),
}
"""Modules, and what is in the names of their tests that are meant."""

if "VK_DRIVER_FILES" not in os.environ and _LAVAPIPE:
    os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(_LAVAPIPE)


def _switched_on() -> Log | None:
    """Take the layer before any test, of whatever folder, creates the process's instance."""
    if not installed():
        return None
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    log = Log(Path(directory.name))
    if "PYTEST_XDIST_WORKER" in os.environ:  # what it was started with is its controller's log
        for inherited in log.environment():
            os.environ.pop(inherited, None)
    log.switch_on()
    return log


_LOG: Final = _switched_on()


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker of the part that `make test` runs on SwiftShader too."""
    config.addinivalue_line("markers", "swiftshader: also run on SwiftShader by make test")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of that part."""
    for item in items:
        said = _ALSO_ON_SWIFTSHADER.get(item.path.stem)
        if said is not None and said in item.name:
            item.add_marker("swiftshader")


@pytest.fixture(scope="session", autouse=True)
def validation() -> Iterator[Log | None]:
    """The layer's log, or None where it is not installed; what it says at the end counts too."""
    yield _LOG
    if _LOG is not None:
        said = _LOG.new()
        assert not said, f"{LAYER} at the end of the run:\n{said}"


@pytest.fixture(autouse=True)
def valid(validation: Log | None) -> Iterator[None]:
    """Fail the test during which the layer says something."""
    yield
    said = validation.new() if validation is not None else ""
    assert not said, f"{LAYER}:\n{said}"


@pytest.fixture(autouse=True)
def linked_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Link kernels for the first run of a plan already: here they are what is tested."""
    if request.path.stem != "test_warming" and find_spec("vulkan"):
        monkeypatch.setattr("vkml_backend_vulkan.warming.SHARED_RUNS", 0)


@pytest.fixture(scope="session")
def physical(validation: object) -> Physical:
    """The best device of the driver under test."""
    from vkml_backend_vulkan.backend import backend
    from vkml_core.backend import Unavailable

    answer = backend.probe()
    if isinstance(answer, Unavailable):
        pytest.skip(f"no Vulkan device: {answer.reason}")
    from vkml_backend_vulkan.instance import usable

    return usable()[0]


@pytest.fixture(scope="session")
def device(physical: Physical, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VulkanDevice]:
    """An opened device with the kernels that come with vkml."""
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.kernels import shipped

    opened = VulkanDevice(physical, shipped(), tmp_path_factory.mktemp("cache"))
    yield opened
    opened.close()


@pytest.fixture
def driver(physical: Physical) -> Iterator[Faults]:
    """The driver, whose calls can be made to fail; no object may be left behind."""
    from host_faults import faults
    from host_leaks import no_objects_left

    with no_objects_left(), faults() as made:
        yield made


@pytest.fixture(params=["software", "discrete-gpu"])
def host(
    request: pytest.FixtureRequest, physical: Physical, driver: Faults, tmp_path: Path
) -> Iterator[VulkanDevice]:
    """A device of either kind with the tests' own kernels: mapped, patient and cut by number of
    dispatches, or staged, spinning and cut by time.
    """
    from host_kernels import KERNELS

    from vkml_backend_vulkan.device import VulkanDevice

    opened = VulkanDevice(replace(physical, kind=request.param), KERNELS, tmp_path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def mapper(physical: object) -> Iterator[Mapper]:
    """Runs single shader functions, by host code of its own."""
    from shader import Mapper

    made = Mapper()
    yield made
    made.close()


@pytest.fixture(scope="module")
def name(physical: Physical) -> Iterator[str]:
    """The name by which tensors find the device under test."""
    from vkml_backend_vulkan.backend import backend
    from vkml_core import plugins

    registered = "vulkan" in plugins.available_devices()
    if not registered:
        plugins.register_backend(backend)
    yield "vulkan"
    if not registered:
        plugins.unregister_backend("vulkan")


@pytest.fixture(scope="module")
def verdict(physical: Physical, tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    """What the self-test finds in this process."""
    from vkml_backend_vulkan.selftest.judge import judge

    return judge(physical, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def some(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace the probes by a few of them, as a function changes them."""
    from vkml_backend_vulkan.selftest import forms, judge

    kept = [p for p in forms.probes() if p.name in {"floats mul", "integers product"}]

    def change(how: Callable[[Probe], Probe] = lambda p: p) -> None:
        monkeypatch.setattr(judge, "probes", lambda: map(how, kept))

    return change
