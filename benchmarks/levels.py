"""Shows the levels of a compiled training step: `python benchmarks/levels.py --model mlp`.

What stands in one level runs side by side; between two levels everything waits. For each dispatch:
the step of the plan, its workgroups, its kernel. The number of levels times the time of a launch
is what a small step takes at least.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import cast
from unittest import mock

from steps import vkml_training

from vkml_backend_vulkan import warming
from vkml_backend_vulkan.commands import prepared
from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.recording import ordered
from vkml_core import runtime
from vkml_core.plan import Plan
from vkml_core.plugins import open_device

WIDTH = 110


def plan_of(model: str, batch: int, device: str) -> Plan:
    """Run a step once; give its plan, the longest that was made."""
    runtime.clear_cache()
    with mock.patch.object(warming, "SHARED_RUNS", 0):
        vkml_training(model, batch, device, "compiled").step()
    return max(runtime.cached_plans(), key=lambda plan: len(plan.steps))


def lines(plan: Plan, device: str) -> Iterator[str]:
    """Print a dispatch a line, then the counts."""
    opened = cast("VulkanDevice", open_device(device))
    ready, _, lowered = prepared(opened, plan)
    level = count = 0
    for flat in ordered(opened, ready, lowered):
        level += flat.barrier
        count += 1
        groups = "x".join(map(str, flat.dispatch.groups))
        line = f"{level:>3}  step {flat.step:<3} {groups:>12}  {flat.dispatch.module}"
        yield line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
    shared = plan.notes["temp_bytes"], plan.notes["arena_bytes"]
    yield f"{level + 1} levels, {count} dispatches, temporaries of %d bytes in %d" % shared


def main() -> None:
    """Print the levels of each model and batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", nargs="+", choices=("mlp", "cnn"), default=["mlp", "cnn"])
    parser.add_argument("--batch", nargs="+", type=int, default=[64])
    parser.add_argument("--device", default="vulkan")
    args = parser.parse_args()
    for model in args.model:
        for batch in args.batch:
            print(f"{model}, batch {batch}")
            for line in lines(plan_of(model, batch, args.device), args.device):
                print(line)


if __name__ == "__main__":
    main()
