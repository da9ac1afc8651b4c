"""`kbench verify`: run records again, and say whether verdict and speed are confirmed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robust_kbench.cli.places import check_file

if TYPE_CHECKING:
    from robust_kbench.evaluate import Evaluator
    from robust_kbench.leaderboard.confirmation import Confirmation
    from robust_kbench.leaderboard.reading import Place, Problem
    from robust_kbench.schema.record import RunRecord
    from robust_kbench.schema.submission import Submission
    from robust_kbench.signing import PrivateKey


class _Evaluators(ExitStack):
    """Evaluators, one for each kind of device that a record is from; each stays warm for the next record."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[str, Evaluator] = {}

    def on(self, device: str) -> Evaluator:
        """Return the evaluator on this device. Raises UsageError where there is no such device."""
        from robust_kbench.evaluate import Evaluator

        if device not in self._open:
            self._open[device] = self.enter_context(Evaluator(device))
        return self._open[device]


def verify(
    record: Annotated[str, typer.Argument(metavar="STORE[:LINE]", help="All records of a store, or that of a line.")],
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Where the submissions are; they are found by digest. Default: our baselines."
        ),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Default: confirmations.jsonl beside the store.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one confirmation per line and nothing else.")] = False,
) -> None:
    """Run records again from their seed, and write down whether that confirms them.

    Exit code: 0 all are confirmed, 1 some are contradicted or altered, 2 a wrong request or file, 3 our own failure.
    """
    from robust_kbench import signing
    from robust_kbench.leaderboard import confirmation

    path, number = _parts(record)
    kept = into or confirmation.beside(path)
    check_file(kept, "--into")
    key = signing.host_key()
    chosen, problems = _chosen(path, number)
    for problem in problems:
        _complain(f"{problem.where}: {problem.what}")
    code = 2 if problems else 0
    with _Evaluators() as evaluators:
        for place, line in chosen:
            worst, found = _verified(place, line, sources or [], key, evaluators)
            code = max(code, worst)
            if found is not None:
                confirmation.append(kept, found)
                _print(place, found, as_json=as_json)
    sys.exit(code)


def _parts(text: str) -> tuple[Path, int | None]:
    """Split STORE[:LINE] into the path and the number of the line. Raises UsageError for a missing file."""
    from robust_kbench.errors import UsageError

    name, _, number = text.rpartition(":")
    if not Path(text).exists() and name and number.isascii() and number.isdigit() and len(number) < 10:
        path, wanted = Path(name), int(number)
    else:
        path, wanted = Path(text), None
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    return path, wanted


def _chosen(path: Path, number: int | None) -> tuple[list[tuple[Place, bytes]], list[Problem]]:
    """Return the lines to verify, and the problems of lines without a record. Raises UsageError.

    With `number`, only this line and its problems are returned.
    """
    from robust_kbench.errors import UsageError
    from robust_kbench.leaderboard.reading import lines
    from robust_kbench.schema.documents import shown

    problems: list[Problem] = []
    chosen = [(place, line) for place, line in lines([path], problems) if number in (None, place.number)]
    told = [each for each in problems if number is None or each.where == shown(f"{path}:{number}")]
    if not chosen and not told:
        raise UsageError(f"{path}: no record" if number is None else f"{path}: no line {number}")
    return chosen, told


def _verified(
    place: Place, line: bytes, sources: Sequence[Path], key: PrivateKey | None, evaluators: _Evaluators
) -> tuple[int, Confirmation | None]:
    """Return the exit code of one record, and its confirmation.

    A wrong record is reported, and costs the others nothing.
    """
    from robust_kbench.errors import HarnessError, SpecError, UsageError
    from robust_kbench.leaderboard.reading import parse_line
    from robust_kbench.signing import standing

    try:
        record = parse_line(line, place.where)
        if standing(record, line).intact is False:
            _complain(f"{place.where}: altered since it was sealed, so that there is nothing to verify")
            return 1, None
        found = _run_again(record, place.where, sources, key, evaluators)
    except (SpecError, UsageError) as error:
        _complain(str(error) if str(error).startswith(place.where) else f"{place.where}: {error}")
        return 2, None
    except HarnessError as error:
        _complain(f"{place.where}: {error}")
        return 3, None
    return int(not found.is_confirmed), found


def _complain(text: str) -> None:
    from robust_kbench.schema.documents import shown

    typer.echo(shown(f"error: {text}"), err=True)


def _run_again(
    record: RunRecord, where: str, sources: Sequence[Path], key: PrivateKey | None, evaluators: _Evaluators
) -> Confirmation:
    from robust_kbench.cli.bars import bar
    from robust_kbench.leaderboard import confirmation
    from robust_kbench.schema.documents import shown

    submission = _submission(record, sources)
    evaluator = evaluators.on(record.device)
    with bar(shown(where)) as progress:
        return confirmation.verify(record, submission, evaluator, key, progress)


def _submission(record: RunRecord, sources: Sequence[Path]) -> Submission:
    """Return the submission that was judged, wherever it lies and whatever it is called there. Raises UsageError."""
    from robust_kbench.errors import UsageError
    from robust_kbench.folders import data_folder
    from robust_kbench.leaderboard.site.sources import find
    from robust_kbench.registry import read_submission, task_names

    ours = [data_folder("baselines") / record.task] if record.task in task_names() else []  # else it may be any path
    folder = find([*sources, *ours]).get(record.submission_digest)
    if folder is None:
        where = "below --sources" if sources else "among our baselines; name a folder with --sources"
        raise UsageError(f"no submission with the digest {record.submission_digest} {where}")
    return read_submission(folder)


def _print(place: Place, found: Confirmation, *, as_json: bool) -> None:
    from robust_kbench.schema.documents import shown

    if as_json:
        import json

        typer.echo(json.dumps(found.model_dump(mode="json")))  # in ASCII: names may steer a terminal
        return
    typer.echo(shown(place.where))
    for line in _lines(found):
        typer.echo(shown(f"  {line}"))


def _lines(found: Confirmation) -> Iterator[str]:
    verdict = f"confirmed: {found.again_status}" if found.verdict_confirmed else f"NOT CONFIRMED: {found.reason}"
    yield f"verdict   {verdict}"
    for dtype in sorted({*found.original, *found.again}):
        then, now = found.original.get(dtype, "not timed"), found.again.get(dtype, "not timed")
        yield f"speed     {dtype}: {then} then, {now} now"
    if found.verdict_confirmed:
        word = {True: "confirmed", False: "NOT CONFIRMED", None: "not compared"}[found.speed_confirmed]
        yield f"speed     {word}{f': {found.reason}' if found.reason else ''}"
    if found.by:
        yield f"signed    {found.by}"
