"""Runs graphs on a Vulkan device without the core's runtime: schedule, compile, run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import needs_vulkan  # noqa: F401
import numpy as np
import numpy.typing as npt

from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.memory import Buffer
from vkml_backend_vulkan.warming import Ready
from vkml_core.dtypes import Scalar, to_dtype
from vkml_core.graph import Node, Storage, data, pending_inputs, reachable
from vkml_core.schedule import schedule
from vkml_core.verify import verify

Array = npt.NDArray[Any]
NAME = "vulkan"


def leaf(device: VulkanDevice, array: Array) -> Node:
    """Upload an array."""
    return data(Storage(device.upload(array), device), array.shape, to_dtype(array.dtype), NAME)


def buffer(node: Node) -> Buffer:
    """Give what holds the value of a leaf."""
    assert node.storage is not None
    return cast(Buffer, node.storage.buffer)


def planned(
    device: VulkanDevice, roots: Sequence[Node], donate: Sequence[Node] = ()
) -> tuple[Ready, list[Buffer], list[Scalar]]:
    """Compile a graph for the tests' own kernels, which know no fused steps; give what runs it,
    and its inputs and numbers.
    """
    order = reachable(roots, pending_inputs)
    caps = device.capabilities().model_copy(update={"fusion": False})
    scheduled = schedule(order, roots, donate=donate, capabilities=caps)
    verify(scheduled.plan, alignment=caps.alignment)
    inputs = [buffer(order[i]) for i in scheduled.inputs]
    scalars = [cast(Scalar, order[i].value) for i in scheduled.scalars]
    return device.compile(scheduled.plan), inputs, scalars


def run(device: VulkanDevice, roots: Sequence[Node], donate: Sequence[Node] = ()) -> list[Buffer]:
    """Run a graph and give the buffers of its roots."""
    made, inputs, scalars = planned(device, roots, donate)
    return made.run(inputs, scalars)


def value(device: VulkanDevice, node: Node) -> Array:
    """Run a graph and download its root."""
    return device.download(run(device, [node])[0], node.shape, node.dtype)


def floats(*shape: int, seed: int = 0) -> Array:
    """Draw normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
