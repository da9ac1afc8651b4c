"""Contexts of workers that are never timed have few channels, and their submissions find nothing of it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robust_kbench import contestant as contestants
from robust_kbench.contestant import Contestant
from robust_kbench.errors import HarnessError, WorkerTimedOut
from robust_kbench.isolation.protocol import Loaded
from robust_kbench.worker import devices, session

QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"


@pytest.mark.parametrize(("is_few", "expected"), [(True, "2"), (False, None)])
def test_the_driver_is_asked_for_few_channels_while_the_device_is_opened(
    monkeypatch: pytest.MonkeyPatch, is_few: bool, expected: str | None
) -> None:
    seen = list[str | None]()

    def opened() -> Any:
        seen.append(os.environ.get(QUEUES))
        return SimpleNamespace(open_memory=lambda *_: None)

    monkeypatch.delenv(QUEUES, raising=False)
    monkeypatch.setitem(devices.DEVICES, "cuda", opened)
    served: Any = SimpleNamespace(_arena_fd=0, _answer=lambda *_: None, _signal=lambda *_: None)
    served._open_device = lambda request: session._Session._open_device(served, request)
    session._Session._open(served, {"nonce": 1, "spin": False, "device": "cuda", "few_queues": is_few})
    assert seen == [expected]
    assert QUEUES not in os.environ


@pytest.mark.parametrize(("kind", "is_few"), [("cuda", True), ("cuda", False), ("cpu", True)])
def test_a_cuda_device_is_opened_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, is_few: bool
) -> None:
    log = list[Any]()

    def load(request: Any, **_: Any) -> Loaded:
        log.append("load")
        return Loaded(nonce=1, outcome="loaded")

    artefact: Any = SimpleNamespace(
        load_request=lambda device: {}, execution="native", path=tmp_path / "kernel.py", home=tmp_path, sources={}
    )
    worker: Any = SimpleNamespace(
        scratch=tmp_path,
        load=load,
        open=lambda kind, *, few_queues, **_: log.append(few_queues),
        close=lambda: log.append("close"),
    )
    device: Any = SimpleNamespace(kind=kind, handshake="block")
    submission: Any = SimpleNamespace(file=SimpleNamespace(language="cuda"))
    made = Contestant("candidate", submission, {"float32": artefact})
    monkeypatch.setattr(contestants.Contestant, "open", lambda *_, **__: worker)
    unused: Any = None
    made.start(unused, unused, device, "float32", few_queues=is_few)
    assert log == ([is_few, "load"] if kind == "cuda" else ["load"])

    def fail(*_: Any, **__: Any) -> None:
        raise WorkerTimedOut("opening the device", "")

    log.clear()
    worker.open = fail
    if kind == "cuda":
        with pytest.raises(HarnessError, match="a worker cannot open the device"):  # it is nobody's submission yet
            made.start(unused, unused, device, "float32")
        assert log == ["close"]
