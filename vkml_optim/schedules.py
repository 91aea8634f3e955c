"""The schedules: StepLR, CosineAnnealing and LinearWarmup, with PyTorch's formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from vkml_core.errors import ArgumentError
from vkml_optim.checks import Check, at_least, instance, non_negative, only, positive_fraction
from vkml_optim.optimizer import Optimizer
from vkml_optim.schedule import Schedule


class StepLR(Schedule):
    """base · gamma^⌊steps / step_size⌋.

    >>> import vkml
    >>> optimizer = vkml.optim.SGD([vkml.ones(1).requires_grad_()], lr=1.0)
    >>> schedule = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(5):
    ...     schedule.step()
    >>> schedule.get_last_lr(), optimizer.param_groups[0]["lr"]
    ([0.25], 0.25)
    """

    checks: ClassVar[Mapping[str, Check]] = {"step_size": at_least(1), "gamma": non_negative}
    step_size: int
    gamma: float

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, step_size=step_size, gamma=gamma)

    def at(self, step: int, base: float) -> float:
        """Give the learning rate after `step` steps where it starts from `base`."""
        power: float = self.gamma ** (step // self.step_size)
        return base * power


class CosineAnnealing(Schedule):
    """eta_min + (base − eta_min) · (1 + cos(π · steps / T_max)) / 2; it rises again after T_max.

    Source: Loshchilov and Hutter (2017), without restarts.
    """

    checks: ClassVar[Mapping[str, Check]] = {"T_max": at_least(1), "eta_min": non_negative}
    T_max: int
    eta_min: float

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer, T_max=T_max, eta_min=eta_min)

    def at(self, step: int, base: float) -> float:
        """Give the learning rate after `step` steps where it starts from `base`."""
        wave = 1.0 + math.cos(math.pi * step / self.T_max)
        return self.eta_min + (base - self.eta_min) * wave / 2.0


CosineAnnealingLR = CosineAnnealing
"""PyTorch's spelling."""


class LinearWarmup(Schedule):
    """base · a line from start_factor to 1 in total_iters steps, and then what `after` gives.

    `after` is a schedule of the same optimiser; its steps count from the end of the warm-up, and
    this one drives it, so only this one's `step` is called. It equals PyTorch's LinearLR, and with
    `after` SequentialLR([LinearLR, after], milestones=[total_iters]).
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "total_iters": at_least(0),
        "start_factor": positive_fraction,
        "end_factor": only(1.0),
    }
    total_iters: int
    start_factor: float

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int,
        start_factor: float = 1 / 3,
        after: Schedule | None = None,
    ) -> None:
        if after is not None:
            instance(after, Schedule, "LinearWarmup: after")
        if after is not None and after.optimizer is not optimizer:
            raise ArgumentError("LinearWarmup: after: it is the schedule of another optimiser")
        self.after = after
        super().__init__(
            optimizer, total_iters=total_iters, start_factor=start_factor, end_factor=1.0
        )

    def at(self, step: int, base: float) -> float:
        """Give the learning rate after `step` steps where it starts from `base`."""
        if step < self.total_iters:
            start = self.start_factor
            return base * (start + (1.0 - start) * step / self.total_iters)
        return base if self.after is None else self.after.at(step - self.total_iters, base)

    def state_dict(self) -> dict[str, Any]:
        """Give settings and progress as plain numbers; those of `after` are in it."""
        after = None if self.after is None else self.after.state_dict()
        return super().state_dict() | {"after": after}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings and progress, those of `after` too; all or nothing."""
        own = dict(state_dict) if isinstance(state_dict, Mapping) else state_dict
        theirs = own.pop("after", None) if isinstance(own, dict) else None
        if (theirs is None) != (self.after is None):
            raise ArgumentError("load_state_dict: LinearWarmup: only one of the two has `after`")
        mine = self._loaded(own)
        if self.after is not None:
            self.after._take(*self.after._loaded(theirs))
        self._take(*mine)
        self._set()

    def _go_to(self, steps: int) -> None:
        super()._go_to(steps)
        if self.after is not None:
            self.after._go_to(max(0, steps - self.total_iters))
