"""`kbench leaderboard` and `kbench leaderboard merge` as a user meets them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from command_line import kbench
from specimens import make_record

from robust_kbench import store
from robust_kbench.signing import PrivateKey, seal

ADA = PrivateKey(bytes(32))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two runs each of a submission that Ada signs, and of one that nobody does."""
    for minute in (1, 2):
        at = f"2026-01-02T03:0{minute}:05Z"
        signed = make_record(submission="signed", submission_digest="sha256:1", started_at=at)
        store.append(tmp_path / "store.jsonl", seal(signed, ADA))
        plain = make_record(submission="plain", submission_digest="sha256:2", started_at=at)
        store.append(tmp_path / "store.jsonl", plain)
    return tmp_path / "store.jsonl"


def ranks(folder: Path) -> dict[str, str]:
    return {row["submission"]: row["rank"] for row in csv.DictReader((folder / "leaderboard.csv").open())}


def test_tables_and_pages_are_written_and_told(path: Path, config: Path, tmp_path: Path) -> None:
    done = kbench("leaderboard", path, "--out", tmp_path / "board", config=config)
    assert (done.returncode, done.stderr) == (0, "")
    *tables, pages = done.stdout.splitlines()
    assert f"wrote {tmp_path / 'board' / 'leaderboard.csv'}" in tables
    assert pages.startswith(f"wrote {tmp_path / 'board' / 'index.html'} and ")
    assert (tmp_path / "board" / "index.html").is_file()
    assert ranks(tmp_path / "board") == {"signed": "1", "plain": "1"}


def test_pages_can_be_left_out(path: Path, config: Path, tmp_path: Path) -> None:
    done = kbench("leaderboard", "--no-pages", "--jobs", "1", "-o", tmp_path / "board", path, config=config)
    assert done.returncode == 0
    assert not (tmp_path / "board" / "index.html").exists()
    assert (tmp_path / "board" / "README.md").is_file()


def test_where_keys_are_trusted_only_what_they_signed_is_ranked(path: Path, config: Path, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text(f"{ADA.public}  # Ada\n")
    for key in (ADA.public, str(tmp_path / "keys.txt")):
        done = kbench("leaderboard", path, "-o", tmp_path / key[:8], "--no-pages", "--trusted", key, config=config)
        assert done.returncode == 0, done.stderr
        assert ranks(tmp_path / key[:8]) == {"signed": "1", "plain": ""}


def test_what_cannot_be_read_is_told_ten_times_at_most_and_costs_nothing(
    path: Path, config: Path, tmp_path: Path
) -> None:
    with path.open("ab") as file:
        file.write(b"\x1b]0;mine\x07\n" * 14)
    done = kbench("leaderboard", path, "-o", tmp_path / "board", "--no-pages", config=config)
    assert done.returncode == 0
    told = done.stderr.splitlines()
    assert told == [*(f"left out: {path}:{number}: not a line of JSON" for number in range(5, 15)), "left out: 4 more"]
    assert ranks(tmp_path / "board") == {"signed": "1", "plain": "1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such/store.jsonl"], "no/such/store.jsonl: No such file or directory"),
        (["empty"], "empty: no store (*.jsonl) found"),
        (["store.jsonl", "--trusted", "Ada"], "Ada: neither a public key of 64 hex digits nor a file of such"),
        (["store.jsonl", "--trusted", "nobody"], "nobody: every line is a public key"),
        (["store.jsonl", "--sources", "none"], "none: No such file or directory"),
        (["store.jsonl", "--agents", "none"], "none: No such file or directory"),
        (["store.jsonl", "--redteam", "none"], "none: No such file or directory"),
        (["merge", "none.jsonl", "--into", "all.jsonl"], "none.jsonl: No such file or directory"),
    ],
    ids=["file", "folder", "no key", "no keys", "sources", "agents", "redteam", "merge"],
)
def test_a_wrong_request_is_one_line_and_writes_nothing(
    arguments: list[str], message: str, path: Path, config: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nobody").write_text("# nobody\n")
    before = sorted(tmp_path.iterdir())
    done = kbench("leaderboard", *arguments, config=config, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_merging_tells_what_came_of_it_and_again_nothing(path: Path, config: Path, tmp_path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"broken\n")
    done = kbench("leaderboard", "merge", path, "--into", tmp_path / "all.jsonl", config=config)
    assert done.returncode == 0
    assert done.stdout == f"{tmp_path / 'all.jsonl'}: records 4, new 4, duplicates left out 0; confirmations 0\n"
    assert done.stderr == f"left out: {path}:5: not a line of JSON\n"
    again = kbench(
        "leaderboard", "merge", path, tmp_path / "all.jsonl", "--into", tmp_path / "all.jsonl", config=config
    )
    assert "records 4, new 0, duplicates left out 4" in again.stdout


@pytest.mark.parametrize(("verb", "usual"), [("leaderboard", "--out"), ("evolve", "--llm")])
def test_the_help_of_a_verb_with_further_ones_shows_the_options_of_the_usual_one(
    verb: str, usual: str, config: Path
) -> None:
    done = kbench(verb, "--help", config=config)
    assert done.returncode == 0
    assert usual in done.stdout
    assert {"leaderboard": "merge", "evolve": "show"}[verb] in done.stdout
