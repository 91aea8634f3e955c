"""Who offers backends: entry points read by metadata only, guarded stages, and kept reasons.

A plug-in may do anything, also call `sys.exit` while it is imported. Whatever it does ends here as
a `Failure`; it breaks neither `import vkml` nor another backend.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from vkml_core.errors import RegistrationError

GROUP: Final = "vkml.backends"
Stage = Literal["find", "load", "version", "check", "probe", "open"]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a backend or device cannot be used: who brought it, how far it got, what to do."""

    name: str
    distribution: str
    version: str
    stage: Stage
    error: str
    advice: str

    def __str__(self) -> str:
        origin = f"{self.distribution} {self.version}".strip()
        return f"{self.name} ({origin}) failed at {self.stage}: {self.error}; {self.advice}"


class Refused(Exception):
    """A stage went wrong. Never leaves the core: it becomes a `Failure` and a PluginError."""

    def __init__(self, stage: Stage, error: str, advice: str = "") -> None:
        super().__init__(error)
        self.stage, self.error, self.advice = stage, error, advice


@dataclass(frozen=True, slots=True)
class Source:
    """Who offers a backend: a distribution's entry point, or the application itself."""

    name: str
    distribution: str
    version: str
    load: Callable[[], Any]
    target: str = ""
    """What the entry point leads to, so that another process finds it too; "" if none can."""

    def failure(self, refused: Refused, name: str | None = None) -> Failure:
        """Say in full what was refused; `name` is the device where it is not the backend."""
        advice = refused.advice or f"report this to the authors of {self.distribution}"
        error, cure = (" ".join(text.splitlines()) for text in (refused.error, advice))
        return Failure(
            name or self.name, self.distribution, self.version, refused.stage, error, cure
        )


def guard(stage: Stage, function: Callable[..., _T], *args: Any) -> _T:
    """Call into a plug-in. Whatever it raises but KeyboardInterrupt becomes Refused."""
    try:
        return function(*args)
    except (KeyboardInterrupt, Refused):
        raise
    except RegistrationError as error:
        raise Refused("check", summary(error)) from error
    except BaseException as error:
        raise Refused(stage, summary(error), _advice(error)) from error


def summary(error: BaseException) -> str:
    """Give the type and the first line of an exception."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _advice(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"install what provides the module {error.name!r}, or reinstall the plug-in"
    if isinstance(error, OSError):
        return "install the file or shared library that it names, or reinstall the plug-in"
    return ""


def _distributions() -> Iterable[Any]:
    # Imported when first needed: it takes longer than the rest of the plug-in code.
    import importlib_metadata

    return importlib_metadata.distributions()


def loader(name: str, target: str) -> Callable[[], Any]:
    """Give what loads the backend to which an entry point of another process leads."""
    import importlib_metadata

    load: Callable[[], Any] = importlib_metadata.EntryPoint(name, target, GROUP).load
    return load


def entry_points(
    distributions: Callable[[], Iterable[Any]] = _distributions,
) -> tuple[list[Source], list[Failure]]:
    """List what entry points offer and which metadata cannot be read; imports no plug-in.

    Of two distributions with one name the first on the path counts, as it does for imports.
    """
    sources: dict[str, list[Source]] = {}
    failures: list[Failure] = []
    try:
        listed = guard("find", lambda: list(distributions()))
    except Refused as refused:
        advice = "mend the import hooks or paths of this Python environment"
        return [], [Failure("vkml", "this environment", "", "find", refused.error, advice)]
    for distribution in listed:
        try:
            found = distribution.entry_points.select(group=GROUP)
        except Exception as error:
            name, version = _identity(distribution)
            failures.append(
                Failure(name, name, version, "find", summary(error), f"reinstall {name}")
            )
            continue
        if found:
            name, version = _identity(distribution)
            offers = [Source(e.name, name, version, e.load, e.value) for e in found]
            sources.setdefault(re.sub(r"[-_.]+", "-", name).lower(), offers)
    return [s for offers in sources.values() for s in offers], failures


def _identity(distribution: Any) -> tuple[str, str]:
    """Give name and version, also where the metadata is damaged."""
    try:
        return distribution.metadata["Name"] or "unknown", distribution.version
    except Exception:
        return "unknown", ""


def merge(name: str, sources: Sequence[Source]) -> Source:
    """Give the only source of a name, or one that is refused naming everyone who claims it."""
    if len(sources) == 1:
        return sources[0]
    owners = sorted({f"{s.distribution} {s.version}".strip() for s in sources})
    error = f"the name {name!r} is claimed {len(sources)} times: by {' and by '.join(owners)}"

    def load() -> Any:
        raise Refused("find", error, "keep one of them and uninstall the others")

    return Source(name, " and ".join(owners), "", load)
