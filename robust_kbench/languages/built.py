"""What a builder hands over: an artefact and the way to load it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from robust_kbench.schema.record import Execution
from robust_kbench.schema.submission import Submission

Flavour = Literal["torch", "triton", "inductor"]


SOURCES = "source"


@dataclass(frozen=True)
class Built:
    """A loadable artefact of one submission and dtype. `log` holds the compiler's warnings.

    `home` is the folder of the build, where the artefact lies deeper in it. `needs` are folders, beside that one, from
    which it loads something. `plan` says how the kernels of abi launch are launched (see languages.launches).
    """

    path: Path
    symbol: str
    abi: str
    execution: Execution = "native"
    flavour: Flavour = "torch"
    compiles_at_run_time: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    home: Path | None = None
    needs: tuple[Path, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[Path, ...]:
        """What a worker has to read to load the artefact: the folder of the build, and what else is needed."""
        return self.home or self.path.parent, *self.needs

    @property
    def entry(self) -> dict[str, Any]:
        """What `worker.loaders` needs to know to load the artefact."""
        return {"abi": self.abi, "path": str(self.path), "symbol": self.symbol, "plan": dict(self.plan)}

    def load_request(self, device: str) -> dict[str, Any]:
        """The frame that has a worker load the artefact."""
        more = {"device": device, "execution": self.execution, "environment": dict(self.environment)}
        return {**self.entry, **more}


def write_sources(submission: Submission, folder: Path) -> Path:
    """Write the frozen sources into a folder of their own below `folder`; returns the entry file."""
    home = folder / SOURCES
    for name, text in submission.sources.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return home / submission.entry_file
