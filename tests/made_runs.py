"""Runs of agents that never took place: archives made by hand, with records of a final judging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from specimens import make_record

from robust_kbench.agents import preset as presets
from robust_kbench.agents.archive import ROOT, Archive, Candidate, Judged, Node
from robust_kbench.agents.budget import Budget, Limits, Spent
from robust_kbench.agents.evolution import Evolved, RunFile
from robust_kbench.agents.loop import Opinion, Outcome, Stop
from robust_kbench.schema.record import RunRecord, Session, Timing, encode_samples

NASTY = '</pre></title></textarea><script>alert("1")</script>&<img src=x onerror=alert(1)>\x1b[2J\u202egnp.exe\ud800'
"""A text that would run in, clear, or turn round a display that shows it unchanged."""


def node(identity: str, parents: tuple[str, ...] = (ROOT,), speedup: float = 2.0, **changes: Any) -> Node:
    """Make a candidate that is so many times as fast as eager; 0: it failed at `stage`. Other keys are Candidate's."""
    stage, log = changes.pop("stage", "correct"), changes.pop("log", "wrong")
    right = Judged("time", True, speedup, speedup * 0.9, speedup * 1.1, 100 / (speedup or 1))
    judged = changes.pop("judged", right if speedup else Judged(stage, log=log, is_ours=stage == "harness"))
    made = Candidate(identity, f"// {identity}\nint x = 1;\n", "init", parents)
    return Node(replace(made, **changes), judged)


def root(speedup: float = 1.0, **changes: Any) -> Node:
    """Make the node of a start."""
    return node(ROOT, (), speedup, operator="given", **changes)


def record(name: str, candidate_us: float, eager_us: float = 100.0, **changes: Any) -> RunRecord:
    """Make a record of the final judging whose times do not vary; torch.compile takes half as long as eager."""
    times = {"candidate": candidate_us, "eager": eager_us, "compile": eager_us / 2}
    samples = {who: encode_samples([round(1000 * us)] * 20) for who, us in times.items()}
    session = Session(samples=samples, foreign_load=0.0)
    timing = Timing(axes={"rows": 64}, dtype="float32", sessions=(session, session, session))
    facts = {"submission": name, "timings": (timing,), "environment": {"device": "a processor"}}
    return make_record(**{**facts, **changes})


def evolved(
    nodes: Sequence[Node],
    *,
    start: Node | None = None,
    agent: str = "best-of-n",
    final: Sequence[RunRecord] = (),
    opinions: Sequence[tuple[Opinion, bool]] = (),
    stop: Stop = "budget",
    spent: Sequence[Spent] | None = None,
    limits: Limits | None = None,
    **changes: Any,
) -> Evolved:
    """Make a run that judged these, in this order, for 100 tokens and 10 cents each. Other keys are RunFile's."""
    archive = Archive(start or root())
    for each in nodes:
        archive.add(each)
    usual = [Spent(number, number, 80 * number, 20 * number, number / 10) for number in range(1, len(nodes) + 1)]
    told = usual if spent is None else list(spent)
    preset = presets.load(agent)
    if limits is not None:
        preset = preset.model_copy(update={"limits": limits})
    facts: dict[str, Any] = {
        "task": "norm/scale",
        "agent": preset,
        "llm": ("improver",),
        "seed": 7,
        "device": "cpu",
        "public_seed": 7,
        "language": "cpp",
        "from_reference": archive.root.candidate.is_reference,
        "kbench": "0.1.0",
        "harness": "0123456789abcdef",
        "made_at": "2026-01-01T00:00:00+00:00",
        **changes,
    }
    budget = Budget(preset.limits, told[-1] if told else Spent())
    return Evolved(RunFile(**facts), Outcome(archive, stop, list(opinions)), budget, tuple(final), tuple(told))
