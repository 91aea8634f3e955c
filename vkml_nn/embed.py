"""The rows of a table that indices name, as a function."""

from __future__ import annotations

from vkml_core.dtypes import INTS
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.functional.common import float_arg, stop, tensor_arg
from vkml_core.functional.elementwise import where
from vkml_core.functional.indexing import index_select
from vkml_core.shapes import MAX_RANK
from vkml_core.tensor import Tensor
from vkml_nn.arguments import row_arg


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Give weight[input], of shape (*input.shape, D), for a weight (V, D).

    `input` holds int64 or int32 and has rank ≤ 3. An index outside 0 … V − 1 is an IndexError when
    the result is computed. The row `padding_idx` takes no gradient.
    """
    index, table = tensor_arg(input, "embedding: input"), float_arg(weight, "embedding: weight")
    if index.dtype not in INTS:
        raise DTypeError(f"embedding: indices are {index.dtype.name}, expected int64 or int32")
    if table.ndim != 2:
        raise ShapeError(f"embedding: weight has shape {table.shape}, expected (rows, features)")
    if index.ndim >= MAX_RANK:
        raise ShapeError(f"embedding: indices of shape {index.shape}: at most rank {MAX_RANK - 1}")
    padding = row_arg(padding_idx, table.shape[0], "embedding: padding_idx")
    rows = index_select(table, 0, index.reshape(-1)).reshape(*index.shape, table.shape[1])
    return rows if padding is None else where((index == padding).unsqueeze(-1), stop(rows), rows)
