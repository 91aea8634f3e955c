"""All cases: every differentiable row and every composition."""

from __future__ import annotations

from typing import Final

from .case import Case
from .cases_compositions import COMPOSITIONS
from .cases_elementwise import ELEMENTWISE_ROWS
from .cases_linear import LINEAR_ROWS
from .cases_movement import MOVEMENT_ROWS

CASES: Final[tuple[Case, ...]] = (
    *ELEMENTWISE_ROWS,
    *MOVEMENT_ROWS,
    *LINEAR_ROWS,
    *COMPOSITIONS,
)
