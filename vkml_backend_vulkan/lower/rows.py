"""Whole rows in one dispatch: reductions of rows and element-wise calls before, between and after
them. An operand is read once, and what one call hands to the next stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import ERRORS, PUSH_BYTES, Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.link.program import Apply
from vkml_backend_vulkan.link.rows import CHECKED, OWN_STRIDE, Rows, Source, Store
from vkml_backend_vulkan.lower.checks import Check, check_of
from vkml_backend_vulkan.lower.choice import decision
from vkml_backend_vulkan.lower.epilogue import Addresses, number
from vkml_backend_vulkan.lower.fused import QUAD, Work, apply
from vkml_backend_vulkan.lower.indexing import check
from vkml_backend_vulkan.lower.layout import LOCAL, pack, spread, token
from vkml_backend_vulkan.lower.row_forms import Form
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables.library import LONG
from vkml_backend_vulkan.shaders.tables.rows import STORED
from vkml_core.decisions import Decision
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Operand, Slot, SlotKind

MOST_CALLS: Final = 64
MOST_LONG: Final = 8
"""Long functions in one kernel, whose code is there for each quad."""
WHOLE, STEPS = "whole rows", "a kernel a step"
HELD: Final = ((128, 16, 2), (256, 32, 2), (512, 64, 2), (1024, 128, 2), (2048, 256, 2))
"""(elements up to which, invocations that hold a row, quads that each has); shorter rows have
fewer invocations."""
LONGEST: Final = (4096, 256, 4)
"""The same for rows so long that no other will do."""
FEW: Final = 1 << 15
"""Invocations up to which workgroups are small: more of them, and their barriers are cheap. So many
elements in short rows are held by as many invocations as can be."""
_WORD_BYTES: Final = 4
_LANES: Final = 32
_PARTS: Final = 8
_CHUNK: Final = 1024


def held(n: int, rows: int) -> tuple[int, int]:
    """Give the invocations that hold a row of `n` elements, and the quads of each.

    >>> held(10, 64), held(10, 1 << 20), held(1000, 64)
    ((4, 1), (2, 2), (128, 2))
    """
    _, width, quads = next((each for each in HELD if n <= each[0]), LONGEST)
    if n * rows <= FEW and n <= QUAD * _LANES:
        width, quads = width * quads, 1
    while width > 1 and n <= QUAD * quads * width // 2:
        width //= 2
    return width, quads


def takes(work: Work, form: Form, slots: Sequence[Slot], limits: Limits) -> bool:
    """Whether one kernel can do it all: its table has such rows, its push constants have room and
    drivers compile it in good time.
    """
    return (
        form.n <= LONGEST[0]
        and held(form.n, form.rows)[0] <= limits.invocations
        and len(work.calls) <= MOST_CALLS
        and sum(call.op in LONG for call in work.calls) <= MOST_LONG
        and len(set(_indices(work, form))) <= 1
        and all(_is_stored(work, k, form, slots[slot]) for slot, k in work.writes)
        and 4 * _described(work, form, slots).program.words <= PUSH_BYTES
    )


def lower(work: Work, form: Form, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower what `takes` takes."""
    made = _described(work, form, slots)
    width, quads = held(form.n, form.rows)
    local = max(width, min(LOCAL if form.rows * width > FEW else _LANES, limits.invocations))
    errors = (Pointer(ERRORS, 0),) if made.program.fails else ()
    is_full = form.n == QUAD * quads * width
    dispatch = Dispatch(
        made.program.name,
        spread(-(-form.rows // (local // width)), limits),
        (*made.pointers, *errors),
        pack(form.rows, form.n, *made.strides),
        (local, limits.hardware, width, quads, int(is_full)),
    )
    checks = _checks(work, form, slots, limits)
    return Lowered((*checks, dispatch), decision=_why(work, form, local, limits))


def _checks(work: Work, form: Form, slots: Sequence[Slot], limits: Limits) -> tuple[Dispatch, ...]:
    """Give the kernel of its own that checks the indices, where nothing should wait for that."""
    for call in work.calls:
        if check_of(call) is Check.APART and call.args[1] >= 0:
            return check(work.operands[call.args[1]], form.n, slots, limits)
    return ()


def _why(work: Work, form: Form, local: int, limits: Limits) -> Decision:
    width, quads = held(form.n, form.rows)
    op = next(c.op for c in work.calls if REGISTRY[c.op].kind is not Kind.ELEMENTWISE)
    because = (
        f"{len(work.calls)} calls over {form.rows} rows of {form.n}, at most {LONGEST[0]}: "
        f"{width} invocations hold a row, {QUAD * quads} elements each"
    )
    shared = _shared(local, width, quads)
    return decision(op, WHOLE, (STEPS,), because, limits, invocations=local, shared=shared)


def _shared(local: int, width: int, quads: int) -> int:
    """Count the bytes of the shared arrays of rows.glsl, used or not."""
    room = QUAD * quads * width
    chunks = -(-room // _CHUNK)
    adds = room > _LANES
    rows, sums = local // width, _LANES * chunks if adds else 1
    parts = rows * _PARTS * chunks if adds else QUAD
    return _WORD_BYTES * (local * (QUAD * quads + 1) + rows * (sums + chunks + 2) + parts)


def _indices(work: Work, form: Form) -> Iterator[tuple[int, int]]:
    """List the arguments that are indices, and their bounds."""
    for call in work.calls:
        if call.op in ("gather", "scatter_add"):
            yield call.args[1], form.n


def _is_stored(work: Work, k: int, form: Form, slot: Slot) -> bool:
    """Whether an invocation that stores a result owns whole words."""
    in_quads = form.is_full(slot.shape) and form.n % QUAD == 0
    return in_quads or TOKENS[work.calls[k].dtype] in STORED


@dataclass(frozen=True, slots=True)
class _Described:
    program: Rows
    pointers: list[Pointer]
    strides: list[int]


def _described(work: Work, form: Form, slots: Sequence[Slot]) -> _Described:
    addresses = Addresses()
    stores = tuple(
        Store(
            TOKENS[work.calls[k].dtype],
            _store_form(form, slots[slot]),
            k,
            addresses.number(Pointer(slot, 0)),
        )
        for slot, k in work.writes
    )
    numbers = [s.index for s in slots if s.kind is SlotKind.SCALAR]
    mine = [o.slot for o in work.operands if o.slot in numbers]
    sources: dict[tuple[Source, int], int] = {}
    places = []
    for o in work.operands:
        if o.slot in mine:
            at = number(o, slots, addresses, numbers[numbers.index(min(mine)) :])
            found = Source(at.token, "r", "0", at.offset, at.address), 0
        else:
            found = _source(o, form, slots, addresses)
        places.append(sources.setdefault(found, len(sources)))
    calls = tuple(_apply(work, slots, call, places) for call in work.calls)
    program = Rows(
        stores, tuple(source for source, _ in sources), calls, held(form.n, form.rows)[1]
    )
    strides = [across for source, across in sources if source.stride == OWN_STRIDE]
    return _Described(program, addresses.found, strides)


def _store_form(form: Form, slot: Slot) -> str:
    if not form.is_full(slot.shape):
        return "r"
    return "e" if form.n % QUAD else "q"


def _source(
    operand: Operand, form: Form, slots: Sequence[Slot], addresses: Addresses
) -> tuple[Source, int]:
    """Describe an operand, and give the elements from a row to the next."""
    slot, base = slots[operand.slot], operand.view.offset // QUAD * QUAD
    offset = operand.view.offset - base
    steps = form.steps(operand.view)
    assert steps is not None
    across, along = steps
    aligned = not (form.n % QUAD or offset or across % QUAD)
    kind = "r" if not along else ("q" if aligned else "e")
    stride = {form.n: "n", 1: "1", 0: "0"}.get(across, OWN_STRIDE)
    address = addresses.number(Pointer(operand.slot, base * slot.dtype.itemsize))
    return Source(token(slots, operand), kind, stride, offset, address), across


def _apply(work: Work, slots: Sequence[Slot], call: Call, places: Sequence[int]) -> Apply:
    """Give the function that does a call, as link/rows.py names it."""
    kind, dtype = REGISTRY[call.op].kind, TOKENS[call.dtype]
    args = tuple(places[a] if a >= 0 else a for a in call.args)
    if kind is Kind.ELEMENTWISE:
        return Apply(apply(work, slots, call).function, args)
    if kind is Kind.REDUCE:
        return Apply(f"row_{call.op}_{dtype}", args)
    index = call.args[1]
    of = token(slots, work.operands[index]) if index >= 0 else TOKENS[work.calls[~index].dtype]
    function = {"gather": "row_gather", "scatter_add": "row_scatter"}[call.op]
    checked = CHECKED if _is_checked_elsewhere(call) else ""
    return Apply(f"{function}_{dtype}_{of}{checked}", args)


def _is_checked_elsewhere(call: Call) -> bool:
    """Whether an earlier step, or a kernel of its own, checks the indices of a call."""
    inside = call.args[1] < 0 and check_of(call) is Check.APART
    return check_of(call) is not Check.HERE and not inside
