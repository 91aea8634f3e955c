"""The micro-kernel of all products: a tile of sums in registers, multiply then add, k by k.

It is written as LLVM IR, since a loop that LLVM vectorises by itself does not keep the tile in
registers. No instruction has a fast-math flag, so nothing may be contracted to an fma. A tile's
element (i, j) is the sum over k of A[rows[i] + along[k]] · B[down[k] + j]: offsets in elements from
tables, so matrices, windows of images and gradients are read where they lie.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

_FEATURES: Final = binding.get_host_cpu_features()
_SHAPES: Final = (("avx512f", 16, 16, 1), ("avx", 8, 6, 2), ("", 4, 6, 2))
"""A feature of the CPU; the lanes of its vectors; rows of a tile, and vectors of a row, that fit
its registers. With one vector a row, AVX-512 multiplies by a number in memory: to spread the number
first costs a Zen 4 a third of its speed."""
LANES, ROWS, _VECTORS = next(s for f, *s in _SHAPES if not f or _FEATURES.get(f, False))
COLS: Final = _VECTORS * LANES
F32, I64 = ir.FloatType(), ir.IntType(64)
VECTOR: Final = ir.VectorType(F32, LANES)


def _splat(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, ir.Constant(I64, 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), mask)


def _at(builder: Any, base: Any, offset: Any, size: int, kind: Any) -> Any:
    """Give a pointer to element `offset` from an address."""
    place = builder.add(base, builder.mul(offset, ir.Constant(I64, size)))
    return builder.inttoptr(place, kind.as_pointer())


def _load_long(builder: Any, table: Any, k: Any) -> Any:
    return builder.load(_at(builder, table, k, 8, I64))


@intrinsic
def tile(context, a, rows, along, b, down, first, last, out):
    """Sum over k from `first` to `last`; write ROWS × COLS sums to `out`, row by row."""

    def generate(cgctx, builder, signature, args):
        a, rows, along, b, down, first, last, out = args
        bases = [
            builder.add(a, builder.mul(_load_long(builder, rows, I64(i)), I64(4)))
            for i in range(ROWS)
        ]
        start = builder.basic_block
        head = builder.append_basic_block("k.head")
        body = builder.append_basic_block("k.body")
        done = builder.append_basic_block("k.done")
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.phi(I64)
        k.add_incoming(first, start)
        sums = [[builder.phi(VECTOR) for _ in range(_VECTORS)] for _ in range(ROWS)]
        for pair in sums:
            for phi in pair:
                phi.add_incoming(ir.Constant(VECTOR, [0.0] * LANES), start)
        builder.cbranch(builder.icmp_signed("<", k, last), body, done)
        builder.position_at_end(body)
        _step(builder, k, bases, along, b, down, sums)
        k.add_incoming(builder.add(k, I64(1)), builder.basic_block)
        builder.branch(head)
        builder.position_at_end(done)
        for i, pair in enumerate(sums):
            for j, phi in enumerate(pair):
                place = _at(builder, out, I64(i * COLS + j * LANES), 4, VECTOR)
                builder.store(phi, place, align=4)
        return cgctx.get_dummy_value()

    return types.void(*[types.int64] * 8), generate


def _step(builder: Any, k: Any, bases: Any, along: Any, b: Any, down: Any, sums: Any) -> None:
    """One k: vectors of B, ROWS numbers of A, a rounded product and a rounded sum for each."""
    right = builder.add(b, builder.mul(_load_long(builder, down, k), I64(4)))
    places = [_at(builder, right, I64(j * LANES), 4, VECTOR) for j in range(_VECTORS)]
    vectors = [builder.load(place, align=4) for place in places]
    offset = _load_long(builder, along, k)
    for base, pair in zip(bases, sums, strict=True):
        number = _splat(builder, builder.load(_at(builder, base, offset, 4, F32)))
        for vector, phi in zip(vectors, pair, strict=True):
            phi.add_incoming(builder.fadd(phi, builder.fmul(number, vector)), builder.basic_block)
