"""Plugin that collects `task.yaml` files: `pytest tasks/` validates every task and every published kernel.

    tasks/norm/rmsnorm/task.yaml::spec                   the file, the reference's signature, the timed bindings
    tasks/norm/rmsnorm/task.yaml::reference[bfloat16]    the audit: honest variants pass, wrong ones fail
    tasks/norm/rmsnorm/task.yaml::kernel[cpp_simd]       an evaluation at tier quick

Kernels that are timed on this machine have the marker `timed`. The items that `-m "not timed"` leaves can run side by
side, where each process of pytest-xdist keeps to cores of its own.
`--submission DIR` adds a submission of your own to its task. `--lane quick` keeps one reference of every task, in a
dtype that rotates from day to day, and judges emulated kernels without the checker. `--lane fast` keeps every spec and
an eighth of the rest, which rotates, too. Of the kernels there the checker looks only at those that have changed. Both
lanes keep everything that the last commit or the working tree has changed.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from robust_kbench import machine_shares
from robust_kbench.errors import KBenchError

if TYPE_CHECKING:
    from robust_kbench.evaluate import Evaluator
    from robust_kbench.schema.task import DeviceKind, FloatDType

_SHARES = 8
_EVALUATOR = pytest.StashKey["Evaluator"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--submission` and `--lane`."""
    group = parser.getgroup("robust-kbench")
    group.addoption("--submission", action="append", default=[], metavar="DIR", help="also judge this submission")
    lanes = "quick: each reference in one dtype, kernels at tier quick; fast: a sample of references and kernels"
    group.addoption("--lane", choices=("fast", "quick", "full"), default="full", help=lanes)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `timed` with its meaning."""
    config.addinivalue_line("markers", "timed: measures a kernel, and must be alone on the machine")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect every task.yaml below the given paths."""
    return TaskFile.from_parent(parent, path=file_path) if file_path.name == "task.yaml" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the items that the lane does not run today."""
    lane = config.getoption("--lane")
    if lane != "full":
        deal_out([item for item in items if isinstance(item, _TaskItem)])
        changed = changed_paths(config.rootpath)
        kept = [item for item in items if not isinstance(item, _TaskItem) or item.is_kept(lane, changed)]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep to a part of the cores beside other processes of pytest-xdist, where nothing is timed."""
    told = getattr(session.config, "workerinput", None)
    if told and all(isinstance(item, _TaskItem) and not item.get_closest_marker("timed") for item in session.items):
        shares = machine_shares.of_cores(sorted(os.sched_getaffinity(0)), told["workercount"])
        number = int(told["workerid"].removeprefix("gw"))  # one that replaces another has a number of its own
        os.sched_setaffinity(0, shares[number % len(shares)].cores)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes of the evaluator, if there is one."""
    if evaluator := config.stash.get(_EVALUATOR, None):
        evaluator.close()


class TaskFile(pytest.File):
    """File of one task, a task.yaml with its items."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the task's spec, its references, its published kernels and the submissions of the command line."""
        from robust_kbench.registry import baselines_of, read_task

        yield SpecItem.from_parent(self, name="spec", watched=self.path.parent)
        try:
            task = read_task(self.path.parent)
        except KBenchError:
            return  # the spec item says why
        for dtype in task.spec.dtypes:
            item = ReferenceItem.from_parent(self, name=f"reference[{dtype}]", watched=self.path.parent)
            item.dtype, item.dtypes = dtype, task.spec.dtypes
            yield item
        for folder in baselines_of(task.spec.name):
            yield KernelItem.of(self, folder, is_published=True)
        for folder in _given_for(task.spec.name, self.config.getoption("--submission")):
            yield KernelItem.of(self, folder, is_published=False)


class _TaskItem(pytest.Item):
    """Item of a task. A change in the folder `watched` puts it into every lane; if that is None, it always is."""

    def __init__(self, *, watched: Path | None, **keys: Any) -> None:
        super().__init__(**keys)
        self.watched = watched
        self.has_changed = True
        self.share = 0

    def is_kept(self, lane: str, changed: frozenset[Path]) -> bool:
        """Tell if the lane runs this item today."""
        self.has_changed = self.watched is None or any(path.is_relative_to(self.watched) for path in changed)
        return self.has_changed or self.is_due(lane, datetime.datetime.now(datetime.UTC).toordinal())

    def is_due(self, lane: str, day: int) -> bool:
        """Tell if the lane runs this item on that day, although nothing of it has changed."""
        return lane == "quick" or self.share == day % _SHARES

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message alone for our own errors, without a traceback through this plugin."""
        if isinstance(excinfo.value, _Refused):
            return str(excinfo.value)
        if isinstance(excinfo.value, KBenchError):
            from robust_kbench.schema.documents import shown

            return shown(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the place of the item for reports."""
        return self.path, None, f"{self.path.parent.name}::{self.name}"


def deal_out(items: Iterable[_TaskItem]) -> None:
    """Give every item its share, so that no day has more timed kernels, others or references than another."""
    dealt = Counter[tuple[type, bool]]()
    for item in sorted(items, key=lambda item: _number_of(item.nodeid)):  # shuffled: a family is not all due on one day
        kind = type(item), item.get_closest_marker("timed") is not None
        item.share = dealt[kind] % _SHARES
        dealt[kind] += 1


class SpecItem(_TaskItem):
    """Item that checks the contract alone."""

    def is_due(self, lane: str, day: int) -> bool:
        """Return True: a spec takes milliseconds, and so it is always due."""
        return True

    def runtest(self) -> None:
        """Check the file and the reference's signature.

        Raises SpecError for a wrong file, and _Refused for a signature that does not take the task's inputs.
        """
        import inspect

        from robust_kbench.oracle.reference import Reference
        from robust_kbench.registry import read_task

        task = read_task(self.path.parent)
        names = list(inspect.signature(Reference(task).function).parameters)
        if names != list(task.spec.inputs):
            raise _Refused(f"reference({', '.join(names)}) does not take the inputs {', '.join(task.spec.inputs)}")


class ReferenceItem(_TaskItem):
    """Item that audits the task in one dtype."""

    dtype: FloatDType
    dtypes: tuple[FloatDType, ...]

    def is_due(self, lane: str, day: int) -> bool:
        """Tell if the item is due. Lane quick takes one dtype of each task, which rotates from day to day."""
        if lane != "quick":
            return super().is_due(lane, day)
        return self.dtypes.index(self.dtype) == (_number_of(str(self.watched)) + day) % len(self.dtypes)

    def runtest(self) -> None:
        """Check the reference against its own contract, and the suite for telling right from wrong."""
        import torch

        from robust_kbench.audit.examine import examine
        from robust_kbench.registry import read_task

        torch.set_num_threads(1)  # two threads on a busy machine wait for each other
        if faults := examine(read_task(self.path.parent), self.dtype, in_full=False).faults:
            raise _Refused("\n".join(faults))


class KernelItem(_TaskItem):
    """Item that evaluates one submission."""

    folder: Path

    @classmethod
    def of(cls, parent: TaskFile, folder: Path, *, is_published: bool) -> KernelItem:
        """Make the item of a published kernel, or of a submission given on the command line, which always runs."""
        watched = folder if is_published else None
        item: KernelItem = cls.from_parent(parent, name=f"kernel[{folder.name}]", watched=watched)
        item.folder = folder
        if _is_timed_here(folder):
            item.add_marker(pytest.mark.timed)
        return item

    def runtest(self) -> None:
        """Evaluate at tier quick, or at tier full where that brings the emulator's checker and no timing.

        A submission that this machine cannot run is skipped with the reason.
        """
        from robust_kbench.cli.report import report
        from robust_kbench.registry import read_submission, read_task
        from robust_kbench.schema.documents import shown

        task, submission = read_task(self.path.parent), read_submission(self.folder)
        evaluator = _evaluator(self.config)
        is_emulated = submission.file.language == "cuda" and evaluator.device.kind == "cpu"
        is_checked = is_emulated and needs_checker(self.config.getoption("--lane"), has_changed=self.has_changed)
        record = evaluator.evaluate(submission, task, tier="full" if is_checked else "quick")
        if record.status == "unsupported":
            pytest.skip(shown(record.reason))
        if record.status != "passed":
            raise _Refused(report(record, str(self.folder)))


def needs_checker(lane: str, *, has_changed: bool) -> bool:
    """Tell if the lane has the emulator look for races and wrong accesses, which takes up to a minute for a kernel."""
    return lane == "full" or (lane == "fast" and has_changed)


def _number_of(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


class _Refused(Exception):
    """Refusal of a task or a kernel that is not as it claims to be; the message is the whole report."""


def _given_for(task: str, given: Iterable[str]) -> Iterator[Path]:
    from robust_kbench.registry import read_submission, submission_folders

    for path in given:
        folders = submission_folders(Path(path))
        if not folders:
            raise pytest.UsageError(f"--submission {path}: no submission.yaml there or below")
        yield from (folder.resolve() for folder in folders if read_submission(folder).file.task == task)


@cache
def _device() -> DeviceKind:
    from robust_kbench.devices import open_device

    return open_device("auto").kind


def _is_timed_here(folder: Path) -> bool:
    """Tell if a kernel is timed on this machine. Times of interpreted and emulated kernels say nothing about speed."""
    from robust_kbench.registry import read_submission

    try:
        language = read_submission(folder).file.language
    except KBenchError:
        return False  # running the item says why
    return language in ("python", "cpp") or _device() == "cuda"


def _evaluator(config: pytest.Config) -> Evaluator:
    from robust_kbench.evaluate import Evaluator

    if _EVALUATOR not in config.stash:
        config.stash[_EVALUATOR] = Evaluator()
    return config.stash[_EVALUATOR]


def changed_paths(root: Path) -> frozenset[Path]:
    """Return the files that the last commit or the working tree has changed; none outside a git checkout."""
    commands = (
        ["diff", "--name-only", "HEAD~1"],
        ["diff", "--name-only", "HEAD"],
        ["ls-files", "-o", "--exclude-standard"],
    )
    return frozenset(root / name for command in commands for name in _git(root, command))


def _git(root: Path, command: list[str]) -> Iterable[str]:
    try:
        done = subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
