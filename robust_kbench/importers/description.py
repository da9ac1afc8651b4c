"""Reports of the sandbox on the survey of a problem and the audit of a task: claims, parsed strictly."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from robust_kbench.schema.documents import Strict
from robust_kbench.schema.task import TaskName

Text = Annotated[str, Field(max_length=1000)]
Place = Annotated[int, Field(ge=0, le=4096)]
Form = Literal["kernelbench", "robust-kbench", "flashinfer"]
Constant = int | float | bool | str | None | list[Any]


class Adapter(Strict):
    """Constants of an adapter: see the modules of importers.adapters, which have the same names in capitals."""

    kind: Literal["model", "function", "gradient"]
    splices: tuple[tuple[int, int, Text], ...] = ()
    sizes: tuple[tuple[Text, Place, Place], ...] = ()
    arguments: tuple[tuple[Text, Constant], ...] = ()
    parameters: tuple[tuple[Text, Place], ...] = ()
    draws: tuple[Place, ...] = ()
    entry: Text = ""
    results: tuple[Text, ...] = ()
    upstream: Place = 0
    gradients: tuple[Place, ...] = ()
    call: tuple[tuple[Text, Constant], ...] = Field(default=(), description="how others call the same: see submissions")


class Surveyed(Strict):
    """Problem as a task. `task` is the content of its task.yaml, `notes` are the decisions of the import, in words."""

    task: dict[str, Any]
    adapter: Adapter
    notes: tuple[Text, ...] = ()
    faults: tuple[Text, ...] = ()


class Audited(Strict):
    """Findings of the audit of a task in one dtype."""

    dtype: str = Field(max_length=20)
    cases: int = Field(ge=0)
    faults: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    non_answers: tuple[Text, ...] = Field(default=(), description="those that pass every case")
    killed: tuple[int, int] = Field(default=(0, 0), description="non-answers that fail, of so many that were tried")
    mutants: tuple[int, int] = Field(default=(0, 0), description="the same of mutants")
    seconds: float = Field(default=0.0, ge=0)


class Report(Strict):
    """Answer of a child: surveyed tasks or audits, or the error that prevented them."""

    error: Text = ""
    surveyed: tuple[Surveyed, ...] = ()
    audited: tuple[Audited, ...] = ()


class Request(Strict):
    """Request to a child: the problem or the task, and the work to do on it."""

    what: Literal["model", "function", "gradient", "definition", "audit"]
    name: TaskName
    title: str = ""
    source: str = ""
    summary: str = ""
    origin: str = ""
    options: dict[str, Any] = {}
    seconds: float = 60.0
    forbidden: str = Field(default="", description="a file that the child must not be able to read")

    @property
    def digest(self) -> str:
        """Digest of the problem and its names, however long its survey may take."""
        text = self.model_dump_json(exclude={"seconds", "forbidden"})
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@dataclass(frozen=True)
class Found:
    """A foreign problem: where it came from, and the request for its survey."""

    place: str
    form: Form
    request: Request


@dataclass(frozen=True)
class Unread:
    """A foreign file that should hold a problem, and the reason why it is impossible to tell which."""

    place: str
    error: str


class Imported(Strict):
    """Content of an `imported.yaml`: where a task came from, and how kernels that were written for that suite call it.

    `call` tells for each of their arguments how and which: `value`, the position of one of the task's inputs; `tuple`,
    the positions of several; `constant`, a value.
    """

    form: Form
    place: Text
    title: Text = Field(default="", description="what its own suite calls it")
    call: tuple[tuple[Text, Constant], ...] = ()
    digest: Text = Field(default="", description="of what was imported")
    count: int = Field(default=1, ge=1, description="how many tasks it became")
