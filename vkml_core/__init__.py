"""The core of vkml: operations, lazy graph, autograd, plans and the backend contract."""

import vkml_core.ops.rows as _rows

__all__: list[str] = []
del _rows
