"""A backend whose library is not installed: a plug-in that was left behind by an update."""

from vkml_driver_that_is_not_installed import kernels

from mutants.base import Altered

backend = Altered("missing", kernels)
