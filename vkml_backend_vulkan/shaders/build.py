"""Compiles the shader tables to SPIR-V: `python -m vkml_backend_vulkan.shaders.build [--check]`.

Only what changed is compiled. `--check` writes nothing and fails if spirv/ is not what the sources
give. Hashes of sources and files are compared always. Where the compiler is installed, every source
is compiled, validated and checked too, and the bytes are compared if its version is the manifest's:
versions differ in the bytes that they give. What was compared is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

from vkml_backend_vulkan.shaders import tables
from vkml_backend_vulkan.shaders.check import violations
from vkml_backend_vulkan.shaders.decorate import without_contraction
from vkml_backend_vulkan.shaders.names import only_function_names
from vkml_backend_vulkan.shaders.table import Module

SOURCES: Final = Path(__file__).parent
SPIRV: Final = SOURCES / "spirv"
MANIFEST: Final = SPIRV / "manifest.json"
TARGET: Final = "vulkan1.2"
TOOLS: Final = ("glslangValidator", "spirv-val")
_INCLUDE: Final = re.compile(r'^#include "(.+)"$', re.MULTILINE)

Entry = dict[str, str]


class BuildError(Exception):
    """A module does not compile, does not validate or breaks a rule of the contract."""


def modules() -> dict[str, Module]:
    """Give the modules of all tables. Raises BuildError where two have one name."""
    found: dict[str, Module] = {}
    for info in pkgutil.iter_modules(tables.__path__):
        table = importlib.import_module(f"{tables.__name__}.{info.name}")
        rows: dict[str, Module] = getattr(table, "MODULES", {})
        twice = found.keys() & rows.keys()
        if twice:
            raise BuildError(f"{info.name}: {', '.join(sorted(twice))} are in two tables")
        found |= rows
    return dict(sorted(found.items()))


@cache
def _text(name: str) -> str:
    return (SOURCES / name).read_text()


@cache
def _closure(name: str) -> str:
    """Give a file and all that it includes, as one text to hash."""
    text = _text(name)
    return text + "".join(_closure(inner) for inner in _INCLUDE.findall(text))


def source(module: Module) -> str:
    """Give the GLSL of a module: the template with its definitions after the first line, then its
    own code.
    """
    version, rest = _text(module.template).split("\n", 1)
    defines = "".join(f"#define {k} {v}\n" for k, v in module.defines.items())
    return f"{version}\n{defines}#line 2\n{rest}{module.code}"


def source_hash(module: Module) -> str:
    """Hash everything that the compiler reads."""
    text = TARGET + source(module) + _closure(module.template) + "linked" * module.linked
    return hashlib.sha256(text.encode()).hexdigest()


def compiler() -> str:
    """Name the compiler and its version, or give "" where it or the validator is missing."""
    if not all(map(shutil.which, TOOLS)):
        return ""
    shown = subprocess.run([TOOLS[0], "--version"], capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()[0].replace("Glslang Version", "glslang")


def _call(*command: str, text: str = "") -> None:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        advice = "install it (on Debian: glslang-tools and spirv-tools)"
        raise BuildError(f"{command[0]} is missing: {advice}") from error
    if done.returncode:
        raise BuildError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def compile_module(module: Module) -> bytes:
    """Compile, validate and check one module. Raises BuildError."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "module.spv"
        _call(
            *(TOOLS[0], "--stdin", "-V", "--quiet", "--target-env", TARGET),
            "--keep-uncalled" if module.linked else "-g0",
            *("-S", "comp", f"-I{SOURCES}", "-o", str(out)),
            text=source(module),
        )
        out.write_bytes(only_function_names(without_contraction(out.read_bytes())))
        _call(TOOLS[1], "--target-env", TARGET, str(out))
        words = out.read_bytes()
    wrong = violations(words)
    if wrong:
        raise BuildError("the contract is broken:\n" + "\n".join(wrong))
    return words


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def stale(table: dict[str, Module], kept: dict[str, Entry]) -> list[str]:
    """Name the modules whose file or source is not what the manifest says."""
    return [
        name
        for name, module in table.items()
        if kept.get(name)
        != {"source": source_hash(module), "spirv": _sha256(SPIRV / f"{name}.spv")}
    ]


def read_manifest() -> tuple[str, dict[str, Entry]]:
    """Give the compiler and the entries of the last build; nothing before the first one."""
    if not MANIFEST.exists():
        return "", {}
    data = json.loads(MANIFEST.read_text())
    return data["compiler"], data["modules"]


def _attempt(module: Module) -> bytes | BuildError:
    try:
        return compile_module(module)
    except BuildError as error:
        return error


def _compile_all(table: dict[str, Module], names: list[str]) -> dict[str, bytes]:
    """Compile side by side. Raises BuildError telling all that went wrong."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(names, pool.map(_attempt, [table[n] for n in names]), strict=True))
    failed = [f"{name}: {got}" for name, got in results.items() if isinstance(got, BuildError)]
    if failed:
        raise BuildError("\n".join(failed))
    return {name: got for name, got in results.items() if isinstance(got, bytes)}


def build() -> list[str]:
    """Compile what changed, remove what is gone, write the manifest; name what was compiled."""
    table, (by, kept) = modules(), read_manifest()
    SPIRV.mkdir(exist_ok=True)
    names = stale(table, kept) if by == compiler() else list(table)
    for name, words in _compile_all(table, names).items():
        (SPIRV / f"{name}.spv").write_bytes(words)
    for path in SPIRV.glob("*.spv"):
        if path.stem not in table:
            path.unlink()
    entries = {
        name: {"source": source_hash(module), "spirv": _sha256(SPIRV / f"{name}.spv")}
        for name, module in table.items()
    }
    data = {"compiler": compiler(), "target": TARGET, "modules": entries}
    MANIFEST.write_text(json.dumps(data, indent=1) + "\n")
    return names


def check() -> tuple[str, list[str]]:
    """Say what was compared, and list what in spirv/ differs from what the sources give.

    Raises BuildError where a source does not compile or breaks a rule.
    """
    table, (by, kept), here = modules(), read_manifest(), compiler()
    wrong = [f"{name}: stale" for name in stale(table, kept)]
    present = {path.stem for path in SPIRV.glob("*.spv")}
    wrong += [f"{name}: in no table" for name in sorted((present | kept.keys()) - table.keys())]
    if wrong or not here:
        why = "" if here else f", since {' or '.join(TOOLS)} is missing"
        return f"hashes were compared, nothing was compiled{why}", wrong
    made = _compile_all(table, list(table))
    if here != by:
        return f"all compile and hold the rules; not the bytes of {by}, here is {here}", []
    wrong = [name for name, new in made.items() if new != (SPIRV / f"{name}.spv").read_bytes()]
    return f"all compiled, bytes compared ({here})", [f"{name}: other bytes" for name in wrong]


def main() -> int:
    """Build or check; give the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    only_check = parser.parse_args().check
    try:
        said, lines = check() if only_check else ("", build())
    except BuildError as error:
        sys.exit(str(error))
    verb = f"wrong of {len(modules())} modules: {said}" if only_check else "compiled"
    sys.stdout.write("".join(f"{line}\n" for line in lines) + f"{len(lines)} {verb}\n")
    return int(only_check and bool(lines))


if __name__ == "__main__":
    sys.exit(main())
