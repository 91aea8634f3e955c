"""The error tree: every vkml error is also the matching built-in exception.

A message says what was asked, what was got, what was expected and what to do about it.
"""


class Error(Exception):
    """Base of every error that vkml raises on purpose."""


class ShapeError(Error, ValueError):
    """Shapes, ranks, axes or sizes that do not fit together."""


class ArgumentError(Error, ValueError):
    """A value outside what the function accepts (a reduction name, a probability, …)."""


class ArgumentTypeError(Error, TypeError):
    """An argument of the wrong Python type."""


class DTypeError(Error, TypeError):
    """A dtype that the operation or vkml as a whole does not support."""


class IndexError_(Error, IndexError):
    """An index or label outside its axis; the message names value, axis and size."""


class DivisionError(Error, ZeroDivisionError):
    """An integer division by zero."""


class GradientError(Error, RuntimeError):
    """A gradient that was asked for but does not exist."""


class DeviceError(Error, RuntimeError):
    """An unknown, unavailable or wrong device."""


class DeviceLost(DeviceError):
    """The device stopped answering; its buffers are gone."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed; the message names the limit and the largest holders."""


class UnsupportedOpError(Error, NotImplementedError):
    """The backend lacks operations that the graph needs; all of them are listed."""


NotImplementedError_ = UnsupportedOpError


class CompileError(Error, RuntimeError):
    """A step that `vkml.compile` cannot replay; the message says what to do instead."""


class CheckpointError(Error, ValueError):
    """A file that is not a checkpoint, is damaged, or holds what vkml does not have."""


class PluginError(DeviceError):
    """A backend plug-in that could not be found, loaded, checked or opened."""


class RegistrationError(Error, ValueError):
    """A registry row or backend table that breaks a rule of registration."""


class PlanError(Error, RuntimeError):
    """A plan that `verify` found wrong: a bug in the scheduler or in a pass, never in user code."""
