"""Writes docs/contract/VERSION.txt, the public signatures: `python tools/write_contract.py`.

It refuses signatures that changed without the version that such a change needs. Nobody edits the
files; a test compares the newest with the code, and each with the one before.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, Literal

from contract_signatures import OPS, Lines, describe

from vkml_core.backend import API_VERSION

FOLDER: Final = Path(__file__).parents[1] / "docs" / "contract"
Version = tuple[int, int]
Change = Literal["major", "minor"]
CLOSED: Final = ("protocol", "class(Enum)")
"""What nothing can be added to: others fulfil it in full, or tell all its members apart."""


def path_of(version: Version, folder: Path = FOLDER) -> Path:
    """Give the file of a version."""
    return folder / f"{version[0]}.{version[1]}.txt"


def text_of(lines: Lines) -> str:
    """Give the file that says so."""
    return "".join(f"{place} {text}\n" for place, text in lines.items())


def read(path: Path) -> Lines:
    """Give what a file says."""
    found = (line.partition(" ") for line in path.read_text("utf-8").splitlines())
    return {place: text for place, _, text in found}


def versions(folder: Path = FOLDER) -> list[Version]:
    """Give the versions that are written down, oldest first."""
    found = (path.stem.split(".") for path in folder.glob("*.txt"))
    return sorted((int(major), int(minor)) for major, minor in found)


def changes(before: Lines, now: Lines) -> dict[str, Change]:
    """Tell what changed by its place, and which part of the version that has to raise."""
    found: dict[str, Change] = {
        place: "major" for place, text in before.items() if now.get(place) != text
    }
    for place, text in now.items():
        if place not in before:
            found[place] = "major" if _asks_more(place, text, before) else "minor"
    return found


def _asks_more(place: str, text: str, before: Lines) -> bool:
    """Whether something new is more than an offer to who knows only what was before."""
    owner = before.get(place.rpartition(".")[0])
    if owner is None:
        return False
    required = text.startswith("field") and " = " not in text
    return required or owner in CLOSED or place.startswith(f"{OPS}.")


def fault(before: Lines, now: Lines, old: Version, new: Version) -> str | None:
    """Say why a version does not do for what changed since an older one, and what to do."""
    found = changes(before, now)
    major = sorted(place for place, change in found.items() if change == "major")
    wanted = (old[0] + 1, 0) if major else (old[0], old[1] + 1)
    if not found or (new[0] > old[0] if major else new > old):
        return None
    told = ", ".join(major or sorted(found))
    return (
        f"the contract with backends changed since {old[0]}.{old[1]} ({told}): either take that "
        f"back, or set API_VERSION in vkml_core/backend.py to {wanted}, say there what it brings, "
        "and run python tools/write_contract.py"
    )


def write(version: Version = API_VERSION, folder: Path = FOLDER) -> str | None:
    """Write the file of a version, or give the reason why not."""
    now = describe()
    known = [old for old in versions(folder) if old <= version]
    if known and (wrong := fault(read(path_of(known[-1], folder)), now, known[-1], version)):
        return wrong
    path_of(version, folder).write_text(text_of(now), "utf-8")
    return None


if __name__ == "__main__":
    sys.exit(write())
