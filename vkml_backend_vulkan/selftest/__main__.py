"""The process of the self-test: `python -m vkml_backend_vulkan.selftest IDENTITY DIRECTORY`.

Prints one line of JSON: the verdict, or the reason of a refusal.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from vkml_backend_vulkan.instance import usable
from vkml_backend_vulkan.selftest.child import REFUSED
from vkml_backend_vulkan.selftest.judge import judge
from vkml_backend_vulkan.selftest.meeting import identity
from vkml_core.errors import DeviceError, Error


def answer(wanted: str, directory: Path) -> str:
    """Judge the device with this identity."""
    try:
        found = [p for p in usable() if identity(p) == wanted]
        if not found:
            raise DeviceError(f"vulkan: the self-test's process finds no device {wanted}")
        return judge(found[0], directory).to_json()
    except Error as error:
        return json.dumps({REFUSED: str(error)})


def main() -> None:
    """Answer on standard output; what drivers and layers print there goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    wanted, directory = sys.argv[1:]
    line = answer(wanted, Path(directory))
    with os.fdopen(out, "w") as stream:
        stream.write(line + "\n")


if __name__ == "__main__":
    main()
