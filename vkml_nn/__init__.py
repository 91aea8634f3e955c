"""Modules, layers, losses and their starting values, with PyTorch's names."""

import vkml_core.methods  # noqa: F401  gives Tensor its operators
from vkml_core.functional.random import manual_seed
from vkml_nn import functional, init
from vkml_nn.activation import GELU, ReLU, Sigmoid, Tanh
from vkml_nn.container import Sequential
from vkml_nn.conv import Conv2d, MaxPool2d
from vkml_nn.dropout import Dropout
from vkml_nn.flatten import Flatten
from vkml_nn.linear import Linear
from vkml_nn.loss import CrossEntropyLoss, MSELoss
from vkml_nn.module import Module
from vkml_nn.parameter import Parameter

__all__ = [
    "GELU",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "Linear",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "functional",
    "init",
    "manual_seed",
]
