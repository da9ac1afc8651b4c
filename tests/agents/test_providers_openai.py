"""The real client against a server that speaks the chat protocol, well and badly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from test_sequences import BRIEF, ROOT_CODE, judge

from robust_kbench.agents import preset as presets
from robust_kbench.agents import run
from robust_kbench.agents.budget import Limits
from robust_kbench.agents.journal import JOURNAL, Journal
from robust_kbench.agents.loop import Setting, started
from robust_kbench.agents.providers.openai import OpenAI
from robust_kbench.agents.providers.outside import MAX_ANSWER, MAX_ANSWER_BYTES
from robust_kbench.agents.providers.protocol import Message, ProviderError, Reply, Request

pytest.importorskip("openai", reason="the openai package is not installed; pip install 'robust-kbench[agent]'")

KEY = "sk-0123456789-this-is-the-key"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
SOON = {"retry-after-ms": "10"}


class Handler(BaseHTTPRequestHandler):
    """Gives the answers of its server in their order, and notes what it was asked, and when."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.asked: dict[str, Any] = json.loads(self.rfile.read(length))
        with self.server.lock:
            self.server.asked.append(self.asked)
            self.server.paths.append(self.path)
            self.server.times.append(time.monotonic())
            self.server.keys.append(self.headers["Authorization"])
            answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        answer(self)

    def log_message(self, format: str, *arguments: object) -> None:
        """To nobody."""


class Server(ThreadingHTTPServer):
    """`answers`: the last one is given again and again."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.answers: list[Answer] = [say()]
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.keys: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error here."""


Answer = Callable[[Handler], None]


def send(
    handler: Handler, body: bytes, *, status: int = 200, kind: str = "application/json", length: int | None = None,
    headers: dict[str, str] | None = None,
) -> None:  # fmt: skip
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True


def completion(text: object = "hello", **others: object) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    facts = {"id": "1", "object": "chat.completion", "created": 1, "model": "made-up-1", "choices": [choice]}
    return {**facts, "usage": usage, **others}


def say(text: object = "hello", **others: object) -> Answer:
    return lambda handler: send(handler, json.dumps(completion(text, **others)).encode())


def raw(body: bytes | str, **how: Any) -> Answer:
    return lambda handler: send(handler, body if isinstance(body, bytes) else body.encode(), **how)


def fail(status: int, *, headers: dict[str, str] | None = None, **error: object) -> Answer:
    body = json.dumps({"error": {"message": "no", **error}}).encode()
    return lambda handler: send(handler, body, status=status, headers=headers or {})


def silence(seconds: float) -> Answer:
    def answer(handler: Handler) -> None:
        handler.server.ending.wait(seconds)
        handler.close_connection = True

    return answer


def drip(pause_s: float, count: int, body: bytes = b"") -> Answer:
    """Blanks, one after the other, then `body`: JSON may begin with blanks."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(count + len(body)))
        handler.end_headers()
        for _ in range(count):
            handler.wfile.write(b" ")
            if handler.server.ending.wait(pause_s):
                return
        handler.wfile.write(body)

    return answer


def echo(handler: Handler) -> None:
    send(handler, json.dumps(completion(handler.asked["messages"][-1]["content"])).encode())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    with Server() as opened:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{opened.server_address[1]}/v1")
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield opened
        opened.ending.set()
        opened.shutdown()
        thread.join()


def request(text: str = "Write a kernel.", *, temperature: float | None = 0.5, number: int = 7) -> Request:
    return Request("code", "asked-for", (Message("user", text),), temperature, 100, number)


def failure(provider: OpenAI) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider.complete(request())
    return caught.value


def test_an_answer_comes_with_counts_and_with_the_model_that_gave_it(server: Server) -> None:
    reply = OpenAI().complete(request())
    assert reply.seconds > 0
    assert reply == Reply("hello", "made-up-1", 11, 7, None, reply.seconds, 1)


def test_what_is_asked_is_what_the_agent_asks(server: Server) -> None:
    messages = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    OpenAI().complete(Request("code", "asked-for", messages, 0.25, 123, 42))
    assert server.paths == ["/v1/chat/completions"]
    assert server.keys == [f"Bearer {KEY}"]
    assert server.asked == [
        {
            "model": "asked-for",
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"},
                {"role": "user", "content": "c"},
            ],
            "temperature": 0.25,
            "max_tokens": 123,
            "seed": 42,
        }
    ]


def test_a_model_that_refuses_temperatures_is_asked_for_none(server: Server) -> None:
    provider = OpenAI(is_tuned=False)
    provider.complete(request())
    assert set(server.asked[0]) == {"model", "messages", "max_completion_tokens"}


def test_no_temperature_is_left_out(server: Server) -> None:
    OpenAI().complete(request(temperature=None))
    assert "temperature" not in server.asked[0]


def test_a_rate_limit_is_waited_for_as_long_as_the_server_wants(server: Server) -> None:
    server.answers = [fail(429, headers={"Retry-After": "1"}), say()]
    reply = OpenAI().complete(request())
    assert (reply.text, reply.attempts) == ("hello", 2)
    assert server.times[1] - server.times[0] >= 0.95


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
def test_what_passes_is_asked_again(status: int, server: Server) -> None:
    server.answers = [fail(status, headers=SOON), fail(status, headers=SOON), say()]
    reply = OpenAI().complete(request())
    assert (reply.text, reply.attempts) == ("hello", 3)


def test_a_server_that_hangs_is_asked_again(server: Server) -> None:
    server.answers = [silence(30), say()]
    started = time.monotonic()
    reply = OpenAI(timeout_s=0.5).complete(request())
    assert (reply.text, reply.attempts) == ("hello", 2)
    assert time.monotonic() - started < 10


def test_retries_come_to_an_end(server: Server) -> None:
    server.answers = [fail(503, headers=SOON)]
    error = failure(OpenAI(retries=2))
    assert "status 503" in str(error)
    assert not error.is_final
    assert len(server.asked) == 3


def test_a_server_that_is_not_there_is_no_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.shutdown()
    server.server_close()
    error = failure(OpenAI(retries=0))
    assert "APIConnectionError" in str(error)
    assert not error.is_final


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(raw("<html>busy</html>", kind="text/html"), "is no JSON: <html>busy", id="a page"),
        pytest.param(raw("{'choices': ["), "is no JSON", id="garbage"),
        pytest.param(raw(b"\xff\xfe\x00garbage"), "is no JSON", id="no UTF-8"),
        pytest.param(raw(""), "is no JSON", id="nothing"),
        pytest.param(raw("[" * 100_000), "is no JSON", id="very deep"),
        pytest.param(raw(json.dumps(completion())[:60]), "is no JSON", id="the beginning of JSON"),
        pytest.param(raw(json.dumps(completion()), length=10_000), "", id="a body that breaks off"),
        pytest.param(raw("null"), "without text", id="null"),
        pytest.param(raw("[1, 2]"), "without text", id="a list"),
        pytest.param(raw('"hello"'), "without text", id="a text"),
        pytest.param(raw("{}"), "without text", id="an empty object"),
        pytest.param(say(choices=None), "without text", id="no choices"),
        pytest.param(say(choices=[]), "without text", id="an empty list of choices"),
        pytest.param(say(choices="hello"), "without text", id="a text for choices"),
        pytest.param(say(choices=[None]), "without text", id="null for a choice"),
        pytest.param(say(choices=[{"message": None}]), "without text", id="null for a message"),
        pytest.param(say(choices=[{"message": "hello"}]), "without text", id="a text for a message"),
        pytest.param(say(None), "without text", id="null for a text"),
        pytest.param(say(5), "without text", id="a number for a text"),
        pytest.param(say(" \n"), "without text", id="blanks"),
        pytest.param(say(""), "without text", id="an empty text"),
        pytest.param(say("x" * (MAX_ANSWER + 1)), "characters; at most", id="far too long"),
        pytest.param(raw(b" " * (MAX_ANSWER_BYTES + 10_000)), "more than 4,194,304 bytes", id="a flood"),
    ],
)
def test_an_answer_that_is_none_is_an_error_which_does_not_end_the_run(
    body: Answer, words: str, server: Server
) -> None:
    server.answers = [body]
    error = failure(OpenAI(retries=0))
    assert str(error).startswith("openai: ")
    assert words in str(error)
    assert not error.is_final
    assert len(str(error)) < 500


def test_an_answer_that_was_cut_off_is_none(server: Server) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "```cpp\nint"}, "finish_reason": "length"}
    server.answers = [say(choices=[choice])]
    assert "cut off after 100 tokens" in str(failure(OpenAI()))


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (None, (None, None, None)),
        ({}, (None, None, None)),
        ("many", (None, None, None)),
        ([1, 2], (None, None, None)),
        ({"prompt_tokens": "11", "completion_tokens": 1.5}, (None, None, None)),
        ({"prompt_tokens": -1, "completion_tokens": True}, (None, None, None)),
        ({"prompt_tokens": 10**30, "completion_tokens": 3}, (None, 3, None)),
        ({"prompt_tokens": 5, "completion_tokens": 0, "cost": 0.25}, (5, 0, 0.25)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "cost": -1}, (5, 6, None)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "cost": float("nan")}, (5, 6, None)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "cost": float("inf")}, (5, 6, None)),
        ({"prompt_tokens": 5, "completion_tokens": 6, "cost": 10**400}, (5, 6, None)),
    ],
)
def test_counts_that_are_missing_or_absurd_are_not_known(
    usage: object, counts: tuple[int | None, int | None, float | None], server: Server
) -> None:
    server.answers = [say(usage=usage)]
    reply = OpenAI().complete(request())
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.usd) == ("hello", *counts)


def test_usage_that_is_not_told_at_all(server: Server) -> None:
    body = completion()
    del body["usage"]
    server.answers = [raw(json.dumps(body))]
    reply = OpenAI().complete(request())
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("hello", None, None)


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_will_not_pass_ends_the_run_and_is_asked_once(status: int, server: Server) -> None:
    server.answers = [fail(status)]
    error = failure(OpenAI())
    assert error.is_final
    assert f"status {status}" in str(error)
    assert len(server.asked) == 1


def test_an_account_without_money_ends_the_run(server: Server) -> None:
    server.answers = [fail(429, headers=SOON, code="insufficient_quota")]
    assert failure(OpenAI(retries=1)).is_final


def test_a_prompt_that_is_too_long_costs_its_candidate_alone(server: Server) -> None:
    server.answers = [fail(400, code="context_length_exceeded")]
    error = failure(OpenAI())
    assert not error.is_final
    assert len(server.asked) == 1


def test_a_model_that_takes_no_temperature_is_told_how_to_be_asked(server: Server) -> None:
    server.answers = [fail(400, message="Unsupported value: 'temperature' does not support 0.5", param="temperature")]
    assert "openai-plain:MODEL" in str(failure(OpenAI()))
    assert "openai-plain" not in str(failure(OpenAI(is_tuned=False)))


def test_a_slow_answer_is_waited_for(server: Server) -> None:
    server.answers = [drip(0.05, 10, json.dumps(completion("slow")).encode())]
    assert OpenAI(timeout_s=5).complete(request()).text == "slow"


def test_an_answer_that_never_ends_is_not(server: Server) -> None:
    server.answers = [drip(0.05, 10_000)]
    started = time.monotonic()
    error = failure(OpenAI(timeout_s=1, retries=0))
    assert "longer than 1 s" in str(error)
    assert time.monotonic() - started < 10


def test_a_server_that_says_our_key_is_not_repeated(server: Server) -> None:
    def tell(status: int) -> Answer:
        def answer(handler: Handler) -> None:
            said = handler.headers["Authorization"]
            body = completion(f"Your key is {said}.", model=said)
            error = {"error": {"message": f"{'x' * 240} wrong key: {said}"}}
            send(handler, json.dumps(body if status == 200 else error).encode(), status=status)

        return answer

    server.answers = [tell(200), tell(401), raw(f"not JSON: {KEY}")]
    reply = OpenAI().complete(request())
    assert reply.text == "Your key is Bearer [key]."
    assert KEY not in reply.model
    for _ in range(2):
        words = str(failure(OpenAI()))
        assert not any(KEY[:length] in words for length in range(10, len(KEY) + 1))


def test_a_key_that_is_no_secret_is_not_cut_out_of_code(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.answers = [say("if none is left")]
    assert OpenAI().complete(request()).text == "if none is left"


def test_text_that_utf8_cannot_carry_and_names_that_steer_terminals_are_made_harmless(server: Server) -> None:
    server.answers = [raw('{"model": "\\u001b[31mred\\n", "choices": [{"message": {"content": "a\\ud800b"}}]}')]
    reply = OpenAI().complete(request())
    assert reply.text == "a?b"
    assert reply.model.isprintable()


def test_threads_get_their_own_answers(server: Server) -> None:
    server.answers = [echo]
    provider = OpenAI()
    asked = [request(f"question {number}", number=number) for number in range(16)]
    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(provider.complete, asked))
    assert [reply.text for reply in replies] == [each.messages[0].text for each in asked]


def test_a_run_goes_on_after_failures_and_its_journal_holds_no_key(server: Server, tmp_path: Path) -> None:
    kernel = say("```cpp\nnumber 2\n```")
    leak = say(f"{KEY}\n```cpp\nnumber 3 {KEY}\n```")
    server.answers = [fail(503, headers=SOON), kernel, raw("garbage"), leak, say(None), say("no kernel"), kernel]
    root = started(ROOT_CODE, judge([("root", ROOT_CODE)])[0][1], is_reference=False)
    preset = presets.load("best-of-n").model_copy(update={"limits": Limits(evaluations=4)})
    with Journal(tmp_path / JOURNAL) as journal:
        setting = Setting(preset, BRIEF, root, "cpp", ("asked-for",), 1)
        outcome, budget = run.search(setting, journal, {"asked-for": OpenAI()}, judge)
    assert outcome.stop == "budget"
    assert [node.judged.stage for node in list(outcome.archive)[1:]] == ["time", "time", "parse", "time"]
    assert (budget.spent.calls, budget.spent.evaluations) == (6, 4)
    text = (tmp_path / JOURNAL).read_text()
    assert KEY not in text
    assert "[key]" in text
    events = [json.loads(line) for line in text.splitlines()]
    assert [event["reply"]["attempts"] for event in events if event["event"] == "call"] == [2, 1, 1, 1]
