"""One array in other memory layouts: the same values at strange addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .values import Array

MOST_AXES = 4


@dataclass(frozen=True)
class Layout:
    """For each axis its rank in memory, its step, and whether its stride is 0."""

    order: tuple[int, ...]
    steps: tuple[int, ...]
    repeated: tuple[bool, ...]
    offset: int
    """Bytes before the first element; odd ones break the alignment."""

    def constant(self, x: Array) -> Array:
        """Make the array constant along the axes whose stride will be 0."""
        return np.broadcast_to(x[self._kept(x)], x.shape).copy()

    def _kept(self, x: Array) -> Any:
        pairs = zip(self.repeated, x.shape, strict=False)
        return tuple(slice(1 if repeated else size) for repeated, size in pairs)

    def laid_out(self, x: Array) -> Array:
        """Give a read-only view equal to `x`, which is constant where the stride is 0."""
        rank = sorted(range(x.ndim), key=self.order.__getitem__)
        kept = x[self._kept(x)]
        room = [kept.shape[a] * abs(self.steps[a]) for a in rank]
        memory = np.full(self.offset + int(np.prod(room)) * x.itemsize, 0xFF, np.uint8)
        store = np.ndarray(tuple(room), x.dtype, memory.data, self.offset)
        view = store.transpose([rank.index(a) for a in range(x.ndim)])
        steps: Any = (..., *(slice(None, None, step) for step in self.steps[: x.ndim]))
        view = view[steps]
        view[...] = kept
        view.flags.writeable = False
        return np.broadcast_to(view, x.shape)


layouts = st.builds(
    Layout,
    st.permutations(range(MOST_AXES)).map(tuple),
    st.tuples(*[st.sampled_from([1, -1, 2, -3])] * MOST_AXES),
    st.tuples(*[st.sampled_from([False, False, True])] * MOST_AXES),
    st.sampled_from([0, 4, 1]),
)
