"""Definition of an agent by a YAML file: phases of operators, each a row of roles with their sections and questions."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from robust_kbench.agents.budget import Limits
from robust_kbench.agents.selectors import AnySelector
from robust_kbench.errors import UsageError
from robust_kbench.schema.documents import Strict, parse, read_yaml

SectionName = Literal[
    "task", "hardware", "code", "selected", "root", "best", "profile", "findings", "parents", "insights", "ladder",
    "programs", "last", "children", "siblings", "cousins", "leaders", "hints", "notes",
]  # fmt: skip
Answer = Literal["code", "named", "described", "plan", "note", "verdict"]
When = Literal["always", "failing", "right"]
Temperature = Annotated[float, Field(ge=0, le=2)]


class Section(Strict):
    """Part of a prompt: the name of its content, and how many items it shows. In YAML `ladder: 5`, or just `task`."""

    name: SectionName
    count: int = Field(default=0, ge=0, description="0: as many as there are")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data}
        if isinstance(data, dict) and len(data) == 1 and "name" not in data:
            return dict(zip(("name", "count"), *data.items(), strict=True))
        return data


class Role(Strict):
    """Role of an operator: one question to a language model.

    Several temperatures: one is drawn for each call. `of_best`: the answer is about the best kernel alone, and is kept
    until there is a better one. `reflect`: the model is asked to look again, and its last answer counts.
    """

    name: str = Field(pattern=r"^[a-z_]+$")
    temperature: Temperature | tuple[Temperature, ...] = 1.0
    sections: tuple[Section, ...]
    instruction: str = Field(description="a template: prompts/NAME.md of the package, or the text itself")
    answer: Answer = "code"
    of_best: bool = False
    reflect: bool = False


class Operator(Strict):
    """Way to make a candidate from `parents` nodes, by `roles` one after the other; the last one writes code."""

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    parents: int = Field(default=1, ge=1, le=8)
    when: When = "always"
    roles: tuple[Role, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ends_in_code(self) -> Operator:
        kinds = [role.answer for role in self.roles]
        if kinds[-1] not in ("code", "named", "described") or any(kind not in ("plan", "note") for kind in kinds[:-1]):
            raise ValueError("the last role answers with code, those before it with a plan or a note")
        return self


class Phase(Strict):
    """Part of a run. It ends when there are `until_kernels` right kernels, or after `at_most` evaluations.

    `share`: each operator makes its part of a batch. `first`: the first operator whose `when` holds for the selected
    node is used. With `keep`, only so many of a batch are judged, the ones that the verifiers like best.
    """

    name: str = Field(pattern=r"^[a-z_]+$")
    until_kernels: int | None = Field(default=None, ge=1)
    at_most: int | None = Field(default=None, ge=1)
    select: AnySelector
    choose: Literal["share", "first"] = "share"
    operators: tuple[Operator, ...] = Field(min_length=1)
    batch: int = Field(default=1, ge=1, le=64)
    keep: int | None = Field(default=None, ge=1)
    verifiers: tuple[Role, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Phase:
        if (self.keep is not None) != bool(self.verifiers):
            raise ValueError("keep and verifiers belong together: verifiers rank, and keep says how many are judged")
        if self.keep is not None and self.keep > self.batch:
            raise ValueError(f"keep {self.keep} of a batch of {self.batch}")
        if any(role.answer != "verdict" for role in self.verifiers):
            raise ValueError("verifiers answer with a verdict")
        if self.choose == "first" and self.operators[-1].when != "always":
            raise ValueError("the last operator to choose from must always be possible")
        if self.choose == "share" and (
            self.batch % len(self.operators) or any(o.when != "always" for o in self.operators)
        ):
            raise ValueError("operators that share a batch need a multiple of their number, and no `when`")
        return self


class Preset(Strict):
    """Agent with its source, its limits and its phases."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    summary: str
    source: str = Field(description="the paper or project that it follows")
    differs: tuple[str, ...] = Field(default=(), description="where it does not do what its source does")
    population: int = Field(default=5, ge=1)
    limits: Limits
    phases: tuple[Phase, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ends(self) -> Preset:
        if self.phases[-1].until_kernels is not None or self.phases[-1].at_most is not None:
            raise ValueError("the last phase goes on until the budget is spent; remove until_kernels and at_most")
        if any(phase.until_kernels is None and phase.at_most is None for phase in self.phases[:-1]):
            raise ValueError("a phase before the last one needs until_kernels or at_most")
        return self


def names() -> list[str]:
    """Return the names of the presets in the package."""
    return sorted(file.name.removesuffix(".yaml") for file in _folder().iterdir() if file.name.endswith(".yaml"))


def load(name: str) -> Preset:
    """Load a preset of the package by name, or the user's own by its file's path. Raises UsageError or SpecError."""
    if name.endswith((".yaml", ".yml")):
        return _parsed(Path(name))
    if name not in names():
        raise UsageError(f"no agent {name!r:.60}; there are {', '.join(names())}, or give the path of a YAML file")
    with resources.as_file(_folder() / f"{name}.yaml") as file:
        return _parsed(file)


def _parsed(file: Path) -> Preset:
    try:
        text = file.read_text()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    return parse(Preset, read_yaml(text, str(file)), str(file))


def _folder() -> Any:
    return resources.files("robust_kbench.agents") / "presets"
