"""Which kernel was chosen, and why, is published when a plan runs and somebody records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vkml


@pytest.fixture
def recorded(name: str) -> Iterator[str]:
    vkml.record_decisions()
    yield name
    vkml.stop_recording_decisions()


def chosen(op: str) -> list[str]:
    return [d.chose for d in vkml.decisions() if d.op == op]


def test_products(recorded: str) -> None:
    def product(m: int, k: int, n: int, dtype: vkml.DType = vkml.float32) -> None:
        a, b = vkml.ones(m, k, dtype=dtype), vkml.ones(k, n, dtype=dtype)
        (a.to(recorded) @ b.to(recorded)).realize()

    product(3, 4, 5)
    product(64, 64, 64)
    product(64, 1536, 64)
    product(64, 64, 64, vkml.float16)
    assert chosen("matmul") == [
        "one output an invocation",
        "tiles",
        "tiles and slices of k",
        "one output an invocation",
    ]
    why = [d.because for d in vkml.decisions() if d.op == "matmul"]
    assert "3 × 5 × 4 is too little work" in why[0] and "not f16" in why[3]


def test_a_decision_says_what_it_is_about(recorded: str) -> None:
    a = vkml.ones(64, 64, device=recorded).realize()
    (a @ a).realize()
    (found,) = (d for d in vkml.decisions() if d.op == "matmul")
    assert found.site == "vulkan.matmul"
    assert set(found.instead) == {"tiles and slices of k", "one output an invocation"}
    assert all(found.available[what] >= need for what, need in found.required.items())
    assert found.dispatch.startswith("submission ") and found.dispatch.endswith(", step 0")
    before = vkml.decisions_published()
    (a @ a).realize()  # the plan is there: what it does is told again
    assert vkml.decisions_published() == before + 1


def test_reductions(recorded: str) -> None:
    x = vkml.ones(40, 70, device=recorded).realize()
    rows = vkml.ones(5000, 7, device=recorded).realize()
    long = vkml.ones(3, 132, device=recorded).realize()
    for reduced in (x.sum(1), x.sum(0), x[:, :7].sum(1), rows.sum(1), long.sum(1)):
        reduced.realize()
    assert chosen("sum") == [
        "32 invocations a chunk",
        "32 invocations a chunk, results side by side",
        "32 invocations a chunk",
        "one invocation a result",
        "8 invocations a chunk, four lanes each",
    ]


def test_poolings(recorded: str) -> None:
    def gradient(kernel: int, stride: int) -> None:
        x = vkml.randn(1, 2, 8, 8, seed=1, device=recorded).realize().requires_grad_()
        y = vkml.max_pool2d(x, kernel, stride)
        (y * y).sum().backward()
        assert x.grad is not None
        x.grad.realize()

    gradient(2, 2)
    gradient(3, 3)
    gradient(3, 2)
    gradient(4, 4)
    assert chosen("max_pool2d_input_grad") == [
        "vectors of windows",
        *["the largest of windows first"] * 3,
    ]


def test_convolutions(recorded: str) -> None:
    w = vkml.ones(32, 3, 3, 3, device=recorded, requires_grad=True)
    x = vkml.ones(2, 3, 32, 32, device=recorded)
    vkml.conv2d(x, w, padding=1).sum().backward()
    assert w.grad is not None
    w.grad.realize()
    assert chosen("conv2d_weight_grad") == ["tiles and slices of k"]
