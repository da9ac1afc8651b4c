"""What a run has come to, in figures.

Speedups are over eager PyTorch, geometric means over all timed cases. Success is a matter of the final judging alone,
on cases that were drawn when the search had ended. A candidate without a verdict by an error of ours does not count.
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
    """A ratio with its 95 % interval; above 1 is faster."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f}x [{self.low:.2f}, {self.high:.2f}]"


class Rates(Strict):
    """Of some candidates: how many, and which share held a kernel, was built, was right, became the run's best."""

    candidates: int
    parse_rate: float | None
    compile_rate: float | None
    validity: float | None
    win_rate: float | None


class Confusion(Strict):
    """A verifier's last answers beside verdicts. True is positive; `silent`: no answer; `unjudged`: no verdict.

    The verifier of compilation is held against that, all others against being right. It is told of those alone that
    were judged, and these are the ones that verifiers liked.
    """

    tp: int = 0
    fp: int = 0
    tn: int = 0
    fn: int = 0
    silent: int = 0
    unjudged: int = 0

    @property
    def accuracy(self) -> float | None:
        """The share of its answers that were true."""
        return share(self.tp + self.tn, self.tp + self.fp + self.tn + self.fn)

    def __add__(self, other: Confusion) -> Confusion:
        mine, others = self.model_dump(), other.model_dump()
        return Confusion(**{name: mine[name] + others[name] for name in mine})


class Point(Strict):
    """What a run had spent when a candidate was judged, and its best speedup then; None while it had no kernel."""

    evaluations: int
    tokens: int
    usd: float | None
    best: float | None


class Summary(Strict):
    """Of one run."""

    schema_version: Literal[1] = 1
    task: str
    agent: str
    agent_digest: str
    """Two agents may have one name."""
    llm: tuple[str, ...]
    seed: int
    device: str
    hardware: str
    tier: str
    """As the final judging tells; empty without one."""
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
    """Of candidates with a kernel, the share whose code is no repetition."""
    operators: dict[str, Rates]
    plans: int
    plan_rate: float | None
    """Of anchored plans, those that keep to their form: anchors balanced, and nothing changed outside of them."""
    repairs: int
    repair_rate: float | None
    """Of candidates made from a failure, those that are right."""
    best: str
    best_speedup: Interval | None
    """In the search, on public cases."""
    final_status: str
    """How the final judging of the best ended; `none`: nothing was better than the start; `pending`: not yet judged."""
    final_speedup: Interval | None
    over_all: Interval | None
    """Over the fastest baseline of each case, torch.compile among them."""
    over_start: Interval | None
    """Both as judged in the end. The interval holds all quotients of theirs, so it is wider than 95 %."""
    gap: float | None
    """The search's speedup over the final one in the cases that the search has timed: above 1, it promised more.

    None where the final judging was on another machine."""
    verifiers: dict[str, Confusion]
    curve: tuple[Point, ...]
    area: dict[str, float | None]
    """By evaluations, tokens and usd: the best speedup that a run had on the way, averaged in logarithms; 1 without."""
    deviations: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        """Whether it says something about its agent: it ended by its budget, and was judged in the end."""
        return self.stop == "budget" and self.final_status not in ("pending", "harness_error")

    @property
    def budget(self) -> str:
        """Its limits in a few words."""
        return budget(self.limits)

    @property
    def passed(self) -> bool:
        """Whether a kernel of its own passed the final judging."""
        return self.final_status == "passed"


def summarise(evolved: Evolved) -> Summary:
    """All figures of a run, from its archive, its budget and its final records."""
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
    """Of the same cases: tier quick times the smallest binding alone, and how fast a kernel is depends on the size.

    Searches of before were shown speedups over the decomposition, and so is what their final record is asked for.
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
    """None of nothing."""
    return part / whole if whole else None


def agent_digest(agent: Preset) -> str:
    """First 8 hex digits of the sha256 of all that an agent does; its limits and what is said about it do not count."""
    text = json.dumps(agent.model_dump(mode="json", exclude={"limits", "summary", "source", "differs"}), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def over_eager(record: RunRecord, only: Sequence[str] = (), baseline: str = "") -> Interval | None:
    """Means of values and of bounds over all timed cases; None where one of them has none, or nothing passed.

    `only`: the cases that have these names, see judging; by default, all. `baseline`: over that one, not over plain
    PyTorch, that is the faster one of its operator and its decomposition.
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
    """Of a case's name: a record that was read back has its axes in another order than the task."""
    return frozenset(name.split(", "))


def over_fastest(record: RunRecord) -> Interval | None:
    """As published for this record: see scoring. Means over its dtypes."""
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
    """Of two that were measured apart; its bounds are the furthest that theirs allow."""
    if above is None or below is None:
        return None
    return Interval(value=above.value / below.value, low=above.low / below.high, high=above.high / below.low)


def _is_built(node: Node) -> bool:
    return node.judged.stage not in ("parse", "compile")


def _winners(archive: Archive) -> set[str]:
    """Candidates that were faster than everything before."""
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
    """The start, then each candidate."""
    best: float | None = None
    for node, then in zip(archive, [Spent(), *spent], strict=True):
        if node.is_kernel:
            best = max(node.speedup, best or 0.0)
        yield Point(evaluations=then.evaluations, tokens=then.tokens, usd=then.usd, best=best)


def areas(curve: Sequence[Point]) -> dict[str, float | None]:
    """Under a curve, by each axis; None where nothing was spent on it, or nobody knows what."""
    return {axis: _area(curve, axis) for axis in ("evaluations", "tokens", "usd")}


def _area(curve: Sequence[Point], axis: str) -> float | None:
    spent = [getattr(point, axis) for point in curve]
    if None in spent or not spent[-1]:
        return None
    steps = zip(curve, spent, spent[1:], strict=False)
    logs = sum((after - before) * math.log(point.best or 1.0) for point, before, after in steps)
    return math.exp(logs / spent[-1])


def _deviations(evolved: Evolved) -> Iterator[str]:
    """Where a run is not what it follows: what its agent says of itself, and what it was asked to do."""
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
    """In a few words."""
    return ", ".join(f"{name} {value}" for name, value in limits if value is not None)
