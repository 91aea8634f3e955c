"""Which device is the best one, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from vkml_core.backend import DeviceInfo, DeviceKind, Level

CPU: Final = "cpu"
"""The device where none is named."""
_KINDS: Final[dict[DeviceKind, tuple[int, str]]] = {
    "discrete-gpu": (0, "a discrete GPU"),
    "integrated-gpu": (1, "an integrated GPU"),
    "virtual-gpu": (2, "a virtual GPU"),
    "other": (2, "an accelerator"),
    "cpu": (3, "a CPU backend"),
    "software": (5, "a software rasteriser"),
}
"""How much a kind is preferred (less is better) and what it is called."""
_ORACLE: Final = 4
"""The preference of `CPU` itself: after other CPU backends, before software rasterisers."""


@dataclass(frozen=True, slots=True)
class Found:
    """What decides about a device that opens: its level, and whether it has every operation."""

    level: Level
    complete: bool


def choose(
    offered: Mapping[str, DeviceInfo],
    ask: Callable[[str], Found | None],
    blame: Callable[[], str],
) -> tuple[str, str]:
    """Choose among devices by name; `ask` opens one, `blame` tells what failed.

    A discrete GPU comes first, then an integrated one, another accelerator, a CPU backend
    that is exact and complete, `cpu`; a software rasteriser only where `cpu` does not work.
    """
    partial: str | None = None
    for name, info in sorted(offered.items(), key=lambda offer: _preference(*offer)):
        found = ask(name)
        if found is None:
            continue
        if info.kind != "cpu" or name == CPU or (found.complete and found.level == "exact"):
            return name, _reason(name, found.level, offered) + f"{blame()}."
        partial = partial or name
    if partial is not None:
        return partial, f"{partial} alone works, in part: {CPU} does not{blame()}."
    return CPU, f"No device works{blame()}. Run `vkml doctor`."


def _preference(name: str, info: DeviceInfo) -> int:
    return _ORACLE if name == CPU else _KINDS[info.kind][0]


def _reason(chosen: str, level: Level, offered: Mapping[str, DeviceInfo]) -> str:
    """Say why a device was chosen and what stood in the way of others."""
    info = offered[chosen]
    what = "the CPU backend" if chosen == CPU else _KINDS[info.kind][1]
    said = f"{chosen} is {what} ({info.name}), level {level}"
    worse = [name for name, other in offered.items() if other.kind == "software" and name != chosen]
    if chosen == CPU and not any(_preference(*o) < _ORACLE for o in offered.items()):
        said += "; no accelerator is available"
    if worse:
        said += f"; software rasterisers ({', '.join(worse)}) are used only when named"
    return said
