"""Result of a builder: an artefact and the way to load it."""

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

    `needs` are folders, beside its own, from which it loads something. An artefact that is source itself has `sources`,
    texts by their names in `home`. `plan` says how the kernels of abi launch are launched (see languages.launches).
    """

    path: Path
    symbol: str
    abi: str
    execution: Execution = "native"
    flavour: Flavour = "torch"
    compiles_at_run_time: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    needs: tuple[Path, ...] = ()
    home: Path | None = None
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    plan: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that must be readable to load the artefact where it was built: its own, and others that it needs."""
        return self.home or self.path.parent, *self.needs

    @property
    def entry(self) -> dict[str, Any]:
        """Data that `worker.loaders` needs to load the artefact."""
        return {"abi": self.abi, "path": str(self.path), "symbol": self.symbol, "plan": dict(self.plan)}

    def load_request(self, device: str) -> dict[str, Any]:
        """Return the frame that has a worker load the artefact."""
        more = {"device": device, "execution": self.execution, "environment": dict(self.environment)}
        return {**self.entry, **more}


def write_sources(submission: Submission, folder: Path) -> Path:
    """Write the frozen sources into a folder of their own below `folder`, and return the entry file."""
    home = folder / SOURCES
    write_files(submission.sources, home)
    return home / submission.entry_file


def write_files(files: Mapping[str, str], home: Path) -> None:
    """Write texts by their names, which may have folders in them."""
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
