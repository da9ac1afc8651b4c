"""Programs that answer, fail, hang, flood, leak and leave children behind: small Python scripts in their place."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from robust_kbench.agents.providers import command
from robust_kbench.agents.providers.command import Command, CommandLine, read_facts, shipped
from robust_kbench.agents.providers.outside import MAX_ANSWER, MAX_ANSWER_BYTES
from robust_kbench.agents.providers.protocol import Message, ProviderError, Reply, Request
from robust_kbench.errors import SpecError, UsageError
from robust_kbench.isolation import processes

KEY = "secret-0123456789"
ANSWER = "```cpp\nint x;\n```"


def provider(folder: Path, program: str, *words: str, attempts: int = 1, **facts: Any) -> CommandLine:
    """Runs `program`, which may use json, os, subprocess, sys and time."""
    file = folder / "program.py"
    file.write_text("import json, os, subprocess, sys, time\n" + textwrap.dedent(program))
    argv = (sys.executable, "-I", str(file), *words)
    return CommandLine("fake", Command(argv=argv, **facts), attempts=attempts, pause_s=0.01)


def request(text: str = "Write a kernel.", model: str = "made-up") -> Request:
    return Request("code", model, (Message("user", text),), 0.5, 100, 1)


def ask(folder: Path, program: str, *words: str, **facts: Any) -> Reply:
    return provider(folder, program, *words, **facts).complete(request())


def failure(asked: CommandLine) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        asked.complete(request())
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
    return caught.value


def has_ended(pid: int) -> bool:
    for _ in range(200):
        if processes.state(pid) in "ZX":
            return True
        time.sleep(0.01)
    return False


def test_the_prompt_goes_in_and_the_answer_comes_out(tmp_path: Path) -> None:
    reply = ask(tmp_path, "print('heard: ' + sys.stdin.read() + sys.argv[1])", " and {model}")
    assert reply == Reply("heard: Write a kernel. and made-up\n", "made-up", seconds=reply.seconds)
    assert reply.seconds > 0


def test_turns_are_one_text(tmp_path: Path) -> None:
    turns = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    asked = Request("compile", "made-up", turns, 0.0, 100, 1)
    reply = provider(tmp_path, "print(sys.stdin.read())").complete(asked)
    assert reply.text.strip() == "[user]\na\n\n[assistant]\nb\n\n[user]\nc"


def test_it_runs_in_an_empty_folder_of_its_own_which_is_gone_afterwards(tmp_path: Path) -> None:
    program = "print(json.dumps([os.getcwd(), os.listdir('.')])); open('left', 'w').write('behind')"
    asked = provider(tmp_path, program)
    folders = []
    for _ in range(2):
        folder, files = json.loads(asked.complete(request()).text)
        assert files == []
        assert not Path(folder).exists()
        folders.append(folder)
    assert folders[0] != folders[1]


def test_it_sees_the_variables_that_it_needs_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "SSH_AUTH_SOCK",
        "PYTHONPATH",
        "LD_PRELOAD_",
    ):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("WANTED", "a place")
    reply = ask(tmp_path, "print(json.dumps(dict(os.environ)))", environment=("WANTED", "NOT_THERE"))
    seen = json.loads(reply.text)
    assert seen.pop("WANTED") == "a place"
    assert seen["PATH"] == os.environ["PATH"]
    assert KEY not in reply.text
    assert set(seen) <= {*command._USUAL, "LC_CTYPE", "PWD", "SHLVL", "_"}


LEAKS = {
    "as its answer": "print('the key is ' + os.environ['MY_KEY'])",
    "as its last words": "sys.exit('wrong key: ' + os.environ['MY_KEY'])",
    "as its output before it fails": "print(os.environ['MY_KEY'] * 40); sys.exit(1)",
}


@pytest.mark.parametrize("program", LEAKS.values(), ids=LEAKS)
def test_a_key_that_it_was_given_is_not_repeated(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    try:
        said = ask(tmp_path, program, keys=("MY_KEY",)).text
    except ProviderError as error:
        said = str(error)
    assert "[key]" in said
    assert "secret" not in said


@pytest.mark.parametrize("escaped", [KEY, "\\u0073ecret-0123456789"])
@pytest.mark.parametrize(
    "document",
    ['{"text": "it is %s"}', '{"text": "x", "wrong": "it is %s"}', '{"text": %s'],
    ids=["text", "error", "no"],
)
def test_nor_is_it_when_it_stands_in_json(
    document: str, escaped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    facts = {"output": "json", "text": "text", "error": "wrong", "keys": ("MY_KEY",)}
    try:
        said = ask(tmp_path, "print(sys.argv[1])", document % escaped, **facts).text
    except ProviderError as error:
        said = str(error)
    assert KEY not in said


RESULT = {
    "type": "result",
    "is_error": False,
    "result": ANSWER,
    "total_cost_usd": 0.0125,
    "usage": {"input_tokens": 4, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 9},
}
EVENTS = [
    {"type": "thread.started", "thread_id": "1"},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "first thoughts"}},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "I think"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": ANSWER}},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "that was it"}},
    {"type": "turn.completed", "usage": {"input_tokens": 30, "cached_input_tokens": 10, "output_tokens": 5}},
]
RESPONSE = {
    "response": ANSWER,
    "stats": {
        "models": {
            "made-up-1.5-pro": {"tokens": {"prompt": 10, "candidates": 3, "thoughts": 2}},
            "made-up-1.5-flash": {"tokens": {"prompt": 1, "candidates": 1, "thoughts": 0}},
        }
    },
}
LINES = "\n".join(json.dumps(event) for event in EVENTS)


@pytest.mark.parametrize(
    ("name", "output", "facts"),
    [
        ("claude", json.dumps(RESULT), (124, 9, 0.0125)),
        ("claude", json.dumps([{"type": "system"}, RESULT]), (124, 9, 0.0125)),
        ("claude", f"[warning] old\n{json.dumps(RESULT, indent=2)}\nand a farewell", (124, 9, 0.0125)),
        ("claude", json.dumps(RESULT | {"usage": None, "total_cost_usd": None}), (None, None, None)),
        ("claude", json.dumps(RESULT | {"usage": {"input_tokens": -1}, "total_cost_usd": "free"}), (None, None, None)),
        ("codex", LINES, (30, 5, None)),
        ("codex", f"not JSON\n{{broken\n{LINES}\n{{", (30, 5, None)),
        ("gemini", json.dumps(RESPONSE), (11, 6, None)),
        ("gemini", json.dumps({"response": ANSWER}), (None, None, None)),
    ],
)
def test_what_coding_assistants_print_is_understood(
    name: str, output: str, facts: tuple[int | None, int | None, float | None], tmp_path: Path
) -> None:
    (tmp_path / "output").write_text(output)
    asked = provider(tmp_path, "sys.stdout.write(open(sys.argv[1]).read())", str(tmp_path / "output"))
    argv = asked.command.argv
    reply = CommandLine(name, shipped()[name].model_copy(update={"argv": argv})).complete(request())
    assert reply.text == ANSWER
    assert (reply.input_tokens, reply.output_tokens, reply.usd) == facts


@pytest.mark.parametrize(
    ("name", "output", "words"),
    [
        ("claude", json.dumps(RESULT | {"is_error": True, "result": "Invalid API key"}), "failed: Invalid API key"),
        ("claude", json.dumps({"type": "result", "subtype": "error_max_turns", "is_error": False}), "said nothing"),
        ("claude", json.dumps(RESULT | {"result": " \n"}), "said nothing"),
        ("claude", json.dumps(RESULT | {"result": ["a"]}), "said nothing"),
        ("claude", "Welcome! Please log in.", "is no JSON: Welcome!"),
        ("claude", "[" * 50_000, "is no JSON"),
        ("claude", "", "is no JSON"),
        ("codex", f'{LINES}\n{{"type": "turn.failed", "error": {{"message": "rate limit"}}}}', "failed: rate limit"),
        ("codex", "\n".join(LINES.split("\n")[:1]), "said nothing"),
        ("codex", "oh", "is no JSON"),
        ("gemini", json.dumps({"error": {"message": "no quota", "code": 429}}), "failed: no quota"),
    ],
)
def test_what_they_print_when_they_fail_is_no_answer(name: str, output: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "output").write_text(output)
    asked = provider(tmp_path, "sys.stdout.write(open(sys.argv[1]).read())", str(tmp_path / "output"))
    fake = CommandLine(name, shipped()[name].model_copy(update={"argv": asked.command.argv}), attempts=1)
    error = failure(fake)
    assert words in str(error)
    assert str(error).startswith(f"{name}: ")
    assert not error.is_final


def test_shipped_commands_name_their_model_and_let_nothing_be_done(tmp_path: Path) -> None:
    assert set(shipped()) == {"claude", "codex", "gemini"}
    for name, each in shipped().items():
        assert each.argv[0] == name
        assert "{model}" in each.argv
        assert not any("dangerously" in word or word in ("--yolo", "--full-auto") for word in each.argv)
        assert each.keys
    claude, codex = shipped()["claude"].argv, shipped()["codex"].argv
    assert claude[claude.index("--tools") + 1] == ""
    assert codex[codex.index("--sandbox") + 1] == "read-only"
    assert codex[-1] == "-"


COUNTING = """
with open(sys.argv[1], "a") as file:
    file.write("x")
count = os.path.getsize(sys.argv[1])
"""


@pytest.mark.parametrize(
    "failing",
    ["sys.exit('busy')", "sys.exit(0)", "print('not JSON')", "print(json.dumps({'text': 'x', 'wrong': 'busy'}))"],
    ids=["exit code", "no text", "no JSON", "an error flag"],
)
def test_what_may_pass_is_tried_again_a_few_times(failing: str, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"output": "json", "text": "text", "error": "wrong"}
    program = f"{COUNTING}\nif count < 3:\n    {failing}\nelse:\n    print(json.dumps({{'text': 'at last'}}))"
    reply = ask(tmp_path, program, str(tmp_path / "count"), attempts=3, **facts)
    assert (reply.text, reply.attempts) == ("at last", 3)
    (tmp_path / "count").unlink()
    error = failure(provider(tmp_path, program, str(tmp_path / "count"), attempts=2, **facts))
    assert not error.is_final
    assert (tmp_path / "count").read_text() == "xx"


def test_no_text_with_exit_code_0_is_a_failure(tmp_path: Path) -> None:
    assert "ended well and said nothing" in str(failure(provider(tmp_path, "sys.stderr.write('fine')")))


def test_an_exit_code_is_told_with_the_last_words(tmp_path: Path) -> None:
    error = failure(
        provider(tmp_path, "print('an answer'); sys.stderr.write('\\x1b[31mx' * 9000 + ' no quota'); sys.exit(7)")
    )
    assert "exit code 7" in str(error)
    assert str(error).endswith("no quota")
    error = failure(provider(tmp_path, "print('not logged in'); sys.exit(1)"))
    assert str(error).endswith("not logged in")


@pytest.mark.parametrize("argv", [("/does/not/exist",), (tempfile.gettempdir(),), ("a\0b",)])
def test_a_program_that_cannot_be_started_ends_the_run(argv: tuple[str, ...]) -> None:
    error = failure(CommandLine("fake", Command(argv=argv)))
    assert error.is_final


FAMILY = """
child = subprocess.Popen(["sleep", "600"])
stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {child.pid} {stranger.pid}")
"""


def pids(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()]


@pytest.mark.rotating
def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    started = time.monotonic()
    asked = provider(tmp_path, FAMILY + "time.sleep(600)", str(tmp_path / "pids"), timeout_s=2.0, attempts=3)
    error = failure(asked)
    assert "no answer in 2 s" in str(error)
    assert time.monotonic() - started < 20  # and it was not tried again
    assert len(pids(tmp_path / "pids")) == 3
    assert all(has_ended(pid) for pid in pids(tmp_path / "pids"))


def test_a_child_that_outlives_its_program_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    program = """
    child = subprocess.Popen(["sleep", "600"])  # which holds our pipes
    print(child.pid, flush=True)
    """
    started = time.monotonic()
    reply = ask(tmp_path, program, timeout_s=60.0)
    assert time.monotonic() - started < 20
    assert has_ended(int(reply.text))


@pytest.mark.rotating
def test_a_program_that_ignores_signals_is_ended(tmp_path: Path) -> None:
    program = "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n" + FAMILY + "time.sleep(600)"
    failure(provider(tmp_path, program, str(tmp_path / "pids"), timeout_s=2.0))
    assert all(has_ended(pid) for pid in pids(tmp_path / "pids"))


def test_a_flood_is_stopped_while_it_is_written(tmp_path: Path) -> None:
    program = FAMILY + "while True: sys.stdout.write('x' * 65536)"
    started = time.monotonic()
    error = failure(provider(tmp_path, program, str(tmp_path / "pids"), timeout_s=60.0, attempts=3))
    assert f"more than {MAX_ANSWER_BYTES:,} bytes" in str(error)
    assert time.monotonic() - started < 30
    assert all(has_ended(pid) for pid in pids(tmp_path / "pids"))


def test_an_answer_of_many_pages_is_none(tmp_path: Path) -> None:
    program = f"sys.stdout.write('x' * {MAX_ANSWER + 1})"
    assert "characters; at most" in str(failure(provider(tmp_path, program)))


def test_complaints_may_be_as_long_as_they_like(tmp_path: Path) -> None:
    program = "for _ in range(100): sys.stderr.write('warning ' * 20000)\nprint('an answer')"
    assert ask(tmp_path, program).text == "an answer\n"


def test_a_long_prompt_and_a_long_answer_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """The program writes before it reads, and after each piece."""
    program = """
    sys.stdout.write("y" * 100_000)
    sys.stdout.flush()
    length = 0
    while piece := sys.stdin.read(50_000):
        length += len(piece)
        sys.stdout.write("z" * 1000)
        sys.stdout.flush()
    print(length)
    """
    prompt = "x" * 3_000_000
    reply = provider(tmp_path, program, timeout_s=60.0).complete(request(prompt))
    assert reply.text.endswith("z3000000\n")
    assert len(reply.text) == 100_000 + 60 * 1000 + 8


CLOSED = "os.close(0); time.sleep(0.3); os.write(1, b'I know\\n'); os._exit(0)"


@pytest.mark.parametrize("program", ["print('I know')", CLOSED], ids=["unread", "closed"])
def test_a_program_need_not_read_its_prompt(program: str, tmp_path: Path) -> None:
    reply = provider(tmp_path, program).complete(request("x" * 3_000_000))
    assert reply.text == "I know\n"


def test_bytes_that_are_no_text_are_made_text(tmp_path: Path) -> None:
    reply = ask(tmp_path, "sys.stdout.buffer.write(b'\\xff\\xfea\\x00\\xed\\xa0\\x80 \\x1b[2J kernel')")
    assert reply.text.endswith(" \x1b[2J kernel")
    reply.text.encode()  # as prompts and journals are
    reply = ask(tmp_path, "print(json.dumps({'text': 'a\\ud800b'}))", output="json", text="text")
    assert reply.text == "a?b"


def test_a_prompt_that_utf8_cannot_carry_is_sent_all_the_same(tmp_path: Path) -> None:
    reply = provider(tmp_path, "print(sys.stdin.read())").complete(request("a\ud800b"))
    assert reply.text == "a?b\n"


def test_threads_get_their_own_answers(tmp_path: Path) -> None:
    asked = provider(tmp_path, "print(sys.stdin.read(), end='')")
    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(lambda number: asked.complete(request(f"question {number}")), range(8)))
    assert [reply.text for reply in replies] == [f"question {number}" for number in range(8)]


def test_no_descriptor_and_no_process_is_left(tmp_path: Path) -> None:
    asked = provider(tmp_path, "print(sys.stdin.read(), end='')")
    asked.complete(request())
    descriptors, children = len(os.listdir("/proc/self/fd")), processes.children(os.getpid())
    for _ in range(3):
        asked.complete(request())
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert processes.children(os.getpid()) == children


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mine: {argv: [a], outptu: text}", "outptu: unknown key; did you mean 'output'"),
        ("mine: {argv: []}", "argv"),
        ("mine: a", "argv"),
        ("mine: {argv: [a], output: json}", "needs the path of the text"),
        ("mine: {argv: [a], text: result}", "output: text has no paths"),
        ("mine: {argv: [a], timeout_s: 0}", "timeout_s"),
        ("mine: {argv: [a]}\nmine: {argv: [b]}", "mine"),
        ("- a", "expected a mapping"),
    ],
)
def test_a_file_of_commands_that_is_wrong_says_where(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        command.read(file)
    assert str(file) in str(caught.value)
    assert words in str(caught.value)


def test_a_file_of_commands_that_is_not_there_is_a_wrong_request(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mine.yaml: No such file"):
        command.read(tmp_path / "mine.yaml")


def test_a_hostile_document_takes_no_time() -> None:
    wild = Command(argv=("a",), output="lines", text="*.*.*.text", input_tokens=("*.*.*.n",))
    deep = json.dumps({str(i): {str(j): {str(k): {"n": 1} for k in range(20)} for j in range(20)} for i in range(20)})
    started = time.monotonic()
    facts = read_facts(wild, "\n".join([deep] * 20))
    assert facts.text is None
    assert facts.input_tokens == 8000
    assert time.monotonic() - started < 10
