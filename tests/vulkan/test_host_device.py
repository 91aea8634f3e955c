"""The host side on a device: bytes there and back, runs, STATE, errors found by kernels."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_support import buffer, floats, leaf, run, value

from vkml_core.dtypes import DTYPES, DType, float32
from vkml_core.errors import IndexError_, OutOfMemoryError, UnsupportedOpError
from vkml_core.graph import build, const, full

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical


@pytest.fixture(params=[True, False], ids=["mapped", "staged"])
def host(
    request: pytest.FixtureRequest, physical: Physical, tmp_path: Path
) -> Iterator[VulkanDevice]:
    """A device with the tests' own kernels, its memory mapped or reached through the ring."""
    from host_kernels import KERNELS

    from vkml_backend_vulkan.device import VulkanDevice

    if request.param and physical.kind not in {"integrated-gpu", "software"}:
        pytest.skip("this device's memory is not the host's")
    opened = VulkanDevice(physical, KERNELS, tmp_path, mapped=request.param)
    yield opened
    opened.close()


def _random(dtype: DType, count: int) -> Any:
    raw = np.random.default_rng(count).integers(0, 256, count * dtype.itemsize, np.uint8)
    return raw % 2 == 1 if dtype.category == "bool" else raw.view(dtype.numpy)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_bytes_come_back(host: VulkanDevice, dtype: DType) -> None:
    for count in (0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 1000, 65537):
        array = _random(dtype, count)
        found = host.download(host.upload(array), array.shape, dtype)
        assert found.dtype == array.dtype and found.tobytes() == array.tobytes(), count


def test_more_bytes_than_the_ring_come_back(host: VulkanDevice) -> None:
    arrays = [_random(float32, n) for n in (20_000_001, 5, 3_000_000)]
    buffers = [host.upload(a) for a in arrays]
    for array, held in zip(arrays, buffers, strict=True):
        assert host.download(held, array.shape, float32).tobytes() == array.tobytes()


def test_rank_0_and_layouts_that_are_not_contiguous(host: VulkanDevice) -> None:
    x = floats(5, 7)
    for array in (np.array(2.5, np.float32), x.T, x[::2, ::-3]):
        found = host.download(host.upload(array), array.shape, float32)
        assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 4097])
def test_sum_of_vectors_and_numbers(host: VulkanDevice, n: int) -> None:
    x, y = floats(n), floats(n, seed=1)
    a, b = leaf(host, x), leaf(host, y)
    three = full((), 3.0, float32, a.device)
    total = build.add(build.add(a, b), build.expand(three, shape=(n,)))
    assert value(host, total).tobytes() == (x + y + np.float32(3)).tobytes()


def test_strided_operands_and_steps_with_scratch(host: VulkanDevice) -> None:
    x = floats(600)
    every = build.slice(leaf(host, x), start=(4,), length=(198,), step=(3,))
    found = value(host, build.abs(build.abs(build.contiguous(every))))
    assert found.tobytes() == (4 * x[4:598:3]).tobytes()


def test_a_long_chain_in_one_submission(host: VulkanDevice) -> None:
    x = floats(1000)
    node, want = leaf(host, x), x
    before = host.stats()
    for _ in range(100):
        node, want = build.abs(build.add(node, const(node, -0.25))), 2 * (want - np.float32(0.25))
        want = want.astype(np.float32)
    with np.errstate(over="ignore"):
        assert value(host, node).tobytes() == want.tobytes()
    after = host.stats()
    assert after["dispatches"] - before["dispatches"] == 300
    assert after["submissions"] - before["submissions"] <= 2  # the staged download is the second


def test_more_numbers_than_one_update_takes(host: VulkanDevice) -> None:
    count = 65536 // 16 + 3
    node = leaf(host, np.zeros(1, np.float32))
    for i in range(count):
        node = build.add(node, const(node, float(i % 7)))
    assert value(host, node)[0] == sum(i % 7 for i in range(count))


def test_state_is_written_in_place(host: VulkanDevice) -> None:
    x = floats(100)
    w = leaf(host, x)
    (result,) = run(host, [build.assign(w, build.add(w, const(w, 1.0)))], donate=[w])
    assert result is buffer(w)
    assert host.download(result, (100,), float32).tobytes() == (x + np.float32(1)).tobytes()


def test_runs_are_asynchronous_and_in_order(host: VulkanDevice) -> None:
    x = floats(100_000)
    w = leaf(host, x)
    for _ in range(50):  # more than may be in flight
        run(host, [build.assign(w, build.add(w, const(w, 0.5)))], donate=[w])
    want = x.copy()
    for _ in range(50):
        want += np.float32(0.5)
    assert host.download(buffer(w), x.shape, float32).tobytes() == want.tobytes()
    host.synchronize()
    assert host.queue.submitted == host.queue.finished


def test_memory_is_not_reused_while_a_submission_reads_it(host: VulkanDevice) -> None:
    x = floats(2_000_000)
    results = []
    for i in range(6):
        a = leaf(host, x + np.float32(i))
        results.append(run(host, [build.abs(a)])[0])
        del a  # its memory could be the next upload's
    for i, result in enumerate(results):
        want = 2 * (x + np.float32(i))
        assert host.download(result, x.shape, float32).tobytes() == want.tobytes()


def test_index_errors_are_the_oracles(host: VulkanDevice) -> None:
    x, index = leaf(host, floats(10)), leaf(host, np.array([3, -7, 2], np.int32))
    with pytest.raises(IndexError_, match="gather: index -7 is out of range for axis 0 with size"):
        run(host, [build.gather(x, index, axis=0)])
    good = leaf(host, np.array([9, 0], np.int32))
    assert value(host, build.gather(x, good, axis=0)).shape == (2,)


def test_a_failed_run_changes_no_state(host: VulkanDevice) -> None:
    x = floats(3)
    w, index = leaf(host, x), leaf(host, np.array([0, 1, 3], np.int32))
    raised = build.assign(w, build.add(w, const(w, 1.0)))
    picked = build.gather(build.add(w, w), index, axis=0)
    with pytest.raises(IndexError_):
        run(host, [raised, picked], donate=[w])
    assert host.download(buffer(w), (3,), float32).tobytes() == x.tobytes()
    fine = build.gather(build.add(w, w), leaf(host, np.array([2, 2], np.int32)), axis=0)
    run(host, [raised, fine], donate=[w])
    assert host.download(buffer(w), (3,), float32)[0] == x[0] + np.float32(1)


def test_missing_operations_are_all_named(host: VulkanDevice) -> None:
    x = leaf(host, floats(4))
    with pytest.raises(UnsupportedOpError, match="exp, log, which this graph needs"):
        run(host, [build.exp(build.log(x))])


def test_out_of_memory_names_limit_and_holders(host: VulkanDevice) -> None:
    held = host.upload(floats(1000))
    huge = np.broadcast_to(np.float32(0), (1 << 40,))
    with pytest.raises(OutOfMemoryError, match=r"in one allocation.*1 × 4,000 bytes"):
        host.memory.allocate(huge.size * 4)
    assert host.download(held, (1000,), float32).tobytes() == floats(1000).tobytes()


def test_memory_and_objects_return_to_the_start(physical: Physical, tmp_path: Path) -> None:
    from host_kernels import KERNELS

    from vkml_backend_vulkan import vk
    from vkml_backend_vulkan.device import VulkanDevice

    before = +vk.live
    for mapped in (None, False):
        opened = VulkanDevice(physical, KERNELS, tmp_path, mapped=mapped)
        start = opened.stats()["in_use_bytes"]
        node = build.abs(leaf(opened, floats(1000)))
        value(opened, node)
        opened._workspace.clear()
        del node
        gc.collect()
        opened.synchronize()
        assert opened.stats()["in_use_bytes"] == start
        opened.close()
    assert +vk.live == before


def test_threads_take_turns(host: VulkanDevice) -> None:
    x = floats(5000)
    failures: list[str] = []

    def work(i: int) -> None:
        for _ in range(10):
            a = leaf(host, x + np.float32(i))
            if value(host, build.add(a, a)).tobytes() != (2 * (x + np.float32(i))).tobytes():
                failures.append(f"thread {i}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
