"""Several stores to one: nothing twice, nothing lost, nothing rewritten."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from specimens import make_record

from robust_kbench import store
from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.leaderboard import confirmation, merging
from robust_kbench.leaderboard.confirmation import Confirmation
from robust_kbench.leaderboard.merging import merge
from robust_kbench.leaderboard.reading import read_line
from robust_kbench.schema.record import RunRecord
from robust_kbench.signing import PrivateKey, digest_of, seal, standing

ADA, GRACE = PrivateKey(bytes(32)), PrivateKey(bytes(range(32)))


def at(minute: int, **changes: Any) -> RunRecord:
    return make_record(**{"started_at": f"2026-01-02T03:{minute:02}:05Z", "seed": minute, **changes})


def written(path: Path, *records: RunRecord) -> Path:
    for record in records:
        store.append(path, record)
    return path


def seeds(path: Path) -> list[int]:
    return [record.seed for record in store.read(path)]


def test_records_are_united_in_order_of_time(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", at(3), at(1))
    two = written(tmp_path / "two.jsonl", at(2), at(3))
    merged = merge([one, two], tmp_path / "new" / "all.jsonl")
    assert seeds(tmp_path / "new" / "all.jsonl") == [1, 2, 3]
    assert (merged.records, merged.added, merged.duplicates, merged.problems) == (3, 3, 1, [])


def test_merging_again_changes_not_a_byte(tmp_path: Path) -> None:
    one, target = written(tmp_path / "one.jsonl", at(3), seal(at(1), ADA)), tmp_path / "all.jsonl"
    merge([one], target)
    before, inode = target.read_bytes(), target.stat().st_ino
    merged = merge([one, target], target)
    assert (target.read_bytes(), target.stat().st_ino) == (before, inode)
    assert (merged.added, merged.duplicates) == (0, 2)


def test_what_the_store_holds_already_stays(tmp_path: Path) -> None:
    target = written(tmp_path / "all.jsonl", at(2))
    merged = merge([written(tmp_path / "one.jsonl", at(1))], target)
    assert seeds(target) == [1, 2]
    assert (merged.records, merged.added) == (2, 1)


def test_the_order_of_the_stores_does_not_matter(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / "a.jsonl", at(1), seal(at(2), ADA), at(3)),
        written(tmp_path / "b.jsonl", seal(at(1)), at(2), seal(at(3)).model_copy(update={"author": "altered"})),
        written(tmp_path / "c.jsonl", seal(at(2), GRACE), seal(at(3), ADA), at(1, author="another")),
    ]
    for number, order in enumerate(itertools.permutations(paths)):
        merge(order, tmp_path / f"{number}.merged")
    (content,) = {(tmp_path / f"{number}.merged").read_bytes() for number in range(6)}
    assert len(content.splitlines()) == 6


def test_what_the_store_holds_comes_before_new_lines_of_the_same_moment(tmp_path: Path) -> None:
    lines = sorted((at(1, author=str(number)) for number in range(8)), key=digest_of)
    target = written(tmp_path / "all.jsonl", lines[4], lines[6])
    merge([written(tmp_path / "new.jsonl", *lines[:4])], target)
    assert [record.author for record in store.read(target)] == [lines[each].author for each in (4, 6, 0, 1, 2, 3)]
    before = target.read_bytes()
    merge([tmp_path / "new.jsonl"], target)
    assert target.read_bytes() == before


def standings(path: Path) -> list[tuple[bool | None, str | None]]:
    return [standing(record) for record in store.read(path)]


_SEALED, _PLAIN = seal(at(1)), at(1)
_LYING = _PLAIN.model_copy(update={"digest": f"sha256:{'0' * 64}"})


@pytest.mark.parametrize(
    ("copies", "kept"),
    [
        ([_PLAIN, _PLAIN], [(None, None)]),
        ([_LYING, _PLAIN], [(None, None)]),
        ([_LYING, _PLAIN, _SEALED], [(True, None)]),
        ([_SEALED, seal(at(1), ADA), _PLAIN, _LYING], [(True, ADA.public)]),
        ([_LYING], [(False, None)]),
    ],
    ids=["plain", "one that lies", "sealed", "signed", "nothing but one that lies"],
)
def test_of_equal_records_the_one_that_is_vouched_for_best_is_kept(
    copies: Sequence[RunRecord], kept: list[tuple[bool | None, str | None]], tmp_path: Path
) -> None:
    for number, order in enumerate((copies, copies[::-1])):
        stores = [written(tmp_path / f"{number}-{place}.jsonl", each) for place, each in enumerate(order)]
        merge(stores, tmp_path / f"{number}.merged")
        assert standings(tmp_path / f"{number}.merged") == kept


def test_every_signature_of_a_record_is_kept(tmp_path: Path) -> None:
    stores = [written(tmp_path / f"{key.public[:4]}.jsonl", seal(at(1), key)) for key in (ADA, GRACE)]
    merge([*stores, written(tmp_path / "plain.jsonl", at(1))], tmp_path / "all.merged")
    assert sorted(standings(tmp_path / "all.merged")) == sorted([(True, ADA.public), (True, GRACE.public)])


def test_nobody_keeps_a_record_out_by_putting_its_digest_on_another(tmp_path: Path) -> None:
    honest = seal(at(1), ADA)
    forged = at(1, author="Mallory").model_copy(update={"digest": honest.digest, "signature": honest.signature})
    merge([written(tmp_path / "forged.jsonl", forged), written(tmp_path / "honest.jsonl", honest)], tmp_path / "all")
    assert sorted(standings(tmp_path / "all"), key=str) == [(False, None), (True, ADA.public)]


def test_no_line_is_rewritten(tmp_path: Path) -> None:
    line = store.to_line(seal(at(1), ADA)).replace(b'{"abi"', b'{ "abi"')
    (tmp_path / "odd.jsonl").write_bytes(line)
    merge([tmp_path / "odd.jsonl"], tmp_path / "all.jsonl")
    assert (tmp_path / "all.jsonl").read_bytes() == line


def test_what_cannot_be_read_is_told_and_left_out(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", at(1))
    with one.open("ab") as file:
        file.write(b"broken\n" + b"x" * 300_000 + b"\n" + store.to_line(at(2)) + b"{torn")
    merged = merge([one], tmp_path / "all.jsonl")
    assert seeds(tmp_path / "all.jsonl") == [1, 2]
    assert [problem.where.rpartition(":")[2] for problem in merged.problems] == ["2", "3", "5"]


def test_a_torn_tail_of_the_store_is_cut_off(tmp_path: Path) -> None:
    target = written(tmp_path / "all.jsonl", at(1))
    whole = target.read_bytes()
    target.write_bytes(whole + b"{torn")
    merge([written(tmp_path / "one.jsonl", at(1))], target)
    assert target.read_bytes() == whole


@pytest.mark.parametrize("line", [b'{"schema_version": 9}\n', b"x" * 300_000 + b"\n", b"\n"], ids=["new", "long", "no"])
def test_a_store_with_lines_that_this_kbench_cannot_read_is_left_alone(line: bytes, tmp_path: Path) -> None:
    target = written(tmp_path / "all.jsonl", at(2))
    target.write_bytes(line + target.read_bytes())
    before = target.read_bytes()
    with pytest.raises(SpecError, match="all.jsonl:1: .*; repair it, or merge into another file"):
        merge([written(tmp_path / "one.jsonl", at(1))], target)
    assert target.read_bytes() == before


def test_a_link_to_the_store_stays_one(tmp_path: Path) -> None:
    target = written(tmp_path / "all.jsonl", at(2))
    os.symlink(target, tmp_path / "link.jsonl")
    merge([written(tmp_path / "one.jsonl", at(1)), target], tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert seeds(target) == [1, 2]


def test_a_store_that_changes_meanwhile_spoils_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, one = written(tmp_path / "all.jsonl", at(2)), written(tmp_path / "one.jsonl", at(1))
    before = target.read_bytes()
    monkeypatch.setattr(merging, "read_line", lambda place: read_line(place).replace(b"norm", b"NORM"))
    with pytest.raises(HarnessError, match="was changed while it was read; merge again"):
        merge([one], target)
    assert target.read_bytes() == before


def confirmed(record: RunRecord, **changes: Any) -> Confirmation:
    fields: dict[str, Any] = {
        "record": digest_of(record),
        "original_status": "passed",
        "again_status": "passed",
        "verdict_confirmed": True,
        "speed_confirmed": None,
        "kbench": "0.1.0",
        "device": "cpu",
        "at": "2026-01-03T00:00:00Z",
    }
    return Confirmation(**{**fields, **changes})


def test_confirmations_come_along_once(tmp_path: Path) -> None:
    stores = []
    for name, reasons in (("a", ("first", "second")), ("b", ("second", "third"))):
        stores.append(written(tmp_path / name / "one.jsonl", at(1)))
        for reason in reasons:
            confirmation.append(tmp_path / name / "confirmations.jsonl", confirmed(at(1), reason=reason))
    for _ in range(2):
        merged = merge(stores, tmp_path / "all" / "all.jsonl")
        found = confirmation.load([tmp_path / "all" / "all.jsonl"])
        assert sorted(each.reason for each in found.found) == ["first", "second", "third"]
        assert (merged.confirmations, found.problems) == (3, [])
    assert len((tmp_path / "all" / "confirmations.jsonl").read_bytes().splitlines()) == 3
