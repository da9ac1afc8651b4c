"""Undefined behaviour that the emulator saw: a fact about a call, found by the checker and not by the comparison."""

from __future__ import annotations

from dataclasses import dataclass

UNSUPPORTED = "unsupported"
WORK_LIMIT = "work_limit"
INACTIVE_LANE = "inactive_lane"


@dataclass(frozen=True)
class Defect:
    """Finding of the emulator's checker.

    `kind` is one of `robust_kbench.emulator.report.KINDS`; `line` is 0 where the place is not known. `other` tells the
    second end of a race.
    """

    kind: str
    message: str
    kernel: str = ""
    file: str = ""
    line: int = 0
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    other: str = ""
    count: int = 1

    @property
    def is_undefined_behaviour(self) -> bool:
        """True if the language promises nothing any more. A shuffle from an inactive lane only yields any value."""
        return self.kind not in (WORK_LIMIT, UNSUPPORTED, INACTIVE_LANE)

    @property
    def place(self) -> str:
        """Place as `kernel.cu:12`, or the kernel's name where the line is not known."""
        return f"{self.file}:{self.line}" if self.line else self.kernel

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        who = f" (block {_text(self.block)}, thread {_text(self.thread)})" if self.block and self.thread else ""
        return f"{where}{self.kind}: {self.message}{self.other}{who}"


def _text(position: tuple[int, int, int]) -> str:
    return "(" + ", ".join(map(str, position)) + ")"
