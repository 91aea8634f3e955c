"""What the examples share: options, the training loop, checkpoints, PyTorch's twin, pictures."""

from kit.options import common_options, fail, open_device
from kit.task import Evaluation, Library, Task, classification
from kit.training import train

__all__ = [
    "Evaluation",
    "Library",
    "Task",
    "classification",
    "common_options",
    "fail",
    "open_device",
    "train",
]
