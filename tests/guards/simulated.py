"""Kernels for the simulator: what cheats the clocks of a CUDA device, and honest ones that look alike.

Each takes 400 us of work honestly. `trips` lists the tests that must object, with a `?` where they only warn; all
others must not. docs/agreement.md prints the same as a matrix, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from simulator import HOLD_NS, US, Kernel, Machine, Problem, Worker, machine

from robust_kbench.schema.agreement import Audit

WORK_NS = 400 * US


@dataclass(frozen=True)
class Specimen:
    """A kernel by name. `make` sets up a fresh worker of it."""

    name: str
    summary: str
    trips: frozenset[str]
    make: Callable[[], Worker]


SPECIMENS: list[Specimen] = []


def specimen(summary: str, *trips: str) -> Callable[[Callable[[Machine], Kernel]], Callable[[Machine], Kernel]]:
    """Register a function that, given a machine, returns a kernel and may set the machine up."""

    def register(make: Callable[[Machine], Kernel]) -> Callable[[Machine], Kernel]:
        SPECIMENS.append(Specimen(make.__name__, summary, frozenset(trips), lambda: _worker(make)))
        return make

    return register


def _worker(make: Callable[[Machine], Kernel]) -> Worker:
    device = machine(seed=len(make.__name__))
    kernel = make(device)
    return Worker(kernel, device)


def _honest(device: Machine, problem: Problem) -> None:
    device.launch(WORK_NS)


# --- attacks ----------------------------------------------------------------------------------------------------------


@specimen("the work is on a stream of its own that nobody joins", "T1", "T2", "T3", "T5")
def side_stream(_: Machine) -> Kernel:
    return lambda device, problem: device.launch(WORK_NS, stream=1)


@specimen("a native thread launches the work just after the kernel has returned", "T1", "T2", "T3", "T5")
def thread_at_return(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(3 * US)
        device.later(1 * US, lambda at: at.launch(WORK_NS, stream=1, host_ns=0))

    return kernel


@specimen("a native thread launches the work after the device was seen idle", "T2", "T3", "T5", "T10")
def thread_after_done(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(3 * US)
        device.later(HOLD_NS + 40 * US, lambda at: at.launch(WORK_NS, stream=1, host_ns=0))

    return kernel


@specimen("a graph with the work is launched on a stream that does not block", "T1", "T2", "T3", "T5")
def graph_aside(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(1 * US)
        for _ in range(4):
            device.launch(WORK_NS / 4, stream=2, name="graph node", host_ns=0)

    return kernel


@specimen("the function that reads events tells a tenth", "T1", "T2", "T5")
def patched_events(device: Machine) -> Kernel:
    device.forge = lambda clock, value: value // 10 if clock == "event" else value
    return _honest


@specimen("every clock of the worker tells a tenth, and the profile is forged to match", "T1", "T5")
def patched_worker(device: Machine) -> Kernel:
    device.forge = lambda clock, value: value // 10
    device.forge_audit = lambda audit: _shorter(audit, 10)
    return _honest


@specimen("a short kernel, 24 us; every clock of the worker tells 12 us less", "T5")
def patched_a_little(device: Machine) -> Kernel:
    device.forge = lambda clock, value: value - 12 * US
    device.forge_audit = lambda audit: _shorter(audit, 2)
    return lambda at, problem: at.launch(20 * US, host_ns=0)


@specimen("a short kernel, 24 us; events and clocks tell 9 us less, the profile is true", "T2")
def patched_within_the_slack(device: Machine) -> Kernel:
    device.forge = lambda clock, value: value - 9 * US
    return lambda at, problem: at.launch(20 * US, host_ns=0)


@specimen("the judge's work before a call is skipped, and every clock of the worker tells as much less", "T1", "T5")
def skipped_hold(device: Machine) -> Kernel:
    device.is_hold_skipped = True
    device.forge = lambda clock, value: value - 120 * US
    device.forge_audit = lambda audit: _shorter(audit, 2)
    return _honest


@specimen("the first call of a row solves all that lies behind it", "T5", "T6")
def super_batch(_: Machine) -> Kernel:
    solved: set[int] = set()

    def kernel(device: Machine, problem: Problem) -> None:
        if problem.values in solved:
            solved.discard(problem.values)
            return
        solved.update(problem.queue)
        device.launch(WORK_NS * (1.0 + 0.1 * len(set(problem.queue))))

    return kernel


@specimen("answers are kept by a digest of the inputs", "T5", "T7")
def result_cache(_: Machine) -> Kernel:
    known: set[int] = set()

    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(20 * US, name="digest")
        if problem.values not in known:
            known.add(problem.values)
            device.launch(WORK_NS)

    return kernel


@specimen("the work is done when the inputs arrive, before the clock", "T2", "T3", "T5")
def ahead_of_the_clock(device: Machine) -> Kernel:
    early: list[bool] = []

    def prepared(at: Machine) -> None:
        early.append(True)
        at.launch(WORK_NS / 4)

    def kernel(at: Machine, problem: Problem) -> None:
        at.launch(3 * US, name="copy")
        if not early:
            at.launch(WORK_NS)
        early.clear()

    device.at_arrival = prepared
    return kernel


@specimen("the work is done in a way that no profiler sees", "T4")
def untracked(_: Machine) -> Kernel:
    return lambda device, problem: device.launch(WORK_NS, is_seen=False)


@specimen("the profiler is switched off", "T4")
def profiler_off(device: Machine) -> Kernel:
    device.is_profiler_disabled = True
    return _honest


@specimen("another kernel for every few calls, so that some are cheaper to get right", "T8?")
def several_kernels(_: Machine) -> Kernel:
    calls = iter(range(10**6))
    return lambda device, problem: device.launch(WORK_NS, name=f"variant_{next(calls) % 2}")


@specimen("every call leaves a thread behind", "T9?")
def thread_per_call(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(WORK_NS)
        device.threads += 1

    return kernel


@specimen("every call leaves device memory behind", "T9?")
def memory_per_call(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(WORK_NS)
        device.memory_bytes += 2 << 20

    return kernel


@specimen("a process that the stop does not reach computes on", "T10")
def escaped_process(device: Machine) -> Kernel:
    device.escaped_share = 1.0
    return _honest


@specimen("after each call something keeps the device busy, to slow the baseline down", "T2", "T3", "T5", "T10")
def busy_afterwards(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(WORK_NS)
        device.later(HOLD_NS + WORK_NS + 60 * US, lambda at: at.launch(2_000 * US, stream=3, name="hog", host_ns=0))

    return kernel


# --- honest look-alikes -----------------------------------------------------------------------------------------------


@specimen("one kernel")
def honest_plain(_: Machine) -> Kernel:
    return _honest


@specimen("two streams, joined before the return")
def honest_streams(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.ends[1] = device.ends[0]  # it waits for what was queued before
        device.launch(WORK_NS / 2)
        device.launch(WORK_NS / 2, stream=1)
        device.join(1)

    return kernel


@specimen("a graph with four nodes, on the call's stream")
def honest_graph(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        for _ in range(4):
            device.launch(WORK_NS / 4, name="graph node", host_ns=1 * US)

    return kernel


@specimen("a thread helps on the host, and is joined before the return")
def honest_thread(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.later(2 * US, lambda at: at.launch(WORK_NS, host_ns=0))
        device.spend(6 * US)

    return kernel


@specimen("short kernels with long pauses of the host between them", "T4?")
def honest_host_bound(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        for _ in range(5):
            device.launch(4 * US, host_ns=100 * US)

    return kernel


@specimen("a descriptor is made anew when an address is new, 2 us")
def honest_descriptor(_: Machine) -> Kernel:
    known: set[int] = set()

    def kernel(device: Machine, problem: Problem) -> None:
        if problem.address not in known:
            known.add(problem.address)
            device.spend(2 * US)
        device.launch(WORK_NS)

    return kernel


@specimen("memory-bound: one problem fits into the cache, four do not")
def honest_cache_resident(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(WORK_NS * (0.6 if problem.is_warm else 1.0))

    return kernel


@specimen("a pool of threads is started by the first calls, and grows no more")
def honest_pool(_: Machine) -> Kernel:
    def kernel(device: Machine, problem: Problem) -> None:
        device.launch(WORK_NS)
        device.threads = min(5, device.threads + 1)

    return kernel


@specimen("a long kernel, 30 ms")
def honest_long(_: Machine) -> Kernel:
    return lambda device, problem: device.launch(30_000 * US)


@specimen("a very short kernel, 3 us")
def honest_short(_: Machine) -> Kernel:
    return lambda device, problem: device.launch(3 * US)


def _shorter(audit: Audit, factor: int) -> Audit:
    """An audit in which every activity took less."""
    activities = [
        replace(each, end_ns=each.start_ns + (each.end_ns - each.start_ns) // factor) for each in audit.activities
    ]
    return replace(audit, activities=tuple(activities))
