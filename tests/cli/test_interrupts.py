"""Ctrl-C is heeded where an import swallows what it raises."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from robust_kbench.cli.interrupts import heeded


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def _usual_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_is_swallowed_comes_at_the_end() -> None:
    reached = []

    def work() -> None:
        with suppress(KeyboardInterrupt):
            _interrupt()
        reached.append("end")

    with pytest.raises(KeyboardInterrupt), heeded():
        work()
    assert reached == ["end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_ends_what_lets_it_through_at_once() -> None:
    reached = []

    def work() -> None:
        _interrupt()
        reached.append("end")

    with pytest.raises(KeyboardInterrupt), heeded():
        work()
    assert reached == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("comes", [True, False])
def test_an_error_of_what_was_interrupted_is_an_interrupt(comes: bool) -> None:
    def work() -> None:
        with suppress(KeyboardInterrupt):
            if comes:
                _interrupt()
        raise ImportError("half imported")

    with pytest.raises(KeyboardInterrupt if comes else ImportError), heeded():
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_is_raised_where_nothing_came() -> None:
    with heeded():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_ignored_interrupts_are_left_alone() -> None:
    reached = []

    def work() -> None:
        with heeded():
            reached.append("in a thread")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with heeded():
        _interrupt()
        reached.append("ignored")
    assert reached == ["in a thread", "ignored"]
