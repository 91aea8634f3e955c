"""Says where the time of some training steps goes, once the first ones have warmed up."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from kit.progress import say
from vkml.attribution import Capture, Report, capture

WARMUP: Final = 3
"""Steps before: they make plans, compile kernels and fill caches."""


class Attributed:
    """Captures `steps` training steps after the first ones, each with the loading of its batch."""

    def __init__(self, steps: int | None, device: str) -> None:
        """Without `steps` nothing is captured."""
        self._left = steps or 0
        self._warm = WARMUP
        self._device = device
        self._capture: Capture | None = None
        self.report: Report | None = None

    def stepped(self) -> None:
        """Hear that a step has ended."""
        if self._capture is not None:
            self._capture.mark()
            self._left -= 1
            if not self._left:
                self.close()
        elif self._left:
            self._warm -= 1
            if not self._warm:
                self._capture = capture(self._device).__enter__()

    def close(self) -> None:
        """End the capture, if it runs, and say what was found."""
        captured, self._capture = self._capture, None
        if captured is not None:
            captured.__exit__(None, None, None)
            self.report = captured.report()
            say("attribution", f"of {self._device}, each round one step")
            print(f"\n{self.report.table()}\n\n{self.report.text()}\n")
        elif self._left:
            say("attribution", f"nothing: there were no steps after the {WARMUP} that warm up")
        self._left = 0

    def summary(self) -> dict[str, Any]:
        """Give what goes into the summary."""
        return {"attribution": self.report.json()} if self.report else {}

    def draw(self, folder: Path) -> None:
        """Write attribution.png, and trace.json for Perfetto."""
        if self.report:
            for name, write in (
                ("attribution.png", self.report.png),
                ("trace.json", self.report.chrome_trace),
            ):
                write(folder / name)
                say("picture", folder / name)
