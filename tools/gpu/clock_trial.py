"""Calls published kernels behind the gate, and says what the judge's clock shows of each. `python tools/gpu/clock_trial.py [KERNEL…]`."""

from __future__ import annotations

import statistics
import sys
import time
import traceback
from pathlib import Path

import torch

from robust_kbench import contestant
from robust_kbench.cases.bank import Bank
from robust_kbench.devices import open_device
from robust_kbench.isolation.calling import open_arena, open_caller
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.registry import load_task, read_submission
from robust_kbench.schema.case import Case

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sys.argv[1:] or [
    "norm/rmsnorm/cuda_register_rows", "norm/rmsnorm/triton_tile", "norm/rmsnorm/python_two_pass",
    "activation/softmax/triton_tile", "matmul/matmul/triton_tiled", "attention/causal/cuda_flash",
]  # fmt: skip
CALLS = 15


def quartiles(values):
    ordered = sorted(values)
    return (
        f"{statistics.median(ordered):.2f} [{ordered[len(ordered) // 10]:.2f} {ordered[-1 - len(ordered) // 10]:.2f}]"
    )


def main() -> None:
    device = open_device("cuda")
    with WarmPool() as pool:
        for kernel in KERNELS:
            submission = read_submission(ROOT / "baselines" / kernel)
            loaded = load_task(submission.file.task)
            task = loaded.spec
            started = time.perf_counter()
            built = contestant.build("candidate", submission, task, ["float32"], device, pool.scratch())
            for axes in task.timed["cuda"]:
                case = Case(axes=axes, dtype="float32", seed=1, role="timed")
                needed = case_footprint(task, case)
                arena = open_arena(device, needed, device.pool_bytes)
                worker = built.start(pool, arena, device, "float32")
                caller = open_caller(device, task, arena, timeout_s=60, place="cuda")
                bank = Bank(task, case, "cuda")
                try:
                    rows = {"turn": [], "empty": [], "events": [], "word": [], "wall": []}
                    walls, odd, delays, events, hosts, bare = [], [], [], [], [], []
                    options = {
                        "turn": {"way": "turn"},
                        "empty": {"way": "turn", "is_empty": True},
                        "wall": {"way": "wall"},
                        "events": {"way": "turn", "with_events": True},
                        "word": {"way": "word"},
                    }
                    for number in range(CALLS + 4):
                        for what in rows:
                            drawn = case.model_copy(update={"seed": number})
                            inputs = bank.draw(drawn)
                            torch.cuda.synchronize()
                            began = time.perf_counter()
                            seen = caller.call(worker, built.abi, drawn, inputs, **options[what])
                            wall = 1e3 * (time.perf_counter() - began)
                            if seen.ending != "returned" or seen.problems:
                                print(seen.ending, seen.message, seen.log[-1500:], seen.problems)
                                raise SystemExit
                            if seen.is_late or seen.changed_inputs or seen.overruns or seen.clock is None:
                                odd.append(
                                    (
                                        number,
                                        what,
                                        seen.clock,
                                        seen.is_late,
                                        seen.changed_inputs,
                                        seen.overruns,
                                        round(wall, 1),
                                    )
                                )
                            if number >= 4:
                                rows[what].append(seen.elapsed_ns / 1e3)
                                walls.append(wall)
                                delays.append(seen.delays_ns[0] / 1e3)
                                hosts.append(seen.delays_ns[1] / 1e3)
                                if what == "events":
                                    events.append(seen.event_ns / 1e3)
                    middle = {what: statistics.median(taken) for what, taken in rows.items()}
                    print(
                        f"{kernel} {axes}: {middle['turn'] - middle['empty'] + 1:.2f} us, events {quartiles(events)}; "
                        + ", ".join(f"{what} {quartiles(taken)}" for what, taken in rows.items())
                        + f"; device {quartiles(delays)} host {quartiles(hosts)} call {quartiles(walls)} ms; odd {odd[:6]} {len(odd)}",
                        flush=True,
                    )
                finally:
                    worker.close()
                    arena.close()
            print(f"{kernel}: {time.perf_counter() - started:.1f} s", flush=True)


try:
    main()
except SystemExit:
    pass
except BaseException:
    traceback.print_exc()
