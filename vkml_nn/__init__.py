"""Modules, layers, losses and their starting values, with PyTorch's names."""

import vkml_core.methods  # noqa: F401  gives Tensor its operators
from vkml_core.functional.random import manual_seed
from vkml_nn import functional, init
from vkml_nn.activation import (
    ELU,
    GELU,
    Identity,
    LeakyReLU,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from vkml_nn.attention import MultiheadAttention
from vkml_nn.batchnorm import BatchNorm1d, BatchNorm2d
from vkml_nn.container import ModuleList, Sequential
from vkml_nn.conv import Conv1d, Conv2d
from vkml_nn.dropout import Dropout
from vkml_nn.embedding import Embedding
from vkml_nn.flatten import Flatten
from vkml_nn.linear import Linear
from vkml_nn.loss import (
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
)
from vkml_nn.module import Module
from vkml_nn.norm import GroupNorm, LayerNorm, RMSNorm
from vkml_nn.parameter import Parameter
from vkml_nn.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from vkml_nn.positional import PositionalEncoding
from vkml_nn.transformer import TransformerEncoder, TransformerEncoderLayer

__all__ = [
    "ELU",
    "GELU",
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HuberLoss",
    "Identity",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "PositionalEncoding",
    "RMSNorm",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "functional",
    "init",
    "manual_seed",
]
