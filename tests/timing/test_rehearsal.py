"""Baselines are called with zeros before anything is timed, and are found loaded by the session."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from robust_kbench.cases.values import make_inputs
from robust_kbench.errors import HarnessError
from robust_kbench.isolation.protocol import Loaded, Raised
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import FloatDType, shape_of
from robust_kbench.timing.rehearsal import rehearsal_of
from robust_kbench.timing.workers import Workers
from robust_kbench.worker import arguments
from robust_kbench.worker.cuda.memory import Zeros

TASKS = ("norm/rmsnorm", "random/dropout", "index/gather_rows", "attention/causal", "loss/cross_entropy")


@pytest.mark.parametrize("name", TASKS)
def test_a_rehearsal_calls_the_reference_with_zeros_of_the_timed_shapes(name: str) -> None:
    loaded = load_task(name)
    axes = {axis: min(size, 64) for axis, size in loaded.spec.timed["cuda"][0].items()}
    assert loaded.spec.misfit(axes) is None
    case = Case(axes=axes, dtype="float32", seed=3, role="timed")
    request = json.loads(json.dumps(rehearsal_of(loaded.spec, case)))
    called_with = arguments.build("value", Zeros("cpu"), request["inputs"], request["outputs"], request["axes"])
    arguments.receive(called_with, {int(place): value for place, value in request["scalars"].items()})
    for argument, drawn in zip(called_with, make_inputs(loaded.spec, case).values.values(), strict=True):
        if not isinstance(drawn, torch.Tensor):
            assert argument == drawn
        else:
            assert (argument.shape, argument.stride()) == (drawn.shape, drawn.stride())
            assert argument.dtype == drawn.dtype
            assert argument.storage_offset() > 0  # as in the judge's memory
            assert not argument.any()
    namespace: dict[str, Any] = {}
    exec(loaded.reference, namespace)
    result = namespace["reference"](*called_with)
    first = result[0] if isinstance(result, tuple) else result
    assert tuple(first.shape) == shape_of(next(iter(loaded.spec.outputs.values())), axes)


def test_what_is_compiled_for_zeros_serves_tensors_that_lie_in_one_memory() -> None:
    """The judge's tensors lie so, at other offsets in each call. The first shape's offsets count as fixed."""
    compiled = list[int]()

    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(1)
        return graph.forward

    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    def call(*tensors: torch.Tensor) -> None:
        for tensor in tensors:
            torch._dynamo.mark_static(tensor)
        each_shape(*tensors)

    torch._dynamo.reset()
    each_shape = torch.compile(reference, backend=backend)
    memory = torch.zeros(1 << 16, dtype=torch.uint8)
    for cols in (8, 16, 32):
        spec = {"dtype": "float32", "shape": [cols], "stride": [1], "span": cols}
        zeros = Zeros("cpu")
        call(zeros.tensor(spec), zeros.tensor(spec))
    assert len(compiled) == 3
    for cols in (16, 32):
        for offset in (4096, 16384):
            places = [memory[at : at + 4 * cols].view(torch.float32) for at in (offset, offset + 8192)]
            call(*(place.as_strided([cols], [1]) for place in places))
    assert len(compiled) == 3


class Worker:
    def __init__(self, name: str) -> None:
        self.name, self.requests = name, list[Any]()
        self.answer: Any = Loaded(nonce=1, outcome="loaded")

    def rehearse(self, request: Any, **_: Any) -> Any:
        self.requests.append((request["dtype"], request["axes"]))
        return self.answer


def workers(monkeypatch: pytest.MonkeyPatch) -> tuple[Workers, list[tuple[str, list[str]]]]:
    loaded = list[tuple[str, list[str]]]()

    def load(self: Workers, contestant: Any, worker: Any, dtypes: Any, heap_bytes: int) -> None:
        loaded.append((contestant.name, list(dtypes)))

    monkeypatch.setattr(Workers, "_load", load)
    unused: Any = None
    device: Any = SimpleNamespace(handshake="blocking", starts_at_once=4)
    arenas: Any = SimpleNamespace(wipe=lambda: None)
    made = Workers(unused, device, arenas)
    opened: Any = [(SimpleNamespace(name=name), Worker(name)) for name in ("candidate", "eager", "control")]
    made._opened = opened
    return made, loaded


def prepare(made: Workers, *, is_off: bool = False) -> None:
    for each in made.preparations(load_task("norm/rmsnorm").spec, CASES, lambda: is_off):
        each()


CASES = [
    Case(axes={"rows": 8, "cols": cols}, dtype=dtype, seed=1, role="timed")
    for cols in (16, 32)
    for dtype in ("float32", "float16")
]


def test_baselines_load_once_and_are_called_for_every_case_and_the_candidate_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, loaded = workers(monkeypatch)
    prepare(made)
    dtypes: list[FloatDType] = ["float32", "float16"]
    assert sorted(loaded) == [("control", dtypes), ("eager", dtypes)]
    called = {contestant.name: worker.requests for contestant, worker in made._opened}  # type: ignore[attr-defined]
    every = [(case.dtype, list(case.axes.values())) for case in CASES]
    assert called == {"candidate": [], "eager": every, "control": every}
    made.load(dtypes, 0)
    assert sorted(loaded) == [("candidate", dtypes), ("control", dtypes), ("eager", dtypes)]
    assert set(made.called) == {"candidate", "eager", "control"}
    assert len(made._running) == 3


def test_nobody_is_called_any_more_when_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    made, loaded = workers(monkeypatch)
    prepare(made, is_off=True)
    assert loaded == []
    assert all(worker.requests == [] for _, worker in made._opened)  # type: ignore[attr-defined]


def test_a_baseline_that_cannot_be_called_with_zeros_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = workers(monkeypatch)
    broken: Any = made._opened[-1][1]
    broken.answer = Raised(nonce=1, outcome="raised", type="RuntimeError", message="device-side assert", where="")
    with pytest.raises(HarnessError, match="device-side assert"):
        prepare(made)


@pytest.mark.parametrize("is_surely_gone", [True, False])
def test_the_arena_of_a_worker_whose_end_was_not_seen_is_abandoned(is_surely_gone: bool) -> None:
    abandoned = list[str]()
    unused: Any = None
    arenas: Any = SimpleNamespace(abandon=abandoned.append)
    made = Workers(unused, unused, arenas)
    ended: Any = (SimpleNamespace(name="candidate"), SimpleNamespace(is_surely_gone=is_surely_gone))
    made._opened = [ended]
    made.close()
    assert abandoned == ([] if is_surely_gone else ["candidate"])
