"""Optimisers, with PyTorch's names and formulas."""

import vkml_core.methods  # noqa: F401  gives Tensor its operators
from vkml_optim.optimizer import Optimizer
from vkml_optim.sgd import SGD

__all__ = ["SGD", "Optimizer"]
