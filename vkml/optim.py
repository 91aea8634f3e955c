"""`vkml.optim` is the package `vkml_optim`: importing either gives the same module."""

import sys

import vkml_optim
from vkml_optim import *  # noqa: F403  (for type checkers, which do not see the next line)

sys.modules[__name__] = vkml_optim
