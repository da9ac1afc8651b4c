"""`kbench verify`: from a record that somebody has sent to what the board says of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command_line import kbench
from specimens import make_record

from robust_kbench import store
from robust_kbench.leaderboard import confirmation
from robust_kbench.schema.record import Status
from robust_kbench.signing import digest_of, seal

KERNEL = "import torch\n\ndef rmsnorm(x, weight):\n    return torch.zeros_like(x)\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    header = "task: norm/rmsnorm\nlanguage: python\nabi: value\nentry_point: kernel.py::rmsnorm\ndtypes: [float32]\n"
    folder = tmp_path / "sent" / "zeros"
    folder.mkdir(parents=True)
    (folder / "submission.yaml").write_text(header)
    (folder / "kernel.py").write_text(KERNEL)
    return folder


@pytest.mark.slow
def test_a_record_is_judged_verified_and_shown_as_confirmed(config: Path, kernel: Path, tmp_path: Path) -> None:
    public = kbench("keygen", config=config).stdout.strip()
    path = tmp_path / "store.jsonl"
    kbench("evaluate", kernel, "--device", "cpu", "--tier", "quick", "--store", path, config=config)
    done = kbench("verify", path, "--sources", tmp_path / "sent", config=config)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        f"{path}:1",
        "  verdict   confirmed: incorrect",
        "  speed     not compared: nothing was timed",
        f"  signed    {public}",
    ]
    (record,) = store.read(path)
    (found,) = confirmation.load([path]).found
    assert (found.record, found.by, found.verdict_confirmed) == (record.digest, public, True)
    options: tuple[list[str], ...] = ([], ["--trusted", public])
    for trusted in options:
        board = kbench("leaderboard", path, "--out", tmp_path / "board", "--no-pages", *trusted, config=config)
        assert board.returncode == 0, board.stderr
        (row,) = csv.DictReader((tmp_path / "board" / "leaderboard.csv").open())
        assert row["standing"] == f"signed by {public[:8]}…; confirmed by verify"


@pytest.mark.slow
def test_a_record_that_claims_another_verdict_is_contradicted(config: Path, kernel: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    kbench("evaluate", kernel, "--device", "cpu", "--tier", "quick", "--store", path, config=config)
    (record,) = store.read(path)
    forged = record.model_copy(update={"status": Status.PASSED, "reason": ""})
    path.unlink()
    store.append(path, seal(forged))
    store.append(path, seal(record))
    into = tmp_path / "mine.jsonl"
    done = kbench("verify", path, "--sources", kernel, "--json", "--into", into, config=config)
    assert done.returncode == 1, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["record"], first["verdict_confirmed"], first["again_status"]) == (
        digest_of(forged), False, "incorrect",
    )  # fmt: skip
    assert first["reason"].startswith("was passed, is incorrect: ")
    assert (second["record"], second["verdict_confirmed"]) == (digest_of(record), True)
    assert [each.verdict_confirmed for each in confirmation.read([into]).found].count(True) == 1
    assert not (tmp_path / "confirmations.jsonl").exists()


def test_a_record_that_was_altered_is_not_run(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    store.append(path, seal(make_record()).model_copy(update={"author": "Mallory"}))
    done = kbench("verify", f"{path}:1", config=config)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {path}:1: altered since it was sealed, so that there is nothing to verify\n"


def test_what_cannot_be_verified_is_told_line_by_line(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    store.append(path, make_record(task="norm/rmsnorm", submission_digest="sha256:\x1b[2J"))
    store.append(path, make_record(task="../../../etc", submission_digest="sha256:2"))
    with path.open("ab") as file:
        file.write(b"broken\n{torn")
    done = kbench("verify", path, config=config)
    assert (done.returncode, done.stdout) == (2, "")
    told = done.stderr.splitlines()
    assert [line for line in told if not line.isprintable()] == []
    assert [line.partition(": ")[2].partition(": ")[2][:30] for line in told] == [
        "the last line has no end: its writer was killed, or is still writing"[:30],
        "no submission with the digest sha256"[:30],
        "no submission with the digest sha256"[:30],
        "not a line of JSON",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.jsonl", "none.jsonl: no such file"),
        ("store.jsonl:9", "store.jsonl: no line 9"),
        ("store.jsonl:x", "store.jsonl:x: no such file"),
        ("store.jsonl:", "store.jsonl:: no such file"),
        ("empty.jsonl", "empty.jsonl: no record"),
        (".", "no such file"),
    ],
)
def test_a_wrong_request_is_one_line(name: str, message: str, config: Path, tmp_path: Path) -> None:
    store.append(tmp_path / "store.jsonl", make_record())
    (tmp_path / "empty.jsonl").touch()
    done = kbench("verify", f"{tmp_path}/{name}", config=config)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
