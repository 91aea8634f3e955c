"""Checkpoints: tensors and what belongs to them in one safetensors file, written all or not at all.

`docs/checkpoints.md` tells how they are used and what is in the file.
"""

from vkml.serialize.checkpoint import Checkpoint, load, save
from vkml.serialize.modules import load_module, save_module

__all__ = ["Checkpoint", "load", "load_module", "save", "save_module"]
