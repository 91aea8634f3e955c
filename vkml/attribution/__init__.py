"""Where the time of a program goes: phases of the host and kernels of the devices, adding up."""

from vkml.attribution.capturing import Capture, capture, measure
from vkml.attribution.report import Report, Round
from vkml.attribution.rows import KernelRow

__all__ = ["Capture", "KernelRow", "Report", "Round", "capture", "measure"]
