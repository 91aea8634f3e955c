"""Runs one probe on a device: a form by a dispatch of its own, a kernel as a plan of one step."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.dispatch import Dispatch, Limits, Pointer
from vkml_backend_vulkan.lower import elementwise, fused
from vkml_backend_vulkan.lower.layout import grid, local_size, pack
from vkml_backend_vulkan.selftest.probe import Form, Kernel, Probe, Words
from vkml_backend_vulkan.shaders.tables.selftest import FOLDED_CASES
from vkml_core.backend import Array
from vkml_core.dtypes import float32, int32, to_dtype
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import View

_RESULT: Final = Pointer(0, 0)
"""In a dispatch that is run by itself, slot 0 is the result and the others are the operands."""


def run(device: VulkanDevice, probe: Probe, hardware: int = 0) -> Array:
    """Give what the device computes for a probe; a form's module with these bits of `HARDWARE`."""
    target = probe.target
    if isinstance(target, Kernel):
        return _plan(device, target, probe.operands, probe.wanted)
    if target.folded is not None:
        return _folded(device, target, target.folded)[list(target.rows)]
    (x,) = probe.operands
    local = local_size(device.physical.limits)
    dispatch = Dispatch(
        target.module,
        grid(len(x), local, device.physical.limits),
        (_RESULT, Pointer(1, 0)),
        pack(len(x), target.index),
        (local, hardware),
    )
    return _run(device, dispatch, [x], 4 * x.size).view(np.uint32).reshape(-1, 4)


def quotients(device: VulkanDevice, probe: Probe, limits: Limits) -> Array:
    """Give what the shipped division kernel computes with the instructions that `limits` allow."""
    shape = probe.wanted.shape
    sources = [(Pointer(1 + i, 0), View.of(shape)) for i in range(2)]
    (dispatch,) = elementwise.launch("elementwise.div.f32", shape, _RESULT, sources, limits)
    return _run(device, dispatch, probe.operands, probe.wanted.nbytes).view(np.float32)


def quotients_among_others(device: VulkanDevice, probe: Probe, limits: Limits) -> Array:
    """Give what a fused kernel computes that divides, multiplies and negates: −(g · ((a/b)/b))."""
    shape = probe.wanted.shape
    slots = [Slot(0, SlotKind.OUTPUT, shape, float32)]
    slots += [Slot(i, SlotKind.INPUT, shape, float32) for i in (1, 2, 3)]
    ops = ("div", (0, 1)), ("div", (~0, 1)), ("mul", (2, ~1)), ("neg", (~2,))
    calls = tuple(Call(op, None, args, shape, float32) for op, args in ops)
    operands = tuple(Operand(i, View.of(shape)) for i in (1, 2, 3))
    (dispatch,) = fused.lower(fused.Work(calls, operands, ((0, 3),)), slots, limits).dispatches
    return _run(device, dispatch, probe.operands, probe.wanted.nbytes).view(np.float32)


def hardware_fma(device: VulkanDevice, probe: Probe) -> Array:
    """Give what the device's own fma computes."""
    return run(device, probe, replace(device.physical.limits, hardware_fma=True).hardware)


def _folded(device: VulkanDevice, form: Form, table: Words) -> Array:
    """Run a form on words that are specialisation constants."""
    assert table.shape == (FOLDED_CASES, 4)
    constants = (1, 0, *(int(word) for word in table.reshape(-1)))
    push = pack(FOLDED_CASES, form.index)
    dispatch = Dispatch(form.module, (1, 1, 1), (_RESULT, _RESULT), push, constants)
    return _run(device, dispatch, [], table.nbytes).view(np.uint32).reshape(-1, 4)


def _run(device: VulkanDevice, dispatch: Dispatch, operands: Sequence[Array], nbytes: int) -> Array:
    """Submit one dispatch and give its result as int32."""
    result = device.memory.allocate(-(-nbytes // 16) * 16)
    buffers = [result, *map(device.upload, operands)]
    addresses = [buffers[p.slot].address + p.offset for p in dispatch.pointers]
    push = struct.pack(f"<{len(addresses)}Q", *addresses) + dispatch.push
    with device.lock:
        commands = device.transfer.begin()
        pipeline = device.pipelines.get(dispatch.module, dispatch.constants)
        point, stage = vk.lib.VK_PIPELINE_BIND_POINT_COMPUTE, vk.lib.VK_SHADER_STAGE_COMPUTE_BIT
        vk.lib.vkCmdBindPipeline(commands, point, pipeline)
        kept = vk.ffi.from_buffer(push)
        vk.lib.vkCmdPushConstants(commands, device.pipelines.layout, stage, 0, len(push), kept)
        vk.lib.vkCmdDispatch(commands, *dispatch.groups)
        result.submission = device.queue.submit(buffers)
    return device.download(result, (nbytes // 4,), int32)


def _plan(device: VulkanDevice, kernel: Kernel, operands: Sequence[Array], like: Array) -> Array:
    """Run an operation whose result has the shape and dtype of `like`."""
    inputs = tuple(range(len(operands)))
    out, dtype = len(operands), to_dtype(like.dtype)
    slots = [Slot(i, SlotKind.INPUT, x.shape, to_dtype(x.dtype)) for i, x in enumerate(operands)]
    call = Call(kernel.op, kernel.attrs, inputs, like.shape, dtype)
    views = tuple(Operand(i, View.of(x.shape)) for i, x in enumerate(operands))
    plan = Plan(
        slots=(*slots, Slot(out, SlotKind.OUTPUT, like.shape, dtype)),
        steps=(Step((call,), views, out),),
        inputs=inputs,
        scalars=(),
        outputs=(out,),
    )
    buffers = [device.upload(np.ascontiguousarray(x)) for x in operands]
    (result,) = device.compile(plan).run(buffers, ())
    return device.download(result, like.shape, dtype)
