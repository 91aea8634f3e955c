"""Schedule: a learning rate that is a function of the number of steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.graph import tracing
from vkml_optim.checks import Check, at_least, instance, non_negative
from vkml_optim.optimizer import Optimizer


class Schedule(ABC):
    """Base class of schedules; a subclass gives the learning rate in closed form.

    A group's "initial_lr" is what it starts from: its "lr" when a schedule first saw it. Every
    step sets "lr" from it and from the number of steps alone, so that a run that is resumed has
    the same learning rates, to the bit, as one that was not interrupted. (In PyTorch a step
    multiplies what it finds; a rate that was set by hand is overwritten here.)
    """

    checks: ClassVar[Mapping[str, Check]]
    """The settings of a schedule, which are its attributes, and what each takes."""

    def __init__(self, optimizer: Optimizer, **settings: Any) -> None:
        self.optimizer: Optimizer = instance(optimizer, Optimizer, self._name)
        self._keep(self._checked(settings, self._name))
        self._go_to(0)
        self._set()

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def base_lrs(self) -> list[float]:
        """What each group's learning rate starts from."""
        groups: list[dict[str, float]] = self.optimizer.param_groups
        return [group.get("initial_lr", group["lr"]) for group in groups]

    @abstractmethod
    def at(self, step: int, base: float) -> float:
        """Give the learning rate after `step` steps where it starts from `base`."""

    def step(self) -> None:
        """Go on by one and set every group's "lr"; call it after the optimiser's step."""
        trace = tracing()
        if trace is not None:
            trace.refuse(f"{self._name}.step()", "call it after the compiled step")
        self._go_to(self.last_epoch + 1)
        self._set()

    def get_last_lr(self) -> list[float]:
        """Give the learning rates, by group, that belong to the number of steps now."""
        return [self.at(self.last_epoch, base) for base in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """Give settings and progress as plain numbers, in PyTorch's names."""
        return {
            **{name: getattr(self, name) for name in self.checks},
            "base_lrs": self.base_lrs,
            "last_epoch": self.last_epoch,
            "_step_count": self.last_epoch + 1,
            "_last_lr": self.get_last_lr(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings and progress, PyTorch's too, and set the learning rates by them.

        An error says what does not fit, and then nothing has been changed.
        """
        self._take(*self._loaded(state_dict))
        self._set()

    def _checked(self, settings: Mapping[str, Any], what: str) -> dict[str, Any]:
        missing = [k for k in self.checks if k not in settings]
        unknown = [k for k in settings if k not in self.checks]
        if missing or unknown:
            raise ArgumentError(f"{what}: lacks {missing}, does not know {unknown}")
        return {k: check(settings[k], f"{what}: {k}") for k, check in self.checks.items()}

    def _loaded(self, given: object) -> tuple[dict[str, Any], int, list[float]]:
        """Check a state; names that begin with _ are PyTorch's own and follow from the others."""
        what = f"load_state_dict: {self._name}"
        if not isinstance(given, Mapping):
            raise ArgumentTypeError(f"{what}: expected a dict, got {type(given).__name__}")
        known = {k: v for k, v in given.items() if not str(k).startswith("_")}
        if "last_epoch" not in known or not isinstance(known.get("base_lrs"), list | tuple):
            raise ArgumentError(f"{what}: expected last_epoch, and base_lrs as a list")
        steps = at_least(0)(known.pop("last_epoch"), f"{what}: last_epoch")
        bases = [non_negative(v, f"{what}: base_lrs") for v in known.pop("base_lrs")]
        groups = len(self.optimizer.param_groups)
        if len(bases) != groups:
            raise ArgumentError(f"{what}: {len(bases)} base_lrs, expected {groups}")
        return self._checked(known, what), steps, bases

    def _keep(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            setattr(self, name, value)

    def _take(self, settings: dict[str, Any], steps: int, bases: list[float]) -> None:
        self._keep(settings)
        for group, base in zip(self.optimizer.param_groups, bases, strict=True):
            group["initial_lr"] = base
        self._go_to(steps)

    def _go_to(self, steps: int) -> None:
        self.last_epoch = steps

    def _set(self) -> None:
        rates = zip(self.base_lrs, self.get_last_lr(), strict=True)
        for group, (base, lr) in zip(self.optimizer.param_groups, rates, strict=True):
            group["initial_lr"], group["lr"] = base, lr
