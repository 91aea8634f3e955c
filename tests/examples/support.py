"""Runs examples as a user does, and makes small data for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script: str, *args: object, **environ: str) -> subprocess.CompletedProcess[str]:
    """Start an example and wait for it."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / script), *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environ,
    )


def train(out: Path, script: str, *args: object, **environ: str) -> dict[str, Any]:
    """Start an example that has to succeed, and read its summary."""
    done = run(script, *args, "--json", out, **environ)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    summary: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    assert summary["weights_sha256"] in done.stdout
    return summary | {"stdout": done.stdout}


def result(summary: dict[str, Any]) -> dict[str, Any]:
    """Keep of a summary what must not depend on the device, the mode or the day."""
    told = {"stdout", "device", "device_reason", "eager", "versions", "compare"}
    kept = {k: v for k, v in summary.items() if k not in told}
    ours = {"seconds", "torch"}
    kept["epochs"] = [{k: v for k, v in epoch.items() if k not in ours} for epoch in kept["epochs"]]
    return kept
