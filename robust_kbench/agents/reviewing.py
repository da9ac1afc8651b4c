"""Review by a language model, which looks for redundant or inefficient work in references and baselines.

The sixth filter of robust-kbench (arXiv 2509.14279) does the same; there, the model's word speaks against a task. Here
it is advice: no verdict, rank or exit code depends on it. A reply is hostile text like any other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Literal

from robust_kbench.agents import prompts
from robust_kbench.agents.context import fenced, quoted
from robust_kbench.agents.loop import MAX_TOKENS
from robust_kbench.agents.providers.protocol import Message, Provider, ProviderError, Request
from robust_kbench.registry import LoadedTask, baselines_of, read_submission
from robust_kbench.schema.documents import shown
from robust_kbench.schema.task import Axis, Task

Opinion = Literal["efficient", "inefficient", "unsure", "no answer"]
OPINIONS: tuple[Opinion, ...] = ("efficient", "inefficient", "unsure", "no answer")
_MAX_REPLY, _MAX_REASONS, _MAX_NAME, _MAX_FAILURE = 200_000, 1500, 100, 300  # characters, of which the last are kept
_MARKS = " \t>*#`_-"
# The bounds keep a reply of nothing but punctuation from taking long.
_FINAL = re.compile(r"FINAL REVIEW[\W_]{0,20}(efficient|inefficient|unsure)(?![a-z])(.*)", re.I)
_SEVERAL = re.compile(r"[\W_]{0,20}(?:or\b)?[\W_]{0,20}(?:final review|efficient|inefficient|unsure)", re.I)
_ANSWERS = {"efficient": True, "inefficient": False, "unsure": None}
_ENDS_CODE = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})


@dataclass(frozen=True)
class Subject:
    """Subject of a review: a function of the reference's file or, with `sources` (file -> text), a published kernel."""

    name: str
    entry: str
    language: str = "python"
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Review:
    """Review of a subject by a model. Without an answer, `failure` gives the reason."""

    task: str
    subject: str
    is_efficient: bool | None
    reasons: str
    model: str
    failure: str = ""

    @property
    def opinion(self) -> Opinion:
        """Opinion of the model in a word; a reply without a known word is unsure."""
        if self.failure:
            return "no answer"
        if self.is_efficient is None:
            return "unsure"
        return "efficient" if self.is_efficient else "inefficient"


def subjects(task: LoadedTask) -> list[Subject]:
    """List the reference, the baselines beside it that the task names, and the published kernels. Raises SpecError."""
    named = [Subject(f"baseline {name}", entry.partition("::")[2]) for name, entry in task.spec.baselines.items()]
    kernels = [read_submission(folder) for folder in baselines_of(task.spec.name)]
    published = [Subject(f"kernel {each.name}", each.symbol, each.file.language, each.sources) for each in kernels]
    return [Subject("reference", "reference"), *named, *published]


def review_all(asked: Iterable[tuple[LoadedTask, Subject]], ask: Provider, model: str) -> Iterator[Review]:
    """Yield a review of each subject, in order. A failure is reported in its place.

    A provider that has failed for good is not asked again.
    """
    ended: ProviderError | None = None
    for task, subject in asked:
        try:
            if ended is not None:
                raise ended
            found = review(task, subject, ask, model)
        except ProviderError as error:
            ended = error if error.is_final else ended
            failure = quoted(str(error), _MAX_FAILURE) or "the provider has failed"
            found = Review(task.spec.name, subject.name, None, "", model, failure)
        yield found


def review(task: LoadedTask, subject: Subject, ask: Provider, model: str) -> Review:
    """Ask one question about the subject, and return the review. Raises ProviderError."""
    messages = (Message("user", prompt(task, subject)),)
    reply = ask.complete(Request("review", model, messages, temperature=0.0, max_tokens=MAX_TOKENS, seed=0))
    text, answered_by = reply.text[-_MAX_REPLY:], quoted(reply.model, _MAX_NAME)
    return Review(task.spec.name, subject.name, is_efficient(text), _reasons(text), answered_by)


def prompt(task: LoadedTask, subject: Subject) -> str:
    """Return the question: the public contract, the reference and the subject. No seed of any case is in it."""
    text = Template(prompts.template("review")).safe_substitute(
        subject=_called(subject),
        task=_contract(task.spec),
        reference=fenced(task.reference, "python"),
        code=_code(subject),
    )
    return text.strip() + "\n"


def _called(subject: Subject) -> str:
    if subject.sources:
        return f"the {subject.language} kernel whose entry point is {subject.entry}"
    return f"the function {subject.entry} of the reference's file"


def _contract(spec: Task) -> str:
    bindings = dict.fromkeys(tuple(axes.items()) for shapes in spec.timed.values() for axes in shapes)
    timed = "; ".join(", ".join(f"{name} {size}" for name, size in binding) for binding in bindings)
    return "\n".join(
        [
            f"{spec.name}: {spec.summary}",
            f"Axes: {', '.join(f'{name} {_sizes(axis)}' for name, axis in spec.axes.items())}.",
            f"Dtypes: {', '.join(spec.dtypes)}. Precision: {spec.precision}.",
            f"Timed at: {timed}.",
            f"No implementation needs less than about {spec.cost.flops} operations, and {spec.cost.bytes} bytes.",
        ]
    )


def _sizes(axis: Axis) -> str:
    return f"{axis.low} to {axis.high}" if axis.values is None else f"one of {', '.join(map(str, axis.values))}"


def _code(subject: Subject) -> str:
    if not subject.sources:
        return f"The function {subject.entry}, which stands above."
    fence = "python" if subject.language == "triton" else subject.language
    return "\n\n".join(f"{shown(name)}\n{fenced(text, fence)}" for name, text in sorted(subject.sources.items()))


def is_efficient(text: str) -> bool | None:
    """Return the reviewer's last answer; None if it is unsure or several answers, or if there is none."""
    for line in reversed(text.splitlines()):
        if match := _FINAL.match(line.strip(_MARKS)):
            return None if _SEVERAL.match(match[2]) else _ANSWERS[match[1].lower()]
    return None


def _reasons(text: str) -> str:
    """Return the end of a reply without its final answers, as far as a report has room for it."""
    return quoted("\n".join(line for line in text.splitlines() if not _FINAL.match(line.strip(_MARKS))), _MAX_REASONS)


def line(found: Review) -> str:
    """Format a review as one line of a terminal, whatever the model wrote."""
    said = shown(found.failure or found.reasons)
    return f"advice    {found.task} {found.subject}: {found.opinion}" + (f"; {said}" if said else "")


def summary(reviews: Sequence[Review]) -> Iterator[str]:
    """Yield one line with the models that were asked, and the number of times of each opinion."""
    yield f"advice of {_models(reviews)}, which decides nothing: {_counts(reviews)}"


def section(reviews: Sequence[Review]) -> Iterator[str]:
    """Yield the reviews as a section of a Markdown page. A model's words stand there as code, free of markup."""
    yield "\n## What a language model says\n"
    yield (
        f"{_as_code(_models(reviews))} was asked which references and baselines do redundant or inefficient work:\n"
        f"{_counts(reviews)}. This is advice, and decides nothing.\n"
    )
    yield "| task | subject | opinion | reasons |\n|---|---|---|---|"
    for each in reviews:
        said = _as_code(each.failure or each.reasons)
        yield f"| {_as_code(each.task)} | {_as_code(each.subject)} | {each.opinion} | {said} |"


def _models(reviews: Sequence[Review]) -> str:
    return shown(", ".join(sorted({each.model for each in reviews})))


def _counts(reviews: Sequence[Review]) -> str:
    counts = Counter(each.opinion for each in reviews)
    return ", ".join(f"{counts[opinion]} {opinion}" for opinion in OPINIONS)


def _as_code(text: str) -> str:
    code = shown(text).translate(_ENDS_CODE).strip()
    return f"`{code}`" if code else ""
