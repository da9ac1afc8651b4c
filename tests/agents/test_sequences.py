"""Presets ask the roles, at the temperatures, from the parents and with the sections that their sources give."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from robust_kbench.agents import preset as presets
from robust_kbench.agents import run
from robust_kbench.agents.archive import Archive, Judged
from robust_kbench.agents.budget import Budget, Limits
from robust_kbench.agents.context import Brief
from robust_kbench.agents.journal import JOURNAL, Journal
from robust_kbench.agents.loop import Outcome, Setting, started
from robust_kbench.agents.providers.protocol import Request
from robust_kbench.agents.providers.scripted import Scripted
from robust_kbench.agents.replies import BEGIN, END

BRIEF = Brief("Make a number.", "A machine.", "cpp", ("tile it", "unroll it", "vectorise it"))
ROOT_CODE = "number 1\n"
HEADINGS = re.compile(r"^## (.+)$", re.M)


def judge(named: Sequence[tuple[str, str]]) -> list[tuple[str, Judged]]:
    """Judge each kernel: it is a number, which is its speed, and a negative number is wrong."""
    return [(name, _judged(code)) for name, code in named]


def _judged(code: str) -> Judged:
    speed = float(code.split()[1])
    if speed < 0:
        return Judged("correct", log=f"{speed} is negative")
    return Judged("time", True, speed, speed * 0.99, speed * 1.01, 100 / speed, profile=f"speed {speed}")


@dataclass
class Improver:
    """Provider that answers with numbers a little larger than the largest shown; every `wrong`-th one is negative."""

    wrong: int = 0
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> str:
        self.asked.append(request)
        prompt = request.messages[-1].text
        if "FINAL VERIFICATION ANSWER" in request.messages[0].text:
            return f"FINAL VERIFICATION ANSWER: {len(self.asked) % 3 > 0}"
        if request.role == "plan":
            return f"```cpp\n{BEGIN}\nmake it larger\n{END}\n{ROOT_CODE}```"
        if request.role in ("summarise", "advise"):
            return f"{request.role} says so"
        number = max(map(float, re.findall(r"^number (-?[\d.]+)", prompt, re.M)), default=1.0)
        kernels = sum(each.role in ("code", "debug") for each in self.asked)
        is_wrong = self.wrong and kernels % self.wrong == 0
        value = -kernels - 1 if is_wrong else number + 1 + kernels / 1000
        return f"name: kernel {kernels}\ncode:\n```cpp\nnumber {value}\n```\nthought: {{larger by {kernels}}}"


def carry_out(
    name: str,
    folder: Path,
    script: Callable[[Request], str],
    *,
    seed: int = 1,
    limits: Limits | None = None,
    is_reference: bool = False,
) -> tuple[Outcome, Budget]:
    preset = presets.load(name)
    if limits is not None:
        preset = preset.model_copy(update={"limits": limits})
    root = started(ROOT_CODE, _judged(ROOT_CODE), is_reference=is_reference)
    setting = Setting(preset, BRIEF, root, "cpp", ("model",), seed)
    with Journal(folder / JOURNAL) as journal:
        return run.search(setting, journal, {"model": Scripted(script)}, judge)


def sections(request: Request) -> list[str]:
    """List the titles of a prompt's sections, without their numbers."""
    found = HEADINGS.findall(request.messages[0].text)
    return list(dict.fromkeys(re.sub(r" \d+$", "", title) for title in found))


USUAL = {name: presets.load(name).limits.evaluations for name in presets.names()}


@pytest.mark.rotating
@pytest.mark.parametrize("wrong", [0, 3])
@pytest.mark.parametrize("name", presets.names())
def test_the_budget_of_evaluations_is_met_exactly(name: str, wrong: int, tmp_path: Path) -> None:
    outcome, budget = carry_out(name, tmp_path, Improver(wrong))
    assert budget.spent.evaluations == USUAL[name] == len(outcome.archive) - 1
    assert outcome.stop == "budget"


@pytest.mark.parametrize("evaluations", [1, 2, 5, 7, 13])
@pytest.mark.parametrize("name", presets.names())
def test_a_budget_that_no_batch_fits_is_met_as_well(name: str, evaluations: int, tmp_path: Path) -> None:
    _, budget = carry_out(name, tmp_path, Improver(), limits=Limits(evaluations=evaluations))
    assert budget.spent.evaluations == evaluations


def test_best_of_n_samples_from_the_root_alone(tmp_path: Path) -> None:
    improver = Improver()
    outcome, _ = carry_out("best-of-n", tmp_path, improver)
    assert {(each.role, each.temperature) for each in improver.asked} == {("code", 1.0)}
    assert {node.candidate.parents for node in list(outcome.archive)[1:]} == {("root",)}
    assert all(sections(each) == ["Task", "Hardware", "Kernel to improve"] for each in improver.asked)


def test_refine_goes_on_from_the_last_attempt_right_or_wrong(tmp_path: Path) -> None:
    improver = Improver(wrong=2)
    outcome, _ = carry_out("refine", tmp_path, improver)
    nodes = list(outcome.archive)
    assert [node.candidate.parents for node in nodes[1:]] == [(node.id,) for node in nodes[:-1]]
    assert "failed at correct" in improver.asked[2].messages[0].text


def test_evoengineer_free_sees_the_best_code_and_nothing_about_it(tmp_path: Path) -> None:
    improver = Improver()
    outcome, _ = carry_out("evoengineer-free", tmp_path, improver)
    assert len(improver.asked) == 45
    assert {(each.role, each.temperature) for each in improver.asked} == {("code", 1.0)}
    assert all(sections(each) == ["Task", "Hardware", "Kernel to improve"] for each in improver.asked)
    assert not any("result:" in each.messages[0].text for each in improver.asked)
    for node in list(outcome.archive)[1:]:
        before = [other for other in outcome.archive if other.candidate.generation < node.candidate.generation]
        assert node.candidate.parents == (max(before, key=lambda other: other.speedup).id,)


def test_evoengineer_insight_sees_the_best_kernel_and_three_thoughts(tmp_path: Path) -> None:
    improver = Improver()
    carry_out("evoengineer-insight", tmp_path, improver)
    assert len(improver.asked) == 45
    later = improver.asked[4:]
    profile = "Profile of the best kernel"
    assert all(
        sections(each) == ["Task", "Hardware", "Best kernel so far", profile, "Insights from earlier kernels"]
        for each in later
    )
    counts = Counter(len(re.findall(r"^- \{?larger by", each.messages[0].text, re.M)) for each in later)
    assert counts == {3: 41}


def test_evoengineer_full_crosses_two_and_mutates_one_after_two_kernels_are_right(tmp_path: Path) -> None:
    improver = Improver()
    outcome, _ = carry_out("evoengineer-full", tmp_path, improver)
    operators = [node.candidate.operator for node in list(outcome.archive)[1:]]
    assert operators[:4] == ["init"] * 4
    assert operators[4:44] == ["crossover", "crossover", "mutation", "mutation"] * 10
    assert operators[44:] == ["crossover"]
    crossed = [each for each in improver.asked if "strengths of both" in each.messages[0].text]
    assert all("Parent" in sections(each) and "Best kernel so far" in sections(each) for each in crossed)
    for node in list(outcome.archive)[1:]:
        most = 2 if node.candidate.operator == "crossover" else 1
        assert 1 <= len(node.candidate.parents) <= most


def test_the_elite_that_parents_come_from_has_five(tmp_path: Path) -> None:
    outcome, _ = carry_out("evoengineer-full", tmp_path, Improver())
    for node in list(outcome.archive)[5:]:
        before = [other for other in outcome.archive if other.candidate.generation < node.candidate.generation]
        elite = sorted(before, key=lambda other: -other.speedup)[:5]
        assert set(node.candidate.parents) <= {other.id for other in elite}


def test_eoh_has_four_operators_of_one_candidate_each(tmp_path: Path) -> None:
    outcome, _ = carry_out("eoh", tmp_path, Improver())
    operators = [node.candidate.operator for node in list(outcome.archive)[1:]]
    assert operators[:4] == ["i1"] * 4
    assert operators[4:44] == ["e1", "e2", "m1", "m2"] * 10


def test_funsearch_shows_two_versions_of_one_island_the_slower_first(tmp_path: Path) -> None:
    improver = Improver()
    outcome, _ = carry_out("funsearch", tmp_path, improver)
    for request in improver.asked:
        numbers = [float(each) for each in re.findall(r"^number (-?[\d.]+)", request.messages[0].text, re.M)]
        assert len(numbers) <= 2
        assert numbers == sorted(numbers)
    for node in list(outcome.archive)[1:]:
        parents = [outcome.archive[parent].candidate for parent in node.candidate.parents]
        assert {parent.island for parent in parents if parent.id != "root"} <= {node.candidate.island}
    assert len({node.candidate.island for node in list(outcome.archive)[1:]}) > 1


def test_robust_kbench_translates_then_lets_verifiers_keep_four_of_eight(tmp_path: Path) -> None:
    improver = Improver()
    outcome, _ = carry_out("robust-kbench", tmp_path, improver, is_reference=True)
    nodes = list(outcome.archive)[1:]
    assert nodes[0].candidate.operator == "translate"
    assert [node.candidate.generation for node in nodes[1:9]] == [2] * 4 + [3] * 4
    roles = Counter(each.role for each in improver.asked)
    generations = 13  # 12 of four, and one of a single evaluation
    assert roles["code"] == 1 + 8 * generations
    assert roles["compile"] == roles["memory"] == roles["numerical"] == 2 * 8 * generations  # and each looks again
    assert {each.temperature for each in improver.asked if each.role == "code"} == {0.5, 0.75, 1.0}
    assert roles["advise"] == generations  # each begins with another best kernel
    opinions = outcome.opinions[:8]
    assert [kept for _, kept in opinions] == [True] * 4 + [False] * 4
    assert min(opinion.mean for opinion, kept in opinions if kept) >= max(o.mean for o, kept in opinions if not kept)


def test_robust_kbench_summarises_a_failure_and_begins_anew_after_three(tmp_path: Path) -> None:
    improver = Improver(wrong=1)
    outcome, _ = carry_out("robust-kbench", tmp_path, improver, is_reference=True)
    operators = [node.candidate.operator for node in list(outcome.archive)[1:11]]
    assert operators == ["translate", "repair", "repair"] * 3 + ["translate"]
    repairs = [each for each in improver.asked if "You mend kernels" in each.messages[0].text]
    assert all("summarise says so" in each.messages[0].text for each in repairs)


def test_stark_plans_warm_codes_cold_and_debugs_what_failed(tmp_path: Path) -> None:
    improver = Improver(wrong=4)
    outcome, _ = carry_out("stark", tmp_path, improver)
    assert {(each.role, each.temperature) for each in improver.asked} <= {("plan", 0.8), ("code", 0.1), ("debug", 0.1)}
    roles = [each.role for each in improver.asked]
    assert all(following == "code" for role, following in zip(roles, roles[1:], strict=False) if role == "plan")
    for node in list(outcome.archive)[1:]:
        (parent,) = (outcome.archive[identity] for identity in node.candidate.parents)
        assert node.candidate.operator == ("improve" if parent.is_right else "debug")


@pytest.mark.parametrize("seed", range(5))
def test_stark_shows_each_role_exactly_its_window(seed: int, tmp_path: Path) -> None:
    improver = Improver(wrong=3)
    outcome, _ = carry_out("stark", tmp_path, improver, seed=seed)
    nodes = list(outcome.archive)
    for position, node in enumerate(nodes[1:], 1):
        before = Archive(nodes[0])
        for other in nodes[1:position]:
            before.add(other)
        selected = before[node.candidate.parents[0]]
        window = {selected.id, "root"}
        if node.candidate.operator == "debug":
            window |= {other.id for other in before.siblings(selected)}
        else:
            window |= {other.id for other in before.children(selected)} | {other.id for other in before.top(5)}
            window |= {other.id for other in before.cousins(selected)}
        assert set(node.candidate.context) == window


def test_search_only_has_one_role_and_team_only_no_tree(tmp_path: Path) -> None:
    improver = Improver()
    carry_out("search-only", tmp_path, improver)
    assert {each.role for each in improver.asked} == {"code"}
    (tmp_path / "team").mkdir()
    outcome, _ = carry_out("team-only", tmp_path / "team", improver := Improver())
    assert Counter(each.role for each in improver.asked) == {"plan": 30, "code": 30}
    assert {node.candidate.parents for node in list(outcome.archive)[1:]} == {("root",)}


@pytest.mark.parametrize("name", ["stark", "team-only"])
def test_what_is_wrong_with_a_plan_is_kept_and_decides_nothing(name: str, tmp_path: Path) -> None:
    # The script plans every change on the root's code: right for the root, and no plan for any other kernel.
    improver = Improver(wrong=4)
    outcome, _ = carry_out(name, tmp_path, improver)
    planned = [node for node in list(outcome.archive)[1:] if node.candidate.operator == "improve"]
    for node in planned:
        is_of_root = node.candidate.parents == ("root",)
        assert node.candidate.plan_problem == ("" if is_of_root else "changes lines outside of anchors")
    assert any(node.is_right and node.candidate.plan_problem for node in planned) == (name == "stark")
    assert not any(node.candidate.plan_problem for node in outcome.archive if node not in planned)


def test_a_plan_without_anchors_is_told(tmp_path: Path) -> None:
    improver = Improver()

    def script(request: Request) -> str:
        return "Make it faster." if request.role == "plan" else improver(request)

    outcome, _ = carry_out("team-only", tmp_path, script)
    assert {node.candidate.plan_problem for node in list(outcome.archive)[1:]} == {"no anchors"}
    assert all(node.is_right for node in outcome.archive)


@pytest.mark.parametrize("name", sorted(set(presets.names()) - {"stark", "team-only"}))
def test_where_nobody_plans_no_plan_is_wrong(name: str, tmp_path: Path) -> None:
    outcome, _ = carry_out(name, tmp_path, Improver(), limits=Limits(evaluations=6))
    assert {node.candidate.plan_problem for node in outcome.archive} == {""}
