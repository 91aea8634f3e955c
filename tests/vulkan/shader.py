"""A compute shader that maps arrays of words through one GLSL function, on any Vulkan driver.

Independent of the backend's host code, so that a fault there cannot hide one in the shaders.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import vulkan as vk
from numpy.typing import NDArray

from vkml_backend_vulkan.shaders.decorate import without_contraction

Words = NDArray[np.uint32]

SHADERS = Path(__file__).parents[2] / "vkml_backend_vulkan" / "shaders"
LANES = 64
MOST_GROUPS = 65535
"""Every device takes so many workgroups along one axis, and need not take more."""

# Word j of element i is word i * INPUTS + j of the input buffer.
SOURCE = """#version 450
#extension GL_GOOGLE_include_directive : require
{includes}
layout(local_size_x = {lanes}) in;
layout(std430, binding = 0) readonly buffer Input {{ uint v[]; }} source;
layout(std430, binding = 1) writeonly buffer Output {{ uint v[]; }} target;
layout(push_constant) uniform Push {{ uint count; }};
void main() {{
    uint i = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * {lanes};
    if (i >= count) return;
    uint x[{inputs}];
    for (int j = 0; j < {inputs}; ++j) x[j] = source.v[i * {inputs} + j];
    {body}
}}
"""


def compile_shader(directory: Path, files: list[str], body: str, inputs: int) -> bytes:
    """SPIR-V, validated, of a shader whose ``body`` reads x[j] and writes target.v."""
    source, binary = directory / "map.comp", directory / "map.spv"
    includes = "\n".join(f'#include "{name}"' for name in files)
    source.write_text(SOURCE.format(includes=includes, lanes=LANES, inputs=inputs, body=body))
    command = ["glslangValidator", "-V", f"-I{SHADERS}", "-o", str(binary), str(source)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    binary.write_bytes(without_contraction(binary.read_bytes()))
    subprocess.run(["spirv-val", str(binary)], check=True)
    return binary.read_bytes()


class Mapper:
    """One Vulkan device and its queue. Every struct is held in a variable while it is used."""

    def __init__(self) -> None:
        application = vk.VkApplicationInfo(apiVersion=vk.VK_MAKE_VERSION(1, 2, 0))
        self.instance = vk.vkCreateInstance(
            vk.VkInstanceCreateInfo(pApplicationInfo=application), None
        )
        self.physical = vk.vkEnumeratePhysicalDevices(self.instance)[0]
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=0, pQueuePriorities=[1.0])
        self.device = vk.vkCreateDevice(
            self.physical, vk.VkDeviceCreateInfo(pQueueCreateInfos=[queue]), None
        )
        self.queue = vk.vkGetDeviceQueue(self.device, 0, 0)

    def close(self) -> None:
        vk.vkDestroyDevice(self.device, None)
        vk.vkDestroyInstance(self.instance, None)

    def _memory_type(self, allowed: int) -> int:
        wanted = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        types = vk.vkGetPhysicalDeviceMemoryProperties(self.physical).memoryTypes
        found = (i for i, t in enumerate(types) if t.propertyFlags & wanted == wanted)
        return next(i for i in found if allowed >> i & 1)

    @contextmanager
    def buffer(self, size: int) -> Iterator[tuple[Any, Words]]:
        """A buffer and a view of its host-visible memory."""
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        usage |= vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        info = vk.VkBufferCreateInfo(size=size, usage=usage)
        buffer = vk.vkCreateBuffer(self.device, info, None)
        needs = vk.vkGetBufferMemoryRequirements(self.device, buffer)
        kind = self._memory_type(needs.memoryTypeBits)
        allocation = vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=kind)
        memory = vk.vkAllocateMemory(self.device, allocation, None)
        vk.vkBindBufferMemory(self.device, buffer, memory, 0)
        try:
            mapped = vk.vkMapMemory(self.device, memory, 0, size, 0)
            yield buffer, np.frombuffer(mapped, np.uint32)
        finally:
            vk.vkDestroyBuffer(self.device, buffer, None)
            vk.vkFreeMemory(self.device, memory, None)

    @contextmanager
    def _pipeline(self, code: bytes) -> Iterator[tuple[Any, Any, Any]]:
        """(pipeline, its layout, its descriptor set layout) of a compute shader."""
        bindings = [
            vk.VkDescriptorSetLayoutBinding(
                binding=i,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
            for i in range(2)
        ]
        set_info = vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings)
        sets = vk.vkCreateDescriptorSetLayout(self.device, set_info, None)
        constants = vk.VkPushConstantRange(
            stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT, offset=0, size=4
        )
        layout_info = vk.VkPipelineLayoutCreateInfo(
            pSetLayouts=[sets], pPushConstantRanges=[constants]
        )
        layout = vk.vkCreatePipelineLayout(self.device, layout_info, None)
        module_info = vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code)
        module = vk.vkCreateShaderModule(self.device, module_info, None)
        name = vk.ffi.new("char[]", b"main")
        stage = vk.VkPipelineShaderStageCreateInfo(
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=name
        )
        info = vk.VkComputePipelineCreateInfo(stage=stage, layout=layout)
        pipeline = vk.vkCreateComputePipelines(self.device, None, 1, [info], None)[0]
        try:
            yield pipeline, layout, sets
        finally:
            vk.vkDestroyPipeline(self.device, pipeline, None)
            vk.vkDestroyShaderModule(self.device, module, None)
            vk.vkDestroyPipelineLayout(self.device, layout, None)
            vk.vkDestroyDescriptorSetLayout(self.device, sets, None)

    @contextmanager
    def _descriptors(self, sets: Any, buffers: list[Any]) -> Iterator[Any]:
        """A descriptor set that binds the buffers in order."""
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        size = vk.VkDescriptorPoolSize(type=kind, descriptorCount=len(buffers))
        pool_info = vk.VkDescriptorPoolCreateInfo(maxSets=1, pPoolSizes=[size])
        pool = vk.vkCreateDescriptorPool(self.device, pool_info, None)
        allocation = vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=[sets])
        descriptors = vk.vkAllocateDescriptorSets(self.device, allocation)[0]
        for i, buffer in enumerate(buffers):
            info = vk.VkDescriptorBufferInfo(buffer=buffer, offset=0, range=0xFFFFFFFFFFFFFFFF)
            infos = [info]
            write = vk.VkWriteDescriptorSet(
                dstSet=descriptors,
                dstBinding=i,
                dstArrayElement=0,
                descriptorType=kind,
                pBufferInfo=infos,
            )
            vk.vkUpdateDescriptorSets(self.device, 1, [write], 0, None)
        try:
            yield descriptors
        finally:
            vk.vkDestroyDescriptorPool(self.device, pool, None)

    def _submit(self, pipeline: Any, layout: Any, descriptors: Any, count: int) -> None:
        pool_info = vk.VkCommandPoolCreateInfo(queueFamilyIndex=0)
        pool = vk.vkCreateCommandPool(self.device, pool_info, None)
        allocation = vk.VkCommandBufferAllocateInfo(commandPool=pool, commandBufferCount=1)
        commands = vk.vkAllocateCommandBuffers(self.device, allocation)[0]
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        point = vk.VK_PIPELINE_BIND_POINT_COMPUTE
        vk.vkCmdBindPipeline(commands, point, pipeline)
        vk.vkCmdBindDescriptorSets(commands, point, layout, 0, 1, [descriptors], 0, None)
        push = vk.ffi.new("uint32_t*", count)
        vk.vkCmdPushConstants(commands, layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, push)
        groups = -(-count // LANES)
        rows = -(-groups // MOST_GROUPS)
        vk.vkCmdDispatch(commands, -(-groups // rows), rows, 1)
        vk.vkEndCommandBuffer(commands)
        submission = vk.VkSubmitInfo(pCommandBuffers=[commands])
        vk.vkQueueSubmit(self.queue, 1, [submission], None)
        vk.vkQueueWaitIdle(self.queue)
        vk.vkDestroyCommandPool(self.device, pool, None)

    def __call__(self, code: bytes, inputs: Words, outputs: int = 1) -> Words:
        """Run over the rows of ``inputs`` (n, words), the results are (n, outputs)."""
        count = inputs.shape[0]
        with (
            self.buffer(inputs.nbytes) as (source, given),
            self.buffer(count * outputs * 4) as (target, result),
            self._pipeline(code) as (pipeline, layout, sets),
            self._descriptors(sets, [source, target]) as descriptors,
        ):
            given[: inputs.size] = inputs.reshape(-1)
            self._submit(pipeline, layout, descriptors, count)
            return result[: count * outputs].reshape(count, outputs).copy()
