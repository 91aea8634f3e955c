"""Turns steps of a plan into dispatches: a function for each kind of operation."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.dispatch import Lower
from vkml_backend_vulkan.lower import (
    conv,
    elementwise,
    generate,
    indexing,
    matmul,
    movement,
    pool,
    reduce,
    scan,
)
from vkml_core.ops.spec import Kind

LOWER: Final[dict[Kind, Lower]] = {
    Kind.ELEMENTWISE: elementwise.lower,
    Kind.MOVE: movement.lower,
    Kind.REDUCE: reduce.lower,
    Kind.SCAN: scan.lower,
    Kind.GENERATE: generate.lower,
    Kind.MATMUL: matmul.lower,
    Kind.CONV: conv.lower,
    Kind.POOL: pool.lower,
    Kind.INDEX: indexing.lower,
}
OPS: Final[frozenset[str]] = (
    elementwise.OPS | movement.OPS | reduce.OPS | scan.OPS | generate.OPS
) | (matmul.OPS | conv.OPS | pool.OPS | indexing.OPS)
"""Operations that can be lowered for every dtype that they take."""
