"""An oracle whose first call of cumsum waits for whoever ends its process, to be killed there."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mutants.base import Altered
from mutants.process import FOREVER

from vkml_backend_cpu.table import TABLE
from vkml_core.backend import Array

WAITED: Final = "VKML_TEST_WAITED"
"""The variable that names the file by which all processes know that the first call was made."""


def first_waits(attrs: Any, x: Array) -> Array:
    """Wait in the first call of all processes; be the oracle's kernel in the others."""
    with suppress(FileExistsError), Path(os.environ[WAITED]).open("x"):
        time.sleep(FOREVER)
    return TABLE["cumsum"](attrs, x)


backend = Altered("waiting", {"cumsum": first_waits})
