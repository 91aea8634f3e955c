"""The entry point: the oracle's table as a backend called `cpu`."""

import platform

from vkml_backend_cpu.convert import canonical_nan, to_float16, to_float32
from vkml_backend_cpu.table import TABLE
from vkml_core.stepwise import Conversions
from vkml_core.table_backend import table_backend

backend = table_backend(
    "cpu",
    TABLE,
    api_version=(1, 0),
    device_name=f"NumPy oracle on {platform.processor() or platform.machine() or 'this CPU'}",
    kind="cpu",
    conversions=Conversions(widen=to_float32, narrow=to_float16, canonical=canonical_nan),
)
