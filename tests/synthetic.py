"""Stores of records that were never measured, with as many samples, cases and facts as real ones, written quickly.

Everything follows from the seed. Each submission is run twice, so that most of them are ranked; a share fails, is
disturbed, was made by another release, or has the sources of an earlier one under another name. Times are medians of
a task's binding with the noise of processes, of rounds and of calls, and now and then a call that was disturbed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.record import RunRecord, Status
from robust_kbench.schema.task import DeviceKind, Task

MOST_SESSIONS, MOST_ROUNDS, FEWEST_ROUNDS = 8, 60, 30
CASES = 150
_POOL = 450
_SESSIONS, _HOW_OFTEN = (4, 5, 6, 8), (0.3, 0.5, 0.1, 0.1)
DEVICES: Mapping[DeviceKind, str] = {"cpu": "Intel(R) Xeon(R) Processor", "cuda": "NVIDIA H100 80GB HBM3"}
LANGUAGES: Mapping[DeviceKind, tuple[tuple[str, str], ...]] = {
    "cpu": (("cpp", "c"), ("python", "value"), ("cpp", "torch")),
    "cuda": (("cuda", "c"), ("triton", "destination"), ("cuda", "launch"), ("python", "value")),
}
AUTHORS = tuple(f"{name} {number}" for number in range(1, 9) for name in ("Ada", "Grace", "Katherine", "Emmy", "Mary"))
STATUSES = (
    ("passed", 0.78), ("incorrect", 0.08), ("rejected", 0.04), ("build_failed", 0.04), ("crashed", 0.02),
    ("timed_out", 0.02), ("unsupported", 0.01), ("harness_error", 0.01),
)  # fmt: skip
_REASONS = {
    "incorrect": "y[3, 17]: got 0.25, expected 0.5; 65 of 130 wrong, all of the last column",
    "rejected": "freshness: 12 outputs are those of an earlier call",
    "build_failed": "kernel.cpp:7: error: 'rwos' was not declared in this scope",
    "crashed": "was killed by SIGSEGV",
    "timed_out": "a call took more than 10 s",
    "unsupported": "no CUDA device",
    "harness_error": "the worker could not be started",
}
LAYERS = (
    "own process", "user namespace", "pid namespace", "network namespace", "ipc namespace", "resource limits",
    "no new privileges", "no capabilities", "private root", "landlock", "seccomp",
)  # fmt: skip
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def write_store(path: Path, count: int, *, seed: int = 0, tasks: Sequence[str] | None = None) -> None:
    """Write `count` records, one line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(lines(count, seed=seed, tasks=tasks))


def records(count: int, *, seed: int = 0, tasks: Sequence[str] | None = None) -> list[RunRecord]:
    """Return the same records as objects."""
    return [RunRecord.model_validate_json(line) for line in lines(count, seed=seed, tasks=tasks)]


def lines(count: int, *, seed: int = 0, tasks: Sequence[str] | None = None) -> Iterator[bytes]:
    """Yield lines of a store, oldest first, each with its digest. `tasks`: of the registry; by default all of them."""
    random = np.random.default_rng(seed)
    benches = [Bench(name, device, seed) for name in tasks or task_names() for device in DEVICES]
    for number in range(count):
        made = Made(benches[number // 2 % len(benches)], number // 2, len(benches), seed)
        record = {key: value for key, value in _record(made, number, random).items() if value not in ("", "none", [])}
        yield sealed_line(record, made.bench.cases(number))


def sealed_line(record: Mapping[str, Any], cases: Sequence[str]) -> bytes:
    """Return `record` with cases, which are JSON already, and the digest that a line without any default has."""
    text = canonical({**record, "cases": []}).replace('"cases":[]', f'"cases":[{",".join(cases)}]', 1)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'{text[:-1]},"digest":"sha256:{digest}"}}\n'.encode()


def canonical(data: object) -> str:
    """Return JSON with sorted keys and nothing between them."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Bench:
    """A task on a device, PyTorch's needs there for each of its timed bindings, and cases to draw from."""

    name: str
    device: DeviceKind
    seed: int

    @cached_property
    def task(self) -> Task:
        return load_task(self.name).spec

    @cached_property
    def timed(self) -> list[tuple[dict[str, int], str]]:
        """Three timed bindings of the task in each of its dtypes."""
        bindings = self.task.timed[self.device][:3]
        return [(dict(axes), dtype) for dtype in self.task.dtypes for axes in bindings]

    @cached_property
    def contestants(self) -> tuple[str, ...]:
        """Names of the contestants: the candidate, which comes first, and the baselines that it is measured against."""
        return ("candidate", "eager", "control", "compile", *self.task.baselines)

    @cached_property
    def medians_ns(self) -> NDArray[np.float64]:
        """Times of [timed, contestant] in ns, when the candidate is as fast as eager PyTorch."""
        random = np.random.default_rng([self.seed, *self.name.encode(), *self.device.encode()])
        eager = np.exp(random.uniform(np.log(5e4), np.log(2e7), (len(self.timed), 1)))
        factors = np.exp(random.normal(-0.15, 0.25, (len(self.timed), len(self.contestants))))
        factors[:, :3] = 1.0
        return eager * factors

    @cached_property
    def floors_ns(self) -> NDArray[np.float64]:
        """Times of [timed] in ns that no device of this kind can beat."""
        random = np.random.default_rng([self.seed, 1, *self.name.encode()])
        floors: NDArray[np.float64] = self.medians_ns.min(axis=1) * random.uniform(0.05, 0.4, len(self.timed))
        return floors

    @cached_property
    def pool(self) -> list[str]:
        """Passed cases as lines of JSON, to draw from."""
        random = np.random.default_rng([self.seed, 2, *self.name.encode()])
        return [canonical(self.case(random, number)) for number in range(_POOL)]

    def case(self, random: np.random.Generator, number: int, **changes: Any) -> dict[str, Any]:
        """Make one case that has passed, as a record keeps it."""
        ratio = float(random.uniform(0.01, 0.6))
        limits = [1e-6, 1e-5, 1e-4]
        return {
            "axes": {axis: int(random.integers(1, 4096)) for axis in self.task.axes},
            "dtype": self.task.dtypes[number % len(self.task.dtypes)],
            "layout": ("contiguous", "offset", "strided")[number // 3 % 3],
            "distribution": self.task.distributions[number % len(self.task.distributions)],
            "seed": int(random.integers(1 << 53)),
            "role": "check",
            "status": "passed",
            "output": next(iter(self.task.outputs)),
            "errors": [ratio * limit for limit in limits],
            "limits": limits,
            "inputs_digest": f"{int(random.integers(1 << 62)):016x}",
            **changes,
        }

    def cases(self, number: int) -> list[str]:
        """Return the cases of one record as JSON."""
        start = number * 7 % _POOL
        return [*self.pool[start:], *self.pool[:start]][:CASES]


@dataclass(frozen=True)
class Made:
    """A submission: its name, its outcome, and its speed."""

    bench: Bench
    number: int
    benches: int
    seed: int

    @cached_property
    def _random(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 3, self.number])

    @property
    def digest(self) -> str:
        """Digest of the sources. Every 29th submission has that of the one before it at the same task."""
        first = self.number - self.benches
        number = first if self.number % 29 == 0 and first >= 0 else self.number
        return f"sha256:{hashlib.sha256(f'{self.seed} {number}'.encode()).hexdigest()}"

    @cached_property
    def status(self) -> str:
        names, shares = zip(*STATUSES, strict=True)
        return str(np.random.default_rng([self.seed, 4, self.number]).choice(names, p=shares))

    @property
    def language(self) -> tuple[str, str]:
        """Language of the submission, and its abi."""
        choices = LANGUAGES[self.bench.device]
        return choices[self.number // self.benches % len(choices)]

    @cached_property
    def medians_ns(self) -> NDArray[np.float64]:
        """Median times of [timed, contestant] in ns."""
        speedups = np.exp(self._random.normal(0.15, 0.4) + self._random.normal(0, 0.12, len(self.bench.timed)))
        medians = self.bench.medians_ns.copy()
        medians[:, 0] = np.maximum(medians[:, 1] / speedups, 1.05 * self.bench.floors_ns)
        return medians


def _record(made: Made, number: int, random: np.random.Generator) -> dict[str, Any]:
    bench, (language, abi) = made.bench, made.language
    tier = "quick" if made.number % 23 == 5 else "final" if made.number % 17 == 3 else "full"
    is_timed = made.status == "passed"
    return {
        "task": bench.name,
        "task_version": bench.task.version,
        "task_digest": f"sha256:{hashlib.sha256(bench.name.encode()).hexdigest()}",
        "submission": f"{bench.name.rpartition('/')[2]}_{language}_{made.number}",
        "submission_digest": made.digest,
        "author": AUTHORS[made.number % len(AUTHORS)],
        "language": language,
        "abi": abi,
        "track": "custom" if language == "cuda" and made.number % 5 == 0 else "",
        "precision": bench.task.precision,
        "dtypes": list(bench.task.dtypes),
        "device": bench.device,
        "execution": "native",
        "tier": tier,
        "seed": int(random.integers(1 << 53)),
        "replay": False,
        "status": made.status,
        "reason": _REASONS.get(made.status, ""),
        "log": "kernel.cpp: In function 'void f()':\n" * 8 if made.status == "build_failed" else "",
        "findings": _findings(made),
        "labels": ["calls a library"] if made.number % 6 == 0 else [],
        "search": {"examples": 300, "covered": dict.fromkeys(bench.task.dtypes, 100)},
        "timings": _timings(made, random) if is_timed else [],
        "handshake": "spin" if is_timed else "none",
        "clock": "judge" if is_timed else "none",
        "isolation": list(LAYERS),
        "rule": "three-metric-v5",
        "seconds": _SECONDS,
        "environment": _environment(made),
        "started_at": (_EPOCH + timedelta(seconds=37 * number)).isoformat().replace("+00:00", "Z"),
    }


_SECONDS = {
    "start": 0.1, "build": 0.5, "check": 20.25, "timing": 60.5, "kernels": 30.0, "inputs": 10.0, "judging": 20.0,
    "total": 82.0,
}  # fmt: skip


def _findings(made: Made) -> list[dict[str, Any]]:
    found = {"guard": "idle", "severity": "warn", "message": "no thread ran in 3 of 40 calls"}
    if made.status == "rejected":
        found |= {"guard": "freshness", "severity": "reject", "message": "12 outputs are those of an earlier call"}
    elif made.number % 11:
        return []
    return [{**found, "evidence": {"calls": 40, "share": 0.075}}]


def _environment(made: Made) -> dict[str, str]:
    facts = {
        "kbench": "0.0.9" if made.number % 61 == 60 else "0.1.0", "harness": "0123456789abcdef", "python": "3.11.2",
        "torch": "2.13.0", "triton": "3.7.1", "numpy": "2.4.1", "kernel": "6.1.0-32-amd64", "architecture": "x86_64",
        "processor": DEVICES["cpu"], "cores": "2", "byteorder": "little", "device": DEVICES[made.bench.device],
        "last_level_cache": "32 MiB", "cache_flush": "by address, 64 MiB read", "tf32": "off",
    }  # fmt: skip
    return facts | ({"driver": "580.65.06", "cuda": "13.0"} if made.bench.device == "cuda" else {})


def _timings(made: Made, random: np.random.Generator) -> list[dict[str, Any]]:
    samples_ns = _samples_ns(made, random)
    timings = []
    for which, (axes, dtype) in enumerate(made.bench.timed):
        sessions = int(random.choice(_SESSIONS, p=_HOW_OFTEN))
        timings.append(
            {
                "axes": axes,
                "dtype": dtype,
                "sessions": [_session(made, samples_ns[which, :, each], random) for each in range(sessions)],
                "floor_us": round(float(made.bench.floors_ns[which]) / 1e3, 3),
            }
        )
    return timings


def _samples_ns(made: Made, random: np.random.Generator) -> NDArray[np.uint32]:
    """Draw [timed, contestant, session, round]: a round shares its drift; processes differ more than their calls."""
    timed, contestants = made.medians_ns.shape
    shape = (timed, contestants, MOST_SESSIONS, MOST_ROUNDS)
    calls = random.standard_normal(shape, dtype=np.float32)
    logs = np.log(made.medians_ns)[:, :, None, None].astype(np.float32) + 0.008 * calls
    logs += random.normal(0, 0.003, (timed, contestants, MOST_SESSIONS, 1)).astype(np.float32)
    logs += random.normal(0, 0.01, (timed, 1, MOST_SESSIONS, MOST_ROUNDS)).astype(np.float32)
    logs += np.float32(0.4) * (calls > 2.8)
    return np.exp(logs).astype("<u4")


def _session(made: Made, samples_ns: NDArray[np.uint32], random: np.random.Generator) -> dict[str, Any]:
    rounds = int(random.integers(FEWEST_ROUNDS, MOST_ROUNDS + 1, 2).min())
    names = made.bench.contestants
    stop = {"stop": "precision"} if rounds < 40 else {}
    return stop | {
        "samples": {
            name: base64.b64encode(samples_ns[which, :rounds].tobytes()).decode() for which, name in enumerate(names)
        },
        "foreign_load": 0.2 if made.number % 37 == 36 else 0.01,
        "first_call_us": {name: float(samples_ns[which, 0]) / 500 for which, name in enumerate(names)},
        "hot_us": {"candidate": float(samples_ns[0, 0]) / 1250},
    }


def is_failure(record: RunRecord) -> bool:
    """Tell if the record's submission is to blame."""
    return record.status not in (Status.PASSED, Status.UNSUPPORTED, Status.HARNESS_ERROR)
