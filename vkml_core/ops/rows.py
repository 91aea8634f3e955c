"""Importing this module registers every row."""

from vkml_core.ops import (
    conv as conv,
)
from vkml_core.ops import (
    elementwise as elementwise,
)
from vkml_core.ops import (
    generate as generate,
)
from vkml_core.ops import (
    indexing as indexing,
)
from vkml_core.ops import (
    linalg as linalg,
)
from vkml_core.ops import (
    movement as movement,
)
from vkml_core.ops import (
    reduce as reduce,
)
