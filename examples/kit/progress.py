"""What a run says while it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track

from kit.task import Evaluation

T = TypeVar("T")
console = Console(soft_wrap=True, highlight=False)


def say(label: str, text: object) -> None:
    """Print one line: a label and what there is to say."""
    console.print(f"{label:<7} {text}", markup=False)


def bar(items: Iterable[T], total: int, epoch: int) -> Iterator[T]:
    """Show how far an epoch is, on a terminal."""
    quiet = not console.is_terminal
    yield from track(
        items, f"epoch {epoch}", total=total, console=console, transient=True, disable=quiet
    )


def told(evaluation: Evaluation) -> str:
    """Put measures into words; shares become per cent."""
    parts = []
    for name, value in evaluation.measures.items():
        parts.append(f"{name} {value:.2%}" if name == "accuracy" else f"{name} {value:.4f}")
    return "  ".join(parts)


def differences(ours: Evaluation, theirs: Evaluation) -> str:
    """Say what PyTorch reached and how far that is from here."""
    parts = []
    for name, value in theirs.measures.items():
        apart = ours.measures[name] - value
        parts.append(
            f"{name} {value:.2%} ({apart * 100:+.2f} points)"
            if name == "accuracy"
            else f"{name} {value:.4f} ({apart:+.4f})"
        )
    return "  ".join(parts)
