"""Untrusted source and how to call it: the content of a `submission.yaml`."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from robust_kbench.schema import arithmetic
from robust_kbench.schema.documents import Strict
from robust_kbench.schema.launch import MAX_LAUNCHES, Launch
from robust_kbench.schema.taken_names import is_taken, objection
from robust_kbench.schema.task import FloatDType, Precision, TaskName

Language = Literal["python", "triton", "cpp", "cuda"]
Track = Literal["open", "custom"]
"""On the custom track a submission's own kernels must do the work: see checking.knock_out."""
Abi = Literal["value", "destination", "c", "torch", "launch"]
ABIS: dict[str, tuple[Abi, ...]] = {
    "python": ("value", "destination"),
    "triton": ("value", "destination"),
    "cpp": ("c", "torch"),
    "cuda": ("c", "torch", "launch"),
}
_CPP_SUFFIXES = (".cpp", ".cc", ".cxx")
SUFFIXES: dict[Language, tuple[str, ...]] = {
    "python": (".py",),
    "triton": (".py",),
    "cpp": _CPP_SUFFIXES,
    "cuda": (".cu", *_CPP_SUFFIXES),
}
"""Suffixes of an entry point's file.

To a compiler other files are no source, but an object, an archive or a linker's script.
"""
# Flags that change how code is generated and nothing else: no paths, no plugins, no linker or preprocessor input.
_FLAG = re.compile(
    r"-O[0-3]|-Ofast|-ffast-math|-fno-math-errno|-fno-trapping-math|-funroll-loops|-fopenmp|-ftree-vectorize"
    r"|-m(arch=native|avx2|avx512[a-z0-9]{1,4}|fma|f16c)|-std=(c|gnu)\+\+(17|20)|-D[A-Z_][A-Z0-9_]{0,30}(=[0-9]{1,9})?"
    r"|--use_fast_math|-maxrregcount=[0-9]{1,3}|--extra-device-vectorization|--expt-relaxed-constexpr"
    r"|--expt-extended-lambda"
)
MAX_FILE_BYTES = 1024 * 1024
MAX_FILES = 64
MAX_NAME = 100
_MAX_NAME_BYTES = 255
"""Length of the longest name that a file system takes."""
_NAME_FOR_COMPILERS = re.compile(r"[\w.+][\w.+-]*")
"""Names of files that are safe for compilers.

Compilers hand names on to a shell, which would take some for commands, or for options.
"""
MAX_DEPTH = 8


def usual_symbol(task_name: str, language: str) -> str:
    """Return the default name of an entry point: the task's own, unless a compiler knows it already."""
    name = task_name.rpartition("/")[2]
    return f"{name}_kernel" if is_taken(name, language) else name


class SubmissionFile(Strict):
    """Content of a `submission.yaml`, with one field for each of its keys."""

    task: TaskName
    language: Language
    abi: Abi | None = Field(default=None, description="default: destination for python and triton, c for cpp and cuda")
    entry_point: Annotated[str, Field(pattern=r"^[^:\s]+::[A-Za-z_][A-Za-z0-9_]*$", description="file::symbol")]
    author: str = Field(default="", max_length=100)
    track: Track = Field(default="open", description="custom: kernels of its own do the work, which is tested")
    precision: Precision | None = Field(default=None, description="default: the task's contract")
    dtypes: tuple[FloatDType, ...] | None = Field(default=None, description="default: all dtypes of the task")
    build: tuple[str, ...] = Field(default=(), max_length=16, description="compiler flags from the allow-list")
    launches: tuple[Launch, ...] = Field(default=(), max_length=MAX_LAUNCHES, description="abi launch: one by one")
    scratch: dict[str, int | str] = Field(
        default_factory=dict, max_length=16, description="abi launch: name -> bytes, an expression over axes"
    )

    @field_validator("build")
    @classmethod
    def _allowed(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        for flag in flags:
            if not _FLAG.fullmatch(flag):
                raise ValueError(f"flag {flag!r:.60} is not on the allow-list (see docs/formats.md#build-flags)")
        return flags

    @field_validator("dtypes")
    @classmethod
    def _some(cls, dtypes: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if dtypes is not None and (not dtypes or len(set(dtypes)) != len(dtypes)):
            raise ValueError("name each dtype once, and at least one")
        return dtypes

    @field_validator("entry_point")
    @classmethod
    def _inside(cls, entry_point: str) -> str:
        path = PurePosixPath(entry_point.partition("::")[0])
        if path.is_absolute() or ".." in path.parts:
            raise ValueError("the file must lie inside the submission's directory")
        return entry_point

    @field_validator("scratch")
    @classmethod
    def _are_sizes(cls, scratch: dict[str, int | str]) -> dict[str, int | str]:
        for name, size in scratch.items():
            if not name.isidentifier() or not name.isascii():
                raise ValueError(f"scratch {name!r:.80} is no name of an argument")
            arithmetic.names(size)
        return scratch

    @model_validator(mode="after")
    def _abi_fits(self) -> Self:
        if self.abi is not None and self.abi not in ABIS[self.language]:
            raise ValueError(
                f"abi {self.abi!r} does not exist for {self.language}; use {' or '.join(ABIS[self.language])}"
            )
        if (self.abi == "launch") != bool(self.launches) or (self.scratch and not self.launches):
            raise ValueError("launches and scratch belong to abi launch, which needs at least one launch")
        if self.track == "custom" and self.language not in ("triton", "cuda"):
            raise ValueError(
                f"track custom is for kernels that are launched, of triton or cuda; {self.language} has none"
            )
        if self.build and self.language in ("python", "triton"):
            raise ValueError(f"build: {self.language} is not compiled, remove the flags")
        return self

    @model_validator(mode="after")
    def _names_are_free(self) -> Self:
        """Check that the names of compiled functions are not taken by the language.

        Names in Python, and the names that an extension of abi torch gives to its functions, are not a compiler's.
        """
        names = {f"launches.{number}.kernel": launch.kernel for number, launch in enumerate(self.launches)}
        if self.abi in (None, "c"):
            names["entry_point"] = self.entry_point.partition("::")[2]
        for place, name in names.items():
            if wrong := objection(name, self.language):
                raise ValueError(f"{place}: {wrong}")
        return self

    @model_validator(mode="after")
    def _is_compiled_by_its_name(self) -> Self:
        name = self.entry_point.partition("::")[0]
        if self.language in ("cpp", "cuda") and not all(map(_NAME_FOR_COMPILERS.fullmatch, PurePosixPath(name).parts)):
            raise ValueError(
                f"entry_point: {name!r:.80} is compiled: use letters, digits and . _ + - in its name; rename it"
            )
        if PurePosixPath(name).suffix not in (known := SUFFIXES[self.language]):
            raise ValueError(
                f"entry_point: {name!r:.80} is no source of {self.language}; its name must end in {' or '.join(known)}"
            )
        return self


def _is_short(name: str) -> bool:
    return len(name) <= MAX_NAME and len(name.encode()) <= _MAX_NAME_BYTES


class Submission(Strict):
    """Frozen source text and how to call it. It never holds a live function."""

    name: str
    file: SubmissionFile
    sources: dict[str, str] = Field(description="relative path -> text")

    @field_validator("sources")
    @classmethod
    def _stay_inside(cls, sources: dict[str, str]) -> dict[str, str]:
        for name in sources:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise ValueError(f"{name!r:.80} does not lie inside the submission's directory")
            if not name.isprintable() or len(path.parts) > MAX_DEPTH or not all(map(_is_short, path.parts)):
                raise ValueError(f"{name!r:.80} is no usable name of a file; rename it")
            if str(path) != name:  # two spellings would be one file
                raise ValueError(f"{name!r:.80} is another spelling of {str(path)!r:.80}; write that")
            if any(str(parent) in sources for parent in path.parents):
                raise ValueError(f"{name!r:.80} lies below another file of the submission")
        return sources

    @property
    def abi(self) -> Abi:
        """Calling convention, with the language's default filled in."""
        return self.file.abi or ("destination" if self.file.language in ("python", "triton") else "c")

    @property
    def entry_file(self) -> str:
        """Path of the file that defines the kernel, relative to the submission."""
        return self.file.entry_point.partition("::")[0]

    @property
    def symbol(self) -> str:
        """Name of the function to call."""
        return self.file.entry_point.partition("::")[2]

    @property
    def digest(self) -> str:
        """Digest (sha256) of the code that is executed, and how; the directory's name and the author do not count."""
        told = {
            "author",
            *(() if self.file.launches else ("launches", "scratch")),
            *(() if self.file.track == "custom" else ("track",)),
        }  # digests of before stay what they were
        content = self.file.model_dump(exclude=told) | {"abi": self.abi, "sources": self.sources}
        text = json.dumps(content, sort_keys=True, default=list)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
