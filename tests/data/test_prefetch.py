"""The thread that makes batches ahead: the same bits, errors in their place, and it ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vkml
from tests.everywhere import devices
from vkml.data import ArrayDataset, DataLoader, Dataset
from vkml.data.prefetch import Prefetch, PrefetchError

ROOT = Path(__file__).parents[2]
SECONDS = 20


def threads() -> int:
    return sum(t.name == "vkml-prefetch" for t in threading.enumerate())


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threads()
    yield
    gc.collect()
    wait_for(lambda: threads() <= before)


class Made(Dataset):
    """Counts the items made; the one called `bad` fails."""

    def __init__(self, length: int, bad: int | None = None) -> None:
        self.length, self.bad, self.made = length, bad, 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if index == self.bad:
            raise LookupError(f"no item {index}")
        self.made += 1
        return np.float32(index)


@pytest.mark.parametrize("ahead", [1, 2, 7, 100])
def test_the_batches_are_the_same_on_every_device(ahead: int) -> None:
    x = np.random.default_rng(0).standard_normal((50, 5), np.float32)
    x[3] = np.nan
    data = ArrayDataset(x, np.arange(50))
    for device in devices():
        loaders = [DataLoader(data, 8, True, device=device, prefetch=p) for p in (0, ahead)]
        for _ in range(2):
            one, two = ([(a.numpy().tobytes(), b.tolist()) for a, b in given] for given in loaders)
            assert one == two


def test_training_gives_the_same_bits_while_batches_are_made() -> None:
    x = np.random.default_rng(0).standard_normal((256, 20), np.float32)
    data = ArrayDataset(x, x.sum(1, keepdims=True))

    def train(device: str, ahead: int) -> bytes:
        vkml.manual_seed(0)
        model = vkml.nn.Sequential(vkml.nn.Linear(20, 30), vkml.nn.Tanh(), vkml.nn.Linear(30, 1))
        model.to(device)
        optimizer = vkml.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        loader = DataLoader(data, 16, shuffle=True, device=device, prefetch=ahead)
        for _ in range(3):
            for a, b in loader:
                optimizer.zero_grad()
                vkml.mse_loss(model(a), b).backward()
                optimizer.step()
        return b"".join(p.numpy().tobytes() for p in model.parameters())

    want = train("cpu", 0)
    for device in devices():
        for ahead in (0, 1, 4):
            assert train(device, ahead) == want


@pytest.mark.parametrize("ahead", [1, 3])
def test_no_more_than_asked_is_made_ahead(ahead: int) -> None:
    data = Made(20)
    batches = iter(DataLoader(data, prefetch=ahead))
    for taken in range(1, 6):
        next(batches)
        wait_for(lambda least=taken + ahead: data.made >= least)  # type: ignore[misc]
        time.sleep(0.05)
        assert data.made == taken + ahead


def test_the_thread_works_while_the_caller_does() -> None:
    seen = []
    data = Made(3)
    for _ in DataLoader(
        data, prefetch=2, transform=lambda x: (seen.append(threading.current_thread()), x)[1]
    ):
        wait_for(lambda: data.made == 3)
    assert {t.name for t in seen} == {"vkml-prefetch"}


@pytest.mark.parametrize("ahead", [0, 1, 4])
@pytest.mark.parametrize("bad", [0, 5, 6, 19])
def test_an_exception_comes_out_in_the_place_of_its_batch(ahead: int, bad: int) -> None:
    loader = DataLoader(Made(20, bad), 2, prefetch=ahead)
    batches, seen = iter(loader), []
    with pytest.raises(LookupError, match=f"no item {bad}") as caught:
        for x in batches:
            seen.append(x.tolist())
    assert seen == [[i, i + 1] for i in range(0, bad - bad % 2, 2)]
    assert loader.state_dict()["batch"] == len(seen)
    lines = "".join(traceback.format_exception(caught.value))
    assert "in __getitem__" in lines and "raise LookupError" in lines
    assert next(batches, None) is None


def test_a_transform_that_ends_the_iteration_by_mistake_is_an_error() -> None:
    for ahead in (0, 2):
        with pytest.raises(RuntimeError, match="StopIteration"):
            list(DataLoader(Made(4), prefetch=ahead, transform=lambda x: next(iter(()))))


def test_what_cannot_become_a_tensor_is_an_error_of_the_caller() -> None:
    with pytest.raises(vkml.DTypeError, match="complex"):
        list(DataLoader(Made(4), prefetch=2, transform=lambda x: x * 1j))


def test_leaving_the_loop_ends_the_thread() -> None:
    for _ in DataLoader(Made(1000), prefetch=2):
        assert threads() == 1
        break
    wait_for(lambda: threads() == 0)


def test_an_error_in_the_loop_ends_the_thread() -> None:
    def loop() -> None:
        for _ in DataLoader(Made(1000), prefetch=2):
            raise KeyError("in the loop")

    with pytest.raises(KeyError):
        loop()
    gc.collect()
    wait_for(lambda: threads() == 0)


def test_iterators_that_are_dropped_end_their_threads() -> None:
    loader = DataLoader(Made(1000), prefetch=2)
    unused = [iter(loader) for _ in range(5)]
    for batches in unused[:3]:
        next(batches)
    assert threads() == 5
    unused.clear()
    del batches
    wait_for(lambda: threads() == 0)


def test_iterators_in_a_cycle_end_their_threads() -> None:
    batches = iter(DataLoader(Made(1000), prefetch=2))
    next(batches)
    cycle: list[Any] = [batches]
    cycle.append(cycle)
    del batches, cycle
    gc.collect()
    wait_for(lambda: threads() == 0)


def test_what_was_made_ahead_is_freed() -> None:
    before = vkml.device("cpu").stats()["in_use_bytes"]
    data = ArrayDataset(np.zeros((100, 1000), np.float32))
    batches = iter(DataLoader(data, 10, prefetch=5, device="cpu"))
    next(batches)
    del batches
    gc.collect()
    wait_for(lambda: vkml.device("cpu").stats()["in_use_bytes"] == before)


def test_a_finished_epoch_leaves_no_thread() -> None:
    for _ in range(50):
        assert len(list(DataLoader(Made(3), prefetch=2))) == 3
    wait_for(lambda: threads() == 0)


def test_many_loaders_at_once() -> None:
    loaders = [
        DataLoader(ArrayDataset(np.arange(40)), 3, True, seed=s, prefetch=2) for s in range(8)
    ]
    together = list(zip(*loaders, strict=True))
    for seed, loader in enumerate(loaders):
        loader.prefetch = 0
        loader.set_epoch(0)
        assert [x.tolist() for (x,) in loader] == [batch[seed][0].tolist() for batch in together]


def test_an_interrupt_while_waiting_ends_the_thread() -> None:
    gate = threading.Event()
    loader = DataLoader(Made(9), prefetch=1, transform=lambda x: (gate.wait(SECONDS), x)[1])
    batches = iter(loader)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert time.monotonic() - start < SECONDS / 2
    gate.set()
    wait_for(lambda: threads() == 0)
    assert next(batches, None) is None and loader.state_dict()["batch"] == 0


def test_the_callers_numpy_settings_hold_in_the_thread() -> None:
    loader = DataLoader(Made(2), prefetch=1, transform=lambda x: np.float32(1) / x)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(loader)
    with np.errstate(divide="ignore"):
        assert next(iter(loader)).item() == float("inf")


def test_a_thread_that_cannot_be_started_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    registered: list[Any] = []
    monkeypatch.setattr(threading.Thread, "start", fail)
    monkeypatch.setattr("atexit.register", registered.append)
    monkeypatch.setattr("atexit.unregister", registered.remove)
    with pytest.raises(RuntimeError, match="can't start"):
        iter(DataLoader(Made(2), prefetch=1))
    assert registered == []


def process(program: str, *, send: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program that uses `loader(prefetch, …)`; it has to end by itself."""
    start = """
        import os, sys, time
        import numpy as np
        from vkml.data import ArrayDataset, DataLoader
        def loader(prefetch, device="cpu", transform=None):
            data = ArrayDataset(np.zeros((4000, 50), np.float32))
            return DataLoader(data, 4, prefetch=prefetch, device=device, transform=transform)
    """
    code = textwrap.dedent(start) + textwrap.dedent(program)
    command = [sys.executable, "-X", "faulthandler", "-c", code]
    run = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        if send is not None:
            assert run.stdout is not None and run.stdout.readline() == "ready\n"
            run.send_signal(send)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    return subprocess.CompletedProcess(command, run.returncode, out, err)


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "del batches"])
def test_the_process_ends_while_batches_are_made(device: str, ending: str) -> None:
    if device not in devices():
        pytest.skip("no Vulkan device")
    done = process(
        f"""
        batches = iter(loader(50, {device!r}))
        next(batches)
        print("done", flush=True)
        {ending}
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_an_error_ends_the_process() -> None:
    done = process("batches = iter(loader(2)); next(batches); 1 / 0")
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_the_process_waits_for_the_batch_that_is_being_made() -> None:
    done = process(
        """
        def slow(x):
            time.sleep(0.5)
            print("made", flush=True)
            return x
        batches = iter(loader(1, transform=slow))
        time.sleep(0.2)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "made\n", "")


def test_the_process_does_not_wait_for_ever() -> None:
    start = time.monotonic()
    done = process(
        """
        import vkml.data.prefetch
        vkml.data.prefetch.PATIENCE = 0.3
        batches = iter(loader(1, transform=lambda x: time.sleep(1000)))
        time.sleep(0.2)
        """
    )
    assert done.returncode == 0 and time.monotonic() - start < 50


def test_ctrl_c_ends_the_process() -> None:
    done = process(
        """
        batches = iter(loader(1, transform=lambda x: time.sleep(0.5)))
        print("ready", flush=True)
        next(batches)
        """,
        send=signal.SIGINT,
    )
    assert done.returncode == -signal.SIGINT and "KeyboardInterrupt" in done.stderr


def test_a_forked_process_says_that_the_thread_is_elsewhere() -> None:
    done = process(
        """
        batches = iter(loader(2))
        next(batches)
        child = os.fork()
        if child == 0:
            try:
                next(batches)
            except Exception as error:
                print(type(error).__name__, error, flush=True)
            print(len(list(loader(2))), flush=True)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(1 + sum(1 for _ in batches), flush=True)
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first.startswith("PrefetchError DataLoader: the thread that makes these batches")
    assert rest == ["1000", "1000"] and issubclass(PrefetchError, RuntimeError)


def test_any_iterable_is_run_ahead() -> None:
    assert list(Prefetch(range(5), 3)) == [0, 1, 2, 3, 4]
    assert list(Prefetch([], 3)) == []
