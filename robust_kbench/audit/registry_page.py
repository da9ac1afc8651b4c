"""The registry as Markdown: what each task is and costs, which kernels there are, and what its audit has killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from robust_kbench.audit.examine import Examination
from robust_kbench.baselines import baselines_for
from robust_kbench.catalogue import Suites, suites
from robust_kbench.folders import data_folder
from robust_kbench.registry import LoadedTask, baselines_of, read_submission

_HEADER = (
    "| op | what | dtypes | precision | flops | bytes moved | baselines | kernels | audit: killed |\n"
    "|---|---|---|---|---|---|---|---|---|"
)
_TITLES = {
    "kernelbench_level1": "KernelBench, level 1",
    "robust_kbench": "robust-kbench (original)",
    "evoengineer": "EvoEngineer, by category",
}


def page(examinations: Sequence[Examination], tasks: Mapping[str, LoadedTask]) -> Iterator[str]:
    """The whole of docs/tasks.md, about the tasks that were examined; `tasks`: those, by their names."""
    of_task: dict[str, list[Examination]] = {}
    for examination in examinations:
        of_task.setdefault(examination.trial.task, []).append(examination)
    yield "# Tasks\n"
    yield "Written by `kbench audit --page`; do not edit. `kbench task NAME` shows one task with its whole contract.\n"
    yield (
        "Flops and bytes are what the op is charged for, over its axes; `itemsize` is the dtype's. Baselines are what\n"
        "every kernel is timed against: eager PyTorch as its users write it, the `reference` where that is not it,\n"
        "`torch.compile`, and what else is named.\n"
        "Kernels are those published here, by language. The last column counts wrong variants and non-answers that\n"
        "the audit refuses, summed over the dtypes in which they differ from PyTorch; *not admitted* where it failed.\n"
    )
    yield f"{len(of_task)} tasks."
    for family, names in groupby(sorted(of_task), key=lambda name: name.partition("/")[0]):
        yield f"\n## {family}\n"
        yield _HEADER
        yield from (f"{contract_row(tasks[name])} {_kernels(name)} | {_verdict(of_task[name])} |" for name in names)
    yield from _elsewhere(suites(data_folder("tasks")))


def contract_row(task: LoadedTask) -> str:
    """A task's row as far as its contract goes: kernels come and go, and what is killed only an audit can tell."""
    spec = task.spec
    cells = (
        spec.name.partition("/")[2],
        spec.summary,
        ", ".join(spec.dtypes),
        spec.precision,
        f"`{spec.cost.flops}`",
        f"`{spec.cost.bytes}`",
        ", ".join(each.name for each in baselines_for(task, "full")),
    )
    return f"| {' | '.join(cells)} |"


def _kernels(task: str) -> str:
    languages = Counter(read_submission(folder).file.language for folder in baselines_of(task))
    return ", ".join(f"{language} {count}" for language, count in sorted(languages.items())) or "none"


def _verdict(examinations: Sequence[Examination]) -> str:
    wrong = [tally for each in examinations for tally in each.trial.of("non-answer", "mutant")]
    killed = sum(bool(tally.refused) for tally in wrong)
    refused = [each.trial.dtype for each in examinations if not each.is_admitted]
    return f"{killed}/{len(wrong)}" + (f", *not admitted* in {', '.join(refused)}" if refused else "")


def _elsewhere(known: Suites) -> Iterator[str]:
    yield "\n## Problems of other suites\n"
    yield "Which tasks stand for them. What is a problem of its own there for its shapes alone is a timed binding here."
    for suite, problems in known.items():
        yield f"\n### {_TITLES.get(suite, suite)}\n"
        yield from _problems(problems)


def _problems(problems: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    yield "| problem | tasks |\n|---|---|"
    yield from (f"| {problem} | {', '.join(tasks)} |" for problem, tasks in problems.items())
