"""`vkml doctor` in odd surroundings: paths, users, folders, output, warnings, network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wheels import GOOD, ROOT, VKML, WHOLE, Environment, Wheel

DOCTOR = ("-m", "vkml.cli", "doctor")
ODD = Wheel(
    "vkml-odd",
    {"odd": "vkml_odd:BACKEND"},
    {
        "vkml_odd.py": """
        from vkml_core.table_backend import table_backend

        BACKEND = table_backend("odd", {}, api_version=(1, 0), device_name="Gerät ✓ \\udcff")
        """
    },
)
"""A device with a name that few terminals can print."""


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    made = Environment(tmp_path)
    made.install(VKML, GOOD, ODD)
    return made


def works(done: subprocess.CompletedProcess[str]) -> str:
    """Every device of the environment is shown, and nothing is complained about."""
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    for name in ("cpu ", "good", "odd "):
        assert f"\n  {name}         cpu             " in done.stdout
    assert "Best device: cpu is the CPU backend" in done.stdout
    return done.stdout


def test_a_path_with_spaces_and_letters_of_all_kinds(tmp_path: Path) -> None:
    """Python, the packages, the working directory and the cache are there; Vulkan is asked too."""
    folder = tmp_path / "ein Ordner mit Äpfeln ✓ 'und' \"mehr\""
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "v env"], check=True, timeout=60
    )
    python = folder / "v env" / "bin" / "python"
    (site,) = (folder / "v env").glob("lib/python*/site-packages")
    (site / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    made = Environment(folder)
    made.install(WHOLE, GOOD, ODD)
    (folder / "vkml").mkdir()
    (folder / "numpy.py").write_text("raise AssertionError('imported from the working directory')")
    done = made.run(*DOCTOR, python=python, cwd=folder, PYTHONSAFEPATH="1")
    assert f"({python}" in works(done)
    assert "  vulkan       vkml 0.1.0 " in done.stdout


def test_no_home(environment: Environment) -> None:
    """As in a container with a user that has no entry among the users."""
    gone = "import pwd\n\ndef nobody(uid):\n    raise KeyError(uid)\n\npwd.getpwuid = nobody\n"
    (environment.site / "sitecustomize.py").write_text(gone)
    works(environment.run(*DOCTOR, without=("HOME", "XDG_CACHE_HOME")))


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may read; pytest's own are for one user."""
    folder = Path(tempfile.mkdtemp(prefix="vkml for all "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


NOBODY: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []}


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root becomes another user")
def test_another_user_than_root(public: Path) -> None:
    """Who may write nowhere: no home, a working directory of root's."""
    made = Environment(public)
    made.install(VKML, GOOD, ODD)
    try:
        ask = (sys.executable, "-c", "import numpy, vkml_core")
        here = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(ask, cwd="/", env=here, check=True, capture_output=True, **NOBODY)
    except (OSError, LookupError, subprocess.CalledProcessError) as error:
        pytest.skip(f"user nobody cannot run this Python from {sys.executable}: {error}")
    works(made.run(*DOCTOR, cwd=Path("/"), other=NOBODY, HOME="/nonexistent"))


GUARD = """
import os, sys

def guard(event, arguments):
    if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")):
        os.write(2, f"{event} {arguments}\\n".encode())
        os._exit(99)

sys.addaudithook(guard)
"""
"""Ends every process that as much as makes a socket."""


def test_the_network_is_never_asked(tmp_path: Path) -> None:
    made = Environment(tmp_path)
    made.install(WHOLE, GOOD)
    (made.site / "sitecustomize.py").write_text(GUARD)
    done = made.run("-c", "import socket; socket.socket()")
    assert done.returncode == 99 and "socket.__new__" in done.stderr  # the guard does guard
    done = made.run(*DOCTOR)
    assert "status 99" not in done.stdout and "Best device" in done.stdout, done.stdout


def test_every_warning_is_an_error(environment: Environment) -> None:
    """Also those of Python's development mode, about files and processes that stay open."""
    works(environment.run("-X", "dev", "-W", "error", *DOCTOR, PYTHONWARNINGS="error"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_prints_little(encoding: str, environment: Environment) -> None:
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = works(environment.run(*DOCTOR, PYTHONIOENCODING=encoding, **variables))
    shown = {"ascii": "Ger\\xe4t \\u2713 \\udcff", "latin-1": "Gerät \\u2713 \\udcff"}
    assert shown[encoding] in said


@pytest.mark.skipif(not shutil.which("head"), reason="there is no head here")
@pytest.mark.parametrize("command", ["doctor", "devices"])
def test_only_the_first_line_is_read(command: str, environment: Environment) -> None:
    here = f"{environment.site}{os.pathsep}{ROOT}"
    with subprocess.Popen(
        [sys.executable, "-m", "vkml.cli", command],
        env={**os.environ, "PYTHONPATH": here}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None and writer.stderr is not None
        done = subprocess.run(["head", "-1"], stdin=writer.stdout, capture_output=True, timeout=60)
        writer.stdout.close()
        assert writer.stderr.read() == b""
    first = {"doctor": b"Python and packages\n", "devices": b"* cpu "}
    assert done.stdout.startswith(first[command])


def test_no_output_at_all(environment: Environment) -> None:
    ask = "import sys; sys.stdout = None; import vkml.cli; sys.exit(vkml.cli.main(['doctor']))"
    done = environment.run("-c", ask)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_working_directory_that_is_gone(environment: Environment, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ask = f"import os; os.rmdir({str(gone)!r}); import vkml.cli; vkml.cli.main(['doctor'])"
    works(environment.run("-c", ask, cwd=gone))
