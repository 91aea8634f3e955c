"""Ink for terminals: text that any of them can show, styles and signs of states. Needs rich."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.text import Text

from vkml_conformance.account import STATES, State
from vkml_conformance.plain import shown

STYLES: Final[dict[State, str]] = {
    "differs": "bold red",
    "not run": "yellow",
    "in part": "cyan",
    "equal": "green",
    "unsupported": "dim",
    "left out": "dim",
}
Part = str | tuple[str, str] | Text


def styled(console: Console, *parts: Part) -> Text:
    """Assemble what any terminal can show; nothing in it is taken for markup."""
    out = Text()
    for part in parts:
        if isinstance(part, Text):
            out.append_text(part)
        else:
            said, style = part if isinstance(part, tuple) else (part, "")
            out.append(shown(said, console.encoding), style)
    return out


def say(console: Console, *parts: Part, indent: int = 0) -> None:
    """Print a paragraph, wrapped where the terminal ends."""
    for text in styled(console, *parts).wrap(console, max(1, console.width - indent)):
        text.rstrip()
        console.print(Text(" " * indent).append_text(text))


def mark(state: State, console: Console) -> Text:
    """Give the sign of a state as far as the encoding has it."""
    sign = STATES[state]
    try:
        sign.sign.encode(console.encoding)
    except UnicodeEncodeError:
        return Text(sign.ascii, STYLES[state])
    return Text(sign.sign, STYLES[state])
