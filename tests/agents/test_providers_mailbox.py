"""Questions in a folder, and whoever answers them: quickly, slowly, in part, too much, or never."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.agents.providers.mailbox import Mailbox
from robust_kbench.agents.providers.outside import MAX_ANSWER
from robust_kbench.agents.providers.protocol import Message, ProviderError, Request
from robust_kbench.errors import UsageError


def request(text: str = "Write a kernel.", number: int = 1) -> Request:
    return Request("code", "mailbox", (Message("user", text),), 0.5, 100, number)


def mailbox(folder: Path, timeout_s: float = 30.0) -> Mailbox:
    return Mailbox(folder, timeout_s=timeout_s, poll_s=0.02)


def put(folder: Path, name: str, text: str | bytes) -> None:
    """An answer, as it should be put."""
    unfinished = folder / f"{name}.unfinished"
    unfinished.write_bytes(text if isinstance(text, bytes) else text.encode())
    unfinished.replace(folder / "outbox" / f"{name}.md")


@contextmanager
def somebody(folder: Path, answer: Callable[[dict[str, Any]], str | bytes]) -> Iterator[list[dict[str, Any]]]:
    """Answers what is asked, in a thread; the questions that were seen."""
    seen: list[dict[str, Any]] = []
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(0.01):
            for file in sorted((folder / "inbox").glob("[!.]*.json")):
                question = json.loads(file.read_text())
                seen.append(question)
                file.unlink()
                put(folder, file.stem, answer(question))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def test_a_question_is_complete_and_its_answer_is_taken(tmp_path: Path) -> None:
    asked = request()
    with somebody(tmp_path, lambda question: f"you said: {question['messages'][0]['text']}") as seen:
        reply = mailbox(tmp_path).complete(asked)
    assert reply.text == "you said: Write a kernel."
    assert (reply.model, reply.input_tokens, reply.output_tokens, reply.usd) == ("mailbox", None, None, None)
    assert reply.seconds > 0
    expected = {"answer": f"outbox/code-{asked.digest}.md", **json.loads(json.dumps(asdict(asked)))}
    assert seen == [expected]
    assert not list((tmp_path / "inbox").iterdir())


def test_what_was_answered_before_is_not_asked_again(tmp_path: Path) -> None:
    with somebody(tmp_path, lambda question: "an answer") as seen:
        assert mailbox(tmp_path).complete(request()).text == "an answer"
        assert mailbox(tmp_path).complete(request()).text == "an answer"
    assert len(seen) == 1


def test_each_question_gets_its_own_answer(tmp_path: Path) -> None:
    box = mailbox(tmp_path)

    def answer(question: dict[str, Any]) -> str:
        return f"answer to {question['messages'][0]['text']}"

    with somebody(tmp_path, answer), ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda number: box.complete(request(f"{number}", number)), range(16)))
    assert [reply.text for reply in replies] == [f"answer to {number}" for number in range(16)]


def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"outbox/code-[0-9a-f]{16}\.md: nobody has answered in 0\.1 s") as caught:
        mailbox(tmp_path, timeout_s=0.1).complete(request())
    assert not caught.value.is_final
    assert len(list((tmp_path / "inbox").glob("*.json"))) == 1  # and can still be answered


def test_a_file_that_is_empty_or_no_file_is_no_answer_yet(tmp_path: Path) -> None:
    box, asked = mailbox(tmp_path, timeout_s=0.2), request()
    place = tmp_path / "outbox" / f"code-{asked.digest}.md"
    place.touch()
    with pytest.raises(ProviderError, match="nobody has answered"):
        box.complete(asked)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(ProviderError, match="nobody has answered"):
        box.complete(asked)
    place.unlink()
    place.mkdir()
    with pytest.raises(ProviderError, match="nobody has answered"):
        box.complete(asked)


def test_a_file_that_still_grows_is_no_answer_yet(tmp_path: Path) -> None:
    box, asked = Mailbox(tmp_path, timeout_s=30.0, poll_s=0.3), request()

    def write() -> None:
        with (tmp_path / "outbox" / f"code-{asked.digest}.md").open("w") as file:
            for _ in range(10):
                file.write("piece ")
                file.flush()
                time.sleep(0.05)

    thread = threading.Thread(target=write)
    thread.start()
    assert box.complete(asked).text == "piece " * 10
    thread.join()


@pytest.mark.parametrize(
    ("answer", "words"),
    [(" \n\t", "without text"), ("x" * (MAX_ANSWER + 1), "characters; at most"), (b"x" * 10_000_000, "at most")],
    ids=["blanks", "too long", "a flood"],
)
def test_an_answer_that_is_none_does_not_end_the_run(answer: str | bytes, words: str, tmp_path: Path) -> None:
    with somebody(tmp_path, lambda question: answer), pytest.raises(ProviderError, match=words) as caught:
        mailbox(tmp_path).complete(request())
    assert not caught.value.is_final
    assert len(str(caught.value)) < 1000


def test_bytes_that_are_no_text_are_made_text(tmp_path: Path) -> None:
    with somebody(tmp_path, lambda question: b"\xff\xfe kernel \xed\xa0\x80"):
        reply = mailbox(tmp_path).complete(request())
    assert " kernel " in reply.text
    reply.text.encode()


def test_a_question_that_utf8_cannot_carry_is_put_all_the_same(tmp_path: Path) -> None:
    with somebody(tmp_path, lambda question: question["messages"][0]["text"]):
        assert mailbox(tmp_path).complete(request("a\ud800b")).text == "a?b"


def test_a_folder_that_cannot_be_is_a_wrong_request(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--llm mailbox: "):
        Mailbox(tmp_path / "file")
