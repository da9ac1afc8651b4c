"""Corpus of attacks and honest look-alikes: one source file each, whose first comment describes it in words and YAML.

    Return at once, and let a thread fill the output before somebody looks at it.

    catalogue: [T03]
    hint: thread-injection
    aim: wrong
    stopped_by: [clocks]
    twin: joined_threads

The catalogue of loopholes is that of docs/threat-model.md. Files lie in a folder for each class of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from robust_kbench.errors import SpecError
from robust_kbench.folders import data_folder
from robust_kbench.schema.documents import Strict, parse, read_yaml
from robust_kbench.schema.launch import Launch
from robust_kbench.schema.record import Status
from robust_kbench.schema.submission import Abi, Language, Submission, SubmissionFile, usual_symbol
from robust_kbench.schema.task import DeviceKind, FloatDType

HostGroup = Literal[
    "process boundary",
    "sandbox",
    "buffers",
    "pages",
    "fresh values",
    "clocks",
    "floor",
    "baseline protection",
    "contract",
    "circumstances",
    "mean",
]
DeviceGroup = Literal["gate", "turn", "delays", "cache", "drift"]
"""Defences of a CUDA device.

Inputs that come after the launch; an end that the judge sees; a charge for time that is taken from the judge before a
call; a cache that is emptied completely; and looks at the clock in calls of nothing.
"""
Group = HostGroup | DeviceGroup
GROUPS: tuple[Group, ...] = get_args(HostGroup)
DEVICE_GROUPS: tuple[Group, ...] = (
    "buffers",
    "fresh values",
    "floor",
    "contract",
    "circumstances",
    "mean",
    *get_args(DeviceGroup),
)
Aim = Literal["wrong", "time", "intrusion"]
"""Aim of an attack: a wrong answer that passes, a time better than its twin's, or an effect on the machine."""
CLASSES = {
    "T": "timing",
    "O": "answers",
    "C": "caching",
    "P": "precision",
    "H": "harness",
    "B": "shortcuts",
    "W": "hardware",
}
"""Folders of the classes, by the letter with which the catalogue's numbers begin."""
_COMMENT = {
    ".py": re.compile(r'"""(.*?)"""', re.DOTALL),
    ".cpp": re.compile(r"/\*(.*?)\*/", re.DOTALL),
    ".cu": re.compile(r"/\*(.*?)\*/", re.DOTALL),
}
_LANGUAGE: dict[str, Language] = {".py": "python", ".cpp": "cpp", ".cu": "cuda"}
_ABI: dict[str, Abi] = {".py": "value", ".cpp": "c", ".cu": "c"}


class Header(Strict):
    """Header of a specimen: the facts that its file states about it."""

    task: str = "norm/rmsnorm"
    language: Language | None = None
    abi: Abi | None = None
    device: DeviceKind = "cpu"
    dtypes: tuple[FloatDType, ...] = ("float32",)
    build: tuple[str, ...] = ()
    launches: tuple[Launch, ...] = ()
    scratch: dict[str, int | str] = Field(default_factory=dict)


class HonestHeader(Header):
    """Header of an honest kernel. `looks_like`: numbers of the catalogue that it could be taken for."""

    looks_like: tuple[str, ...] = Field(min_length=1)


class DisturbanceHeader(Header):
    """Header of a disturbance. `ends`: the statuses that its record may have."""

    catalogue: tuple[str, ...] = Field(min_length=1)
    ends: tuple[Status, ...] = Field(min_length=1)


class AttackHeader(Header):
    """Header of an attack, see the module. An `outdated` attack cannot be armed.

    It succeeded in a design that is gone, or would do so on a device that lets it.
    """

    catalogue: tuple[str, ...] = Field(min_length=1)
    hint: str = ""
    aim: Aim
    stopped_by: tuple[Group, ...] = Field(min_length=1)
    privileged: bool = Field(default=False, description="armed for a privileged user only, or on some kernels only")
    naive: bool = Field(default=False, description="armed against a naive harness that shares its process")
    twin: str
    reason: str = Field(default="", description="how the reason of its record begins")
    outdated: bool = False


@dataclass(frozen=True)
class Specimen:
    """Specimen: a source file of the corpus."""

    path: Path
    summary: str
    header: Header

    @property
    def name(self) -> str:
        """Name, unique among attacks and among honest kernels."""
        return self.path.stem

    def submission(self, more: dict[str, str] | None = None) -> Submission:
        """Return the submission as it is handed in, together with the sources `more`."""
        suffix = self.path.suffix
        language = self.header.language or _LANGUAGE[suffix]
        symbol = usual_symbol(self.header.task, language)
        fields: dict[str, Any] = {
            "task": self.header.task,
            "language": language,
            "abi": self.header.abi or _ABI[suffix],
            "entry_point": f"kernel{suffix}::{symbol}",
            "dtypes": self.header.dtypes,
            "build": self.header.build,
            **({"launches": self.header.launches, "scratch": self.header.scratch} if self.header.launches else {}),
        }
        sources = {f"kernel{suffix}": self.path.read_text(encoding="utf-8"), **(more or {})}
        return Submission(name=self.name, file=SubmissionFile.model_validate(fields), sources=sources)


@dataclass(frozen=True)
class Honest(Specimen):
    """Honest kernel that is right, and looks suspicious."""

    header: HonestHeader


@dataclass(frozen=True)
class Disturbance(Specimen):
    """Submission that crashes, hangs, floods or lies, and gains nothing by it but others' trouble."""

    header: DisturbanceHeader


@dataclass(frozen=True)
class Attack(Specimen):
    """Kernel that tries to pass with a false result, or to get out of its sandbox."""

    header: AttackHeader

    @property
    def kind(self) -> str:
        """Class of the catalogue that the attack's first number belongs to."""
        return CLASSES[self.header.catalogue[0][0]]


def attacks() -> list[Attack]:
    """List every attack, by class and name. Raises SpecError."""
    found = [
        Attack(path, *_read(path, AttackHeader))
        for folder in CLASSES.values()
        for path in _sources(data_folder("attacks") / folder)
    ]
    _unique(found)
    twins = {specimen.name for specimen in honest()}
    for attack in found:
        if attack.kind != attack.path.parent.name:
            raise SpecError(f"{attack.path}: catalogue: {attack.header.catalogue[0]} belongs into {attack.kind}/")
        if attack.header.twin not in twins:
            raise SpecError(f"{attack.path}: twin: no {attack.header.twin!r} in {data_folder('honest')}")
    return found


def honest() -> list[Honest]:
    """List every honest look-alike, by name. Raises SpecError."""
    found = [Honest(path, *_read(path, HonestHeader)) for path in _sources(data_folder("honest"))]
    _unique(found)
    return found


def disturbances() -> list[Disturbance]:
    """List every disturbance, by name. Raises SpecError."""
    folder = data_folder("attacks") / "disturbances"
    found = [Disturbance(path, *_read(path, DisturbanceHeader)) for path in _sources(folder)]
    _unique(found)
    return found


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.suffix in _COMMENT)


def _read(path: Path, model: type[Any]) -> tuple[str, Any]:
    """Read the summary and the header of one file."""
    where = str(path)
    comment = _COMMENT[path.suffix].match(path.read_text(encoding="utf-8"))
    if comment is None:
        raise SpecError(f"{where}: begins with no comment that says what it is")
    summary, _, header = comment.group(1).strip().rpartition("\n\n")
    return " ".join(summary.split()), parse(model, read_yaml(header, where), where)


def _unique(found: list[Any]) -> None:
    seen: dict[str, Path] = {}
    for specimen in found:
        if specimen.name in seen:
            raise SpecError(f"{specimen.path}: {seen[specimen.name]} has the same name; rename one of them")
        seen[specimen.name] = specimen.path
