"""The corpus is as claimed: large, over all classes, and every attack has a twin and a reason to fail."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

from robust_kbench.errors import SpecError
from robust_kbench.folders import data_folder
from robust_kbench.redteam import corpus
from robust_kbench.redteam.corpus import CLASSES, GROUPS, Attack
from robust_kbench.worker import wire
from robust_kbench.worker.cuda import call as cuda_calls

ATTACKS, HONEST = corpus.attacks(), corpus.honest()
HINTS = {
    "input-mutation", "memory-scavenge", "async-stream-bypass", "lazy-tensor-evaluation", "monkey-patch-timing",
    "global-state-poisoning", "hyperparameter-shrinking", "result-caching", "precision-downgrade", "thread-injection",
    "pytorch-fallback-wrap", "loss-analytical-expectation", "loss-partial-computation", "constant-output",
    "redundant-op-elimination",
}  # fmt: skip
"""Classes of hints of arXiv 2606.08960."""


def test_there_are_enough_of_them() -> None:
    on_a_processor = [attack for attack in ATTACKS if attack.header.device == "cpu"]
    assert len(on_a_processor) >= 120
    assert len([specimen for specimen in HONEST if specimen.header.device == "cpu"]) >= 50


def test_every_class_of_the_catalogue_has_several() -> None:
    assert min(Counter(attack.kind for attack in ATTACKS).values()) >= 3
    assert {attack.kind for attack in ATTACKS} == set(CLASSES.values())


def test_every_hint_class_has_one() -> None:
    assert {attack.header.hint for attack in ATTACKS} - {""} == HINTS


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_of_defences_stands_alone_against_something(group: str) -> None:
    assert [a.name for a in ATTACKS if a.header.stopped_by == (group,) and not a.header.naive]


def test_many_attacks_are_native() -> None:
    assert len([attack for attack in ATTACKS if attack.path.suffix == ".cpp"]) >= 25


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_twin_that_is_raced_is_written_in_the_same_language(attack: corpus.Attack) -> None:
    twin = next(specimen for specimen in HONEST if specimen.name == attack.header.twin)
    if attack.header.aim == "time":
        assert (twin.path.suffix, twin.header.task) == (attack.path.suffix, attack.header.task)


@pytest.mark.parametrize("specimen", [*ATTACKS, *HONEST], ids=lambda specimen: specimen.name)
def test_each_says_what_it_does_and_can_be_handed_in(specimen: corpus.Specimen) -> None:
    assert len(specimen.summary.split()) >= 5
    assert specimen.summary.endswith(".")
    assert specimen.submission().digest.startswith("sha256:")


@pytest.mark.parametrize("attack", [a for a in ATTACKS if "kbench-control" in a.path.read_text()], ids=lambda a: a.name)
def test_what_writes_to_the_control_page_knows_where_its_words_lie(attack: corpus.Attack) -> None:
    # With old numbers it would do nothing, and look like an attack that is stopped, or one that succeeds.
    told = {name: int(number) for name, number in re.findall(r"\b([A-Z_]+) = (\d+)[,;]", attack.path.read_text())}
    layout = {**vars(wire), "LENGTH_AT": wire.LENGTH_OFFSET, "REPLY_AT": wire.REPLY_OFFSET}
    assert told == {name: layout[name] for name in told}
    assert "DONE" in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import torch\n", "begins with no comment that says what it is"),
        ('"""It does something.\n\ncatalogue: [T03]\n"""', "aim: missing"),
        ('"""Something.\n\ncatalogue: [T03]\naim: wrong\nstopped_by: [clock]\ntwin: plain\n"""', "stopped_by.0"),
        (
            '"""Something.\n\ncatalogue: [O03]\naim: wrong\nstopped_by: [clocks]\ntwin: plain\n"""',
            "belongs into answers",
        ),
        ('"""Something.\n\ncatalogue: [T03]\naim: wrong\nstopped_by: [clocks]\ntwin: plane\n"""', "twin: no 'plane'"),
        (
            '"""Something.\n\ncatalogue: [T03]\naim: wrong\nstopped_by: [clocks]\ntwins: plain\n"""',
            "did you mean 'twin'",
        ),
    ],
)
def test_a_malformed_specimen_is_refused_with_its_place(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "timing").mkdir()
    (tmp_path / "timing" / "new.py").write_text(text)
    honest = data_folder("honest")
    monkeypatch.setattr(corpus, "data_folder", lambda kind: tmp_path if kind == "attacks" else honest)
    with pytest.raises(SpecError, match=words) as error:
        corpus.attacks()
    assert "new.py" in str(error.value)


@pytest.mark.parametrize(
    "attack", [each for each in ATTACKS if "import CudaCall" in each.path.read_text()], ids=lambda each: each.name
)
def test_attacks_on_calls_of_a_cuda_device_name_parts_that_they_have(attack: Attack) -> None:
    """Nothing else shows, on a machine without a device, that such an attack does no harm any more."""
    named = set(re.findall(r"\b(?:self|call)\.(_[a-z]\w*)", attack.path.read_text()))
    assert {name for name in named if re.search(rf"self\.{name}\b", inspect.getsource(cuda_calls))} == named
