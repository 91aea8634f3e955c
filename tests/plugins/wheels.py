"""Throw-away environments: real wheels, built by hand, unpacked and seen by a fresh Python."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Wheel:
    """A distribution to build: module files and what its entry points lead to."""

    distribution: str
    backends: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    version: str = "1.2.3"

    def build(self, folder: Path) -> Path:
        info = f"{self.distribution.replace('-', '_')}-{self.version}.dist-info"
        entry = "".join(f"{name} = {value}\n" for name, value in self.backends.items())
        files = {
            **{name: textwrap.dedent(text) for name, text in self.files.items()},
            f"{info}/METADATA": "Metadata-Version: 2.1\n"
            f"Name: {self.distribution}\nVersion: {self.version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n",
            f"{info}/entry_points.txt": f"[vkml.backends]\n{entry}",
        }
        record = "".join(f"{name},{_digest(text)}\n" for name, text in files.items())
        files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
        stem = info.removesuffix(".dist-info")
        path = folder / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, text in files.items():
                wheel.writestr(name, text)
        return path


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    encoded = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    return f"sha256={encoded},{len(text.encode())}"


class Environment:
    """A folder of installed wheels, first on the path of a fresh Python process."""

    def __init__(self, folder: Path) -> None:
        self._wheels = folder / "wheels"
        self.site = folder / "site"
        self._wheels.mkdir()
        self.site.mkdir()

    def install(self, *wheels: Wheel) -> None:
        """Unpack wheels, which is all that installing pure Python ones means."""
        for wheel in wheels:
            with zipfile.ZipFile(wheel.build(self._wheels)) as archive:
                archive.extractall(self.site)

    def install_by_pip(self, *wheels: Wheel) -> None:
        paths = [str(wheel.build(self._wheels)) for wheel in wheels]
        options = ["--no-index", "--no-deps", "--target", str(self.site), "--quiet"]
        command = [sys.executable, "-m", "pip", "install", *options, *paths]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def run(
        self,
        *arguments: str,
        python: Path | str = sys.executable,
        cwd: Path | None = None,
        without: Sequence[str] = (),
        other: Mapping[str, Any] | None = None,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run Python there with other `VKML_*` variables unset, and those of `without`.

        `other` goes on to `subprocess.run`.
        """
        dropped = ("VKML_", *without)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
        path = os.pathsep.join([str(self.site), str(ROOT)])
        settings = {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **variables}
        return subprocess.run(
            [str(python), *arguments],
            env={**kept, **settings},
            cwd=cwd,
            capture_output=True,
            text=True,
            encoding=settings["PYTHONIOENCODING"],
            timeout=120,
            **(other or {}),
        )

    def answer(self, code: str, **variables: str) -> Any:
        """Run code that prints JSON and give what it printed."""
        done = self.run("-c", textwrap.dedent(code), **variables)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_BACKENDS = _PROJECT["entry-points"]["vkml.backends"]
VKML = Wheel("vkml", {"cpu": _BACKENDS["cpu"]}, version="0.1.0")
"""Vkml with its CPU backend alone, which finds the same device on every machine; the modules come
from the source tree.
"""
WHOLE = Wheel("vkml", _BACKENDS, version="0.1.0")
"""Vkml with every entry point of its own."""

GOOD = Wheel(
    "vkml-good",
    {"good": "vkml_good:BACKEND"},
    {
        "vkml_good.py": """
        from vkml_core.table_backend import table_backend

        TABLE = {
            "add": lambda attrs, a, b: a + b,
            "contiguous": lambda attrs, a: a,
            "cat": lambda attrs, *arrays: arrays[0],
        }
        BACKEND = table_backend("good", TABLE, api_version=(1, 0), device_name="a good one")
        """
    },
)
"""A backend that must keep working whatever else is installed."""
