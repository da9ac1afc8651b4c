"""Attacks of each kind, with and without what stops them: the machinery tells success from failure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from conftest import NO_COMPILER

from robust_kbench.redteam import corpus
from robust_kbench.redteam.corpus import Attack, Group, Honest
from robust_kbench.redteam.targets import Targets
from robust_kbench.redteam.trial import Ending, Proving, _timed_once
from robust_kbench.schema.task import shape_of

ATTACKS = [attack for attack in corpus.attacks() if attack.header.device == "cpu"]
HONEST = [specimen for specimen in corpus.honest() if specimen.header.device == "cpu"]
TWINS = {specimen.name: specimen for specimen in HONEST}


@pytest.fixture(scope="module")
def proving() -> Iterator[Proving]:
    with Proving() as shared:
        yield shared


def first(group: str) -> Attack:
    """Some attack that this group alone stops; in Python, which needs no compiler."""
    alone = [a for a in ATTACKS if a.header.stopped_by == (group,) and not a.header.naive]
    return next((attack for attack in alone if attack.path.suffix == ".py"), alone[0])


@pytest.mark.slow
@pytest.mark.parametrize("group", corpus.GROUPS)
def test_an_attack_succeeds_without_the_group_that_stops_it_and_fails_with_it(group: str, proving: Proving) -> None:
    attack = first(group)
    if attack.path.suffix == ".cpp" and NO_COMPILER:
        pytest.skip("no g++ on the PATH; Debian: apt-get install g++")
    armed = proving.arm(attack, TWINS[attack.header.twin])
    assert armed.succeeded, (attack.name, armed)
    defended = proving.attack(attack, TWINS[attack.header.twin])
    assert not defended.succeeded, (attack.name, defended)


@pytest.mark.slow
def test_a_naive_harness_believes_what_ours_does_not(proving: Proving) -> None:
    attack = next(each for each in ATTACKS if each.header.naive and each.path.suffix == ".py")
    twin = TWINS[attack.header.twin]
    assert proving.arm(attack, twin).succeeded
    assert not proving.attack(attack, twin).succeeded


@pytest.mark.parametrize(("aim", "effects", "gains", "tries"), [
    ("time", (), [True] * 7, 7), ("time", (), [True, True, False, True, True, True, True], 7),
    ("time", (), [True, False, True, True, True, True, False], 7), ("time", (), [True, False, False], 3),
    ("time", (), [False], 1), ("time", ("told the secret",), [True], 1), ("wrong", (), [True], 1),
])  # fmt: skip
def test_only_a_gain_in_time_has_to_show_again_each_time_against_a_twin_that_is_measured_anew(
    aim: str, effects: tuple[str, ...], gains: list[bool], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = next(each for each in ATTACKS if each.header.aim == aim)
    twin = TWINS[attack.header.twin]
    stale: list[bool] = []

    def attempt(self: Proving, attack: Attack, twin: Honest, off: tuple[Group, ...]) -> Ending:
        stale.append(twin.name in self._twins)
        self._twins[twin.name] = None
        return Ending(attack, off, "passed", "", effects, succeeded=gains[len(stale) - 1])

    monkeypatch.setattr(Proving, "_attack", attempt)
    with Proving() as proving:
        proving._twins[twin.name] = None
        assert proving.attack(attack, twin).succeeded is gains[-1]
    assert stale == [True] + [False] * (tries - 1)


@pytest.mark.parametrize(("kind", "aim", "successes", "tries"), [
    ("timing", "time", [False] * 4 + [True], 5), ("caching", "time", [False] * 9, 5), ("timing", "time", [True], 1),
    ("timing", "wrong", [False, True], 2), ("answers", "wrong", [False], 1),
])  # fmt: skip
def test_what_noise_or_a_race_can_hide_is_armed_by_one_success_in_five(
    kind: str, aim: str, successes: list[bool], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = next(a for a in ATTACKS if (a.kind, a.header.aim) == (kind, aim) and not a.header.naive)
    tried: list[tuple[Group, ...]] = []

    def attempt(self: Proving, attack: Attack, twin: Honest, off: tuple[Group, ...]) -> Ending:
        tried.append(off)
        return Ending(attack, off, "passed", "", succeeded=successes[len(tried) - 1])

    monkeypatch.setattr(Proving, "attack", attempt)
    with Proving() as proving:
        assert proving.arm(attack, TWINS[attack.header.twin]).succeeded is successes[tries - 1]
    assert tried == [attack.header.stopped_by] * tries


def test_a_gain_that_did_not_show_is_looked_for_against_a_twin_that_is_measured_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attack = next(each for each in ATTACKS if each.header.aim == "time" and not each.header.naive)
    twin = TWINS[attack.header.twin]
    stale: list[bool] = []

    def fail(self: Proving, attack: Attack, twin: Honest, off: tuple[Group, ...]) -> Ending:
        stale.append(twin.name in self._twins)
        self._twins[twin.name] = None
        return Ending(attack, off, "passed", "", succeeded=False)

    monkeypatch.setattr(Proving, "attack", fail)
    with Proving() as proving:
        proving._twins[twin.name] = None
        assert not proving.arm(attack, twin).succeeded
    assert stale == [True] + [False] * 4


def test_targets_show_what_was_done_to_them_and_leave_nothing_behind() -> None:
    from specimens import make_record

    with Targets() as targets:
        assert targets.effects(make_record()) == ()
        (targets.folder / "ledger.jsonl").chmod(0o777)
        (targets.folder / "new").touch()
        told = make_record(reason=f"raised RuntimeError: {targets.secret}")
        assert targets.effects(told) == ("told the secret", "changed the ledger", "left files beside it")
        folder = targets.folder
    assert not folder.exists()


def _listed_shapes(source: str) -> set[tuple[int, ...]]:
    """The shape, or the shapes, that the source calls TIMED."""
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "TIMED":
            listed = ast.literal_eval(statement.value)
            return set(listed) if isinstance(next(iter(listed)), tuple) else {listed}
    return set()


LISTING = [attack for attack in corpus.attacks() if "\nTIMED = " in attack.path.read_text()]


@pytest.mark.parametrize("attack", LISTING, ids=[attack.name for attack in LISTING])
def test_an_attack_on_timed_shapes_knows_the_shape_that_is_timed(attack: Attack) -> None:
    """Or it is an honest kernel, and what stops it is never tried."""
    spec = _timed_once(attack.header.task).spec
    (axes,) = spec.timed["cpu"]
    shapes = {shape_of(tensor, axes) for tensor in spec.inputs.values()}
    assert shapes & _listed_shapes(attack.path.read_text())
