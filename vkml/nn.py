"""`vkml.nn` is the package `vkml_nn`: importing either gives the same modules."""

import sys

import vkml_nn
import vkml_nn.functional
import vkml_nn.init
from vkml_nn import *  # noqa: F403  (for type checkers, which do not see the next lines)

sys.modules[__name__] = vkml_nn
sys.modules[f"{__name__}.functional"] = vkml_nn.functional
sys.modules[f"{__name__}.init"] = vkml_nn.init
