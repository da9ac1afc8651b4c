"""Summary of a run in figures.

Speedups are over eager PyTorch, geometric means over all timed cases. Success depends on the final judging alone, on
cases that were drawn when the search had ended. A candidate without a verdict by an error of ours does not count.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from robust_kbench.agents import preset as presets
from robust_kbench.agents.archive import ROOT, Archive, Node
from robust_kbench.agents.budget import Limits, Spent
from robust_kbench.agents.evolution import BEST, START, Evolved
from robust_kbench.agents.loop import Opinion
from robust_kbench.agents.preset import Preset
from robust_kbench.agents.providers import opening
from robust_kbench.schema.documents import Strict, printable

if TYPE_CHECKING:
    from robust_kbench.schema.record import RunRecord


class Interval(Strict):
    """Ratio with its 95 % interval; above 1 is faster."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f}x [{self.low:.2f}, {self.high:.2f}]"


class Rates(Strict):
    """Number of some candidates, and the shares that held a kernel, were built, were right, became the run's best."""

    candidates: int
    parse_rate: float | None
    compile_rate: float | None
    validity: float | None
    win_rate: float | None


class Confusion(Strict):
    """Confusion matrix of a verifier: its last answers beside the verdicts.

    True is positive; `silent`: no answer; `unjudged`: no verdict. The verifier of compilation is compared with the
    build, all others with being right. Only judged candidates can be compared, and these are the ones that verifiers
    liked.
    """

    tp: int = 0
    fp: int = 0
    tn: int = 0
    fn: int = 0
    silent: int = 0
    unjudged: int = 0

    @property
    def accuracy(self) -> float | None:
        """Share of the verifier's answers that were right; None without any."""
        return share(self.tp + self.tn, self.tp + self.fp + self.tn + self.fn)

    def __add__(self, other: Confusion) -> Confusion:
        mine, others = self.model_dump(), other.model_dump()
        return Confusion(**{name: mine[name] + others[name] for name in mine})


class Point(Strict):
    """Amounts spent when a candidate was judged, and the best speedup then; None while there was no kernel."""

    evaluations: int
    tokens: int
    usd: float | None
    best: float | None


class Summary(Strict):
    """Figures of one run, as `summarise` computes them."""

    schema_version: Literal[1] = 1
    task: str
    agent: str
    agent_digest: str
    """Digest of the agent, since two agents may have one name."""
    llm: tuple[str, ...]
    seed: int
    device: str
    hardware: str
    tier: str
    """Tier of the final judging; it and `hardware` are empty where there was none."""
    kbench: str
    harness: str
    start: Literal["kernel", "reference"]
    limits: Limits
    stop: str
    evaluations: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    stages: dict[str, int]
    candidates: int
    parse_rate: float | None
    compile_rate: float | None
    validity: float | None
    distinct_rate: float | None
    """Share of candidates with a kernel whose code is no repetition."""
    operators: dict[str, Rates]
    plans: int
    plan_rate: float | None
    """Share of anchored plans that keep to their form: anchors balanced, and nothing changed outside of them."""
    repairs: int
    repair_rate: float | None
    """Share of right ones among the candidates made from a failure."""
    best: str
    best_speedup: Interval | None
    """Speedup of the best kernel in the search, on public cases."""
    final_status: str
    """Status of the best kernel in the final judging.

    `none`: nothing was better than the start; `pending`: not yet judged.
    """
    final_speedup: Interval | None
    over_all: Interval | None
    """Speedup over the fastest baseline of each case, torch.compile among them."""
    over_start: Interval | None
    """Final speedup of the best kernel over that of the start, both as judged in the end.

    The interval holds all quotients of their intervals, so it is wider than 95 %.
    """
    gap: float | None
    """Speedup of the search over the final one, in the cases that the search has timed.

    Above 1, the search promised more. None where the final judging was on another machine.
    """
    verifiers: dict[str, Confusion]
    curve: tuple[Point, ...]
    area: dict[str, float | None]
    """Best speedup on the way, by evaluations, tokens and usd, averaged in logarithms; 1 while there was no kernel."""
    deviations: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        """True if the run says something about its agent: it ended by its budget, and was judged in the end."""
        return self.stop == "budget" and self.final_status not in ("pending", "harness_error")

    @property
    def budget(self) -> str:
        """Limits of the run in a few words."""
        return budget(self.limits)

    @property
    def passed(self) -> bool:
        """True if a kernel of the run's own passed the final judging."""
        return self.final_status == "passed"


def summarise(evolved: Evolved) -> Summary:
    """Compute all figures of a run from its archive, its budget and its final records."""
    file, archive, spent = evolved.file, evolved.outcome.archive, evolved.budget.spent
    made = [node for node in archive if node.id != ROOT]
    counted = [node for node in made if not node.judged.is_ours]
    whole = _rates(counted, _winners(archive))
    best = archive.best
    in_search = (
        Interval(value=best.judged.speedup, low=best.judged.low, high=best.judged.high) if best.is_kernel else None
    )
    final, start = _record(evolved, BEST), _record(evolved, START)
    in_the_end = None if final is None else over_eager(final)
    at_first = None if start is None else over_eager(start)
    curve = tuple(_curve(archive, evolved.spent))
    return Summary(
        task=file.task,
        agent=file.agent.name,
        agent_digest=agent_digest(file.agent),
        llm=file.llm,
        seed=file.seed,
        device=file.device,
        hardware=next((each.environment.get("device", each.device) for each in evolved.final), ""),
        tier=next((each.tier for each in evolved.final), ""),
        kbench=file.kbench,
        harness=file.harness,
        start="reference" if archive.root.candidate.is_reference else "kernel",
        limits=file.agent.limits,
        stop=evolved.outcome.stop,
        evaluations=spent.evaluations,
        calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        usd=spent.usd,
        stages=dict(Counter(printable(node.judged.stage) for node in made)),
        **whole.model_dump(exclude={"win_rate"}),
        distinct_rate=_distinct(made),
        operators={name: _rates(nodes, _winners(archive)) for name, nodes in _by_operator(counted).items()},
        **_plans(file.agent, counted),
        **_repairs(archive, counted),
        best=best.id,
        best_speedup=in_search,
        final_status=_status(evolved, final),
        final_speedup=in_the_end,
        over_all=None if final is None else over_fastest(final),
        over_start=quotient(in_the_end, at_first),
        gap=None if evolved.is_judged_elsewhere else _gap(in_search, best, final),
        verifiers=_confusions(archive, [opinion for opinion, _ in evolved.outcome.opinions]),
        curve=curve,
        area=areas(curve),
        deviations=tuple(_deviations(evolved)),
    )


def _gap(in_search: Interval | None, best: Node, final: RunRecord | None) -> float | None:
    """Return the search's speedup over the final one of the same cases; None where one of them is missing.

    Tier quick times the smallest binding alone, and the speed of a kernel depends on the size. Earlier searches were
    shown speedups over the decomposition, so the same is taken from their final record.
    """
    from robust_kbench.schema.record import REFERENCE

    is_before = final is not None and any(timing.controlled == REFERENCE for timing in final.timings)
    in_the_end = over_eager(final, best.judged.timed, REFERENCE if is_before else "") if final else None
    return in_search.value / in_the_end.value if in_search and in_the_end else None


def _record(evolved: Evolved, name: str) -> RunRecord | None:
    return next((record for record in evolved.final if record.submission == name), None)


def _status(evolved: Evolved, final: RunRecord | None) -> str:
    if final is not None:
        return final.status.value
    return "none" if evolved.winner is None else "pending"


def share(part: int, whole: int) -> float | None:
    """Return a part as a share of the whole; None where the whole is 0."""
    return part / whole if whole else None


def agent_digest(agent: Preset) -> str:
    """Return the first 8 hex digits of an agent's sha256, without its limits, summary, source and differences."""
    text = json.dumps(agent.model_dump(mode="json", exclude={"limits", "summary", "source", "differs"}), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def over_eager(record: RunRecord, only: Sequence[str] = (), baseline: str = "") -> Interval | None:
    """Return the mean speedup over all timed cases, with mean bounds; None where a case has none, or nothing passed.

    `only` names the cases to use, see judging; default: all. `baseline`: the speedup is over that one. By default it is
    over plain PyTorch, that is the faster one of its operator and its decomposition.
    """
    from robust_kbench.agents.judging import named
    from robust_kbench.scoring import score

    if record.status != "passed":
        return None
    every = [case for scored in score(record).values() for case in scored.cases]
    asked = set(map(_parts, only))
    cases = [case for case in every if not only or _parts(named(case)) in asked]
    found = [case.speedups.get(baseline) if baseline else case.over_plain for case in cases]
    ratios = [each for each in found if each is not None]
    return _mean([(each.value, each.low, each.high) for each in ratios]) if len(ratios) == len(cases) else None


def _parts(name: str) -> frozenset[str]:
    """Split a case's name: a record that was read back has its axes in another order than the task."""
    return frozenset(name.split(", "))


def over_fastest(record: RunRecord) -> Interval | None:
    """Return the speedup published for this record, see scoring: the mean over its dtypes. None if it did not pass."""
    from robust_kbench.scoring import score

    if record.status != "passed":
        return None
    ratios = [scored.speedup for scored in score(record).values()]
    return _mean([(each.value, each.low, each.high) for each in ratios])


def _mean(ratios: Sequence[tuple[float, float, float]]) -> Interval | None:
    from robust_kbench.scoring import geometric_mean

    if not ratios:
        return None
    value, low, high = (geometric_mean(each) for each in zip(*ratios, strict=True))
    return Interval(value=value, low=low, high=high)


def quotient(above: Interval | None, below: Interval | None) -> Interval | None:
    """Return the quotient of two intervals that were measured apart; None where one is missing.

    Its bounds are the furthest that theirs allow.
    """
    if above is None or below is None:
        return None
    return Interval(value=above.value / below.value, low=above.low / below.high, high=above.high / below.low)


def _is_built(node: Node) -> bool:
    return node.judged.stage not in ("parse", "compile")


def _winners(archive: Archive) -> set[str]:
    """Return the ids of candidates that were faster than everything before, without the root."""
    best, found = 0.0, set()
    for node in archive:
        if node.is_kernel and node.speedup > best:
            best = node.speedup
            found.add(node.id)
    return found - {ROOT}


def _rates(nodes: Sequence[Node], winners: set[str]) -> Rates:
    def of_all(holds: Callable[[Node], bool]) -> float | None:
        return share(sum(map(holds, nodes)), len(nodes))

    return Rates(
        candidates=len(nodes),
        parse_rate=of_all(lambda node: node.judged.stage != "parse"),
        compile_rate=of_all(_is_built),
        validity=of_all(lambda node: node.is_right),
        win_rate=of_all(lambda node: node.id in winners),
    )


def _by_operator(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.candidate.operator, []).append(node)
    return dict(sorted(found.items()))


def _distinct(nodes: Iterable[Node]) -> float | None:
    codes = [node.candidate.code for node in nodes if node.candidate.code]
    return share(len(set(codes)), len(codes))


def _plans(agent: Preset, nodes: Iterable[Node]) -> dict[str, Any]:
    operators = [operator for phase in agent.phases for operator in phase.operators]
    planned = {each.name for each in operators if any(role.answer == "plan" for role in each.roles)}
    made = [node.candidate for node in nodes if node.candidate.operator in planned]
    return {"plans": len(made), "plan_rate": share(sum(not each.plan_problem for each in made), len(made))}


def _repairs(archive: Archive, nodes: Iterable[Node]) -> dict[str, Any]:
    made = [node for node in nodes if not archive[node.candidate.parents[0]].is_right]
    return {"repairs": len(made), "repair_rate": share(sum(node.is_right for node in made), len(made))}


def _confusions(archive: Archive, opinions: Iterable[Opinion]) -> dict[str, Confusion]:
    judged = {node.id: node for node in archive if not node.judged.is_ours}
    found: dict[str, Confusion] = {}
    for opinion in opinions:
        for role, answer in opinion.answers.items():
            told = _confusion(role, answer, judged.get(opinion.candidate.id))
            found[role] = found.get(role, Confusion()) + told
    return dict(sorted(found.items()))


def _confusion(role: str, answer: bool | None, node: Node | None) -> Confusion:
    if node is None:
        return Confusion(unjudged=1)
    if answer is None:
        return Confusion(silent=1)
    is_so = _is_built(node) if role == "compile" else node.is_right
    return Confusion(**{("t" if answer == is_so else "f") + ("p" if answer else "n"): 1})


def _curve(archive: Archive, spent: Sequence[Spent]) -> Iterator[Point]:
    """Yield a point for the start, then one for each candidate."""
    best: float | None = None
    for node, then in zip(archive, [Spent(), *spent], strict=True):
        if node.is_kernel:
            best = max(node.speedup, best or 0.0)
        yield Point(evaluations=then.evaluations, tokens=then.tokens, usd=then.usd, best=best)


def areas(curve: Sequence[Point]) -> dict[str, float | None]:
    """Return the area under a curve, by each axis; None where nothing was spent on it, or the amount is unknown."""
    return {axis: _area(curve, axis) for axis in ("evaluations", "tokens", "usd")}


def _area(curve: Sequence[Point], axis: str) -> float | None:
    spent = [getattr(point, axis) for point in curve]
    if None in spent or not spent[-1]:
        return None
    steps = zip(curve, spent, spent[1:], strict=False)
    logs = sum((after - before) * math.log(point.best or 1.0) for point, before, after in steps)
    return math.exp(logs / spent[-1])


def _deviations(evolved: Evolved) -> Iterator[str]:
    """Yield the deviations of a run from the method that it follows.

    They come from the agent's own words, from the options of the run, and from its end.
    """
    file = evolved.file
    yield from file.agent.differs
    yield from opening.deviations(file.agent, file.llm)
    known = presets.load(file.agent.name) if file.agent.name in presets.names() else None
    if known is not None and agent_digest(known) != agent_digest(file.agent):
        yield f"it is another agent than the package's {known.name}"
    elif known is not None and known.limits != file.agent.limits:
        yield f"its budget is {budget(file.agent.limits)}, where the agent's own is {budget(known.limits)}"
    if not file.from_reference and any(phase.name == "translate" for phase in file.agent.phases):
        yield "it began with a kernel, so that nothing was translated"
    if evolved.outcome.stop == "provider_error":
        yield "it ended before its budget, because nobody answered"
    if evolved.is_judged_elsewhere:
        yield "it was judged in the end on another machine than it searched on, or beside another PyTorch"


def budget(limits: Limits) -> str:
    """Format limits in a few words, without the unlimited ones."""
    return ", ".join(f"{name} {value}" for name, value in limits if value is not None)
