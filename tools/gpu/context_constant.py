"""Measures whether the constant in the judge's clock changes when a worker loads a kernel, or calls it.

    python tools/gpu/context_constant.py > constants.jsonl

Each row has a turn of fresh workers, one for each way of treating them, what has been done by then, and the median of
15 calls of nothing in ns. A "blank" worker loads nothing. An "early" one is called with nothing first of all, a "late"
one only when others have been prepared.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from dataclasses import replace
from typing import Any

from robust_kbench import contestant
from robust_kbench.baselines import baselines_for
from robust_kbench.devices import open_device
from robust_kbench.isolation.calling import open_arena, open_caller
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import EAGER
from robust_kbench.schema.task import FloatDType
from robust_kbench.timing import spot_checks
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.workers import Workers

NAMES = [f"{treatment} {when}" for treatment in ("prepared", "blank") for when in ("early", "late")]
_TURNS, _CALLS, _FIRST = 6, 18, 3
_DTYPES: list[FloatDType] = ["float32", "float16", "bfloat16"]


def main() -> None:
    """Print the rows."""
    task, device = load_task("norm/layernorm"), open_device("cuda")
    spec = task.spec
    cases = [
        Case(axes=dict(axes), dtype=dtype, seed=1, role="timed") for axes in spec.timed["cuda"] for dtype in _DTYPES
    ]
    with WarmPool() as pool:
        baseline = next(each for each in baselines_for(task, "full") if each.name == EAGER)
        eager = contestant.build(EAGER, baseline, spec, _DTYPES, device, pool.scratch())
        contestants = [replace(eager, name=name) for name in NAMES]
        common = open_arena(device, max(spot_checks.footprint(spec, case) for case in cases), device.pool_bytes)
        arenas = Arenas(common)
        caller: Any = open_caller(device, spec, common, timeout_s=60)
        for turn in range(_TURNS):
            workers = Workers(pool, device, arenas)
            workers.open(contestants, _DTYPES)
            opened = {each.name: worker for each, worker in workers._opened}

            def measure(done: str, names: list[str], turn: int = turn, opened: dict[str, Any] = opened) -> None:
                for name in random.sample(names, len(names)):
                    calls = [caller.call_nothing(opened[name], cases[0]).elapsed_ns for _ in range(_CALLS)]
                    row = {"turn": turn, "worker": name, "done": done, "ns": statistics.median(calls[_FIRST:])}
                    print(json.dumps(row), flush=True)

            measure("opened", [name for name in NAMES if "early" in name])
            workers._opened = [each for each in workers._opened if "prepared" in each[0].name]
            for prepare in workers.preparations(spec, cases, lambda: False):
                prepare()
            for done in ("prepared", "prepared, again"):
                measure(done, NAMES)
            workers.close()
        arenas.close()
        common.close()


if __name__ == "__main__":
    sys.exit(main())
