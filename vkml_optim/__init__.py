"""Optimisers, schedules and clipping, with PyTorch's names and formulas."""

import vkml_core.methods  # noqa: F401  gives Tensor its operators
from vkml_optim.adam import Adam, AdamW
from vkml_optim.clip import clip_grad_norm_, clip_grad_value_
from vkml_optim.optimizer import Optimizer
from vkml_optim.rmsprop import RMSProp, RMSprop
from vkml_optim.rule import Rule
from vkml_optim.schedule import Schedule
from vkml_optim.schedules import CosineAnnealing, CosineAnnealingLR, LinearWarmup, StepLR
from vkml_optim.sgd import SGD

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "CosineAnnealing",
    "CosineAnnealingLR",
    "LinearWarmup",
    "Optimizer",
    "RMSProp",
    "RMSprop",
    "Rule",
    "Schedule",
    "StepLR",
    "clip_grad_norm_",
    "clip_grad_value_",
]
