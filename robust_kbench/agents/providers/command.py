"""Provider for a language model behind a command line: the prompt goes to stdin, the answer comes from stdout.

Commands are data (commands.yaml): the words of the command, and the places of text, counts, cost and a sign of failure
in its output. A command runs in a new, empty folder, with the environment that it needs and nothing else. Processes
that it has started end with it. Exit code 0 without any text is a failure.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from robust_kbench.agents.providers import outside
from robust_kbench.agents.providers.conversation import Flood, converse
from robust_kbench.agents.providers.protocol import ProviderError, Reply, Request
from robust_kbench.errors import UsageError
from robust_kbench.schema.documents import Strict, parse, printable, read_yaml

_USUAL = (
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
_MAX_LINES, _MAX_STARTS = 20_000, 20


class Command(Strict):
    """Description of how a program is called, and how its output is read.

    A path is keys joined by dots, where `*` is any key. Several paths of a count are added up.
    """

    argv: tuple[str, ...] = Field(min_length=1, description="{model} stands for the model's name")
    output: Literal["text", "json", "lines"] = Field(
        default="text", description="lines: of JSON; the last with a path counts"
    )
    text: str = Field(default="", description="path of the answer; of output text, the answer is all of it")
    where: dict[str, str] = Field(default={}, description="paths and words that have to stand beside the answer")
    input_tokens: tuple[str, ...] = ()
    output_tokens: tuple[str, ...] = ()
    usd: str = ""
    error: str = Field(default="", description="a failure where this is there and not false")
    keys: tuple[str, ...] = Field(
        default=(), description="variables that it gets, and that are cut out of what it says"
    )
    environment: tuple[str, ...] = Field(
        default=(), description="variables that it gets besides these and the usual ones"
    )
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)

    @model_validator(mode="after")
    def _fits(self) -> Command:
        has_paths = bool(self.text or self.where or self.input_tokens or self.output_tokens or self.usd or self.error)
        if self.output == "text" and has_paths:
            raise ValueError("output: text has no paths; write json or lines")
        if self.output != "text" and not self.text:
            raise ValueError(f"output: {self.output} needs the path of the text")
        return self


def read(file: Path) -> dict[str, Command]:
    """Read the commands of a YAML file, by name. Raises UsageError and SpecError."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    return {
        name: parse(Command, _mapping(entry), f"{file}: {name}") for name, entry in read_yaml(text, str(file)).items()
    }


def _mapping(entry: Any) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {"argv": entry}


@lru_cache
def shipped() -> Mapping[str, Command]:
    """Return the commands that come with the package."""
    with resources.as_file(resources.files("robust_kbench.agents.providers") / "commands.yaml") as file:
        return read(file)


class _Passing(ProviderError):
    """Failure that may not come again, so that the request is tried again."""


@dataclass(frozen=True)
class CommandLine:
    """Provider that runs a command for each request, and again when it fails; usable from several threads."""

    name: str
    command: Command
    attempts: int = 3
    pause_s: float = 2.0
    """Seconds before the second attempt; four times as long before each further one."""

    def complete(self, request: Request) -> Reply:
        """Run the command and return its answer. Raises ProviderError.

        A command that took all its time, or wrote too much output, is not tried again.
        """
        started = time.monotonic()
        attempt = 1
        while True:
            try:
                facts = self._once(request)
                text = outside.answer(facts.text, self._keys)
            except ProviderError as error:
                if not isinstance(error, _Passing) or attempt == self.attempts:
                    raise ProviderError(f"{self.name}: {error}", is_final=error.is_final) from None
                time.sleep(self.pause_s * 4 ** (attempt - 1))
                attempt += 1
                continue
            seconds = time.monotonic() - started
            return Reply(text, request.model, facts.input_tokens, facts.output_tokens, facts.usd, seconds, attempt)

    @property
    def _keys(self) -> list[str]:
        return [os.environ.get(name, "") for name in self.command.keys]

    def _once(self, request: Request) -> Facts:
        argv = [word.replace("{model}", request.model) for word in self.command.argv]
        code, output, said = self._run(argv, printable(_prompt(request)).encode())
        text = outside.without_keys(output.decode(errors="replace"), self._keys)
        if code:
            words = outside.without_keys(said.decode(errors="replace"), self._keys).strip() or text.strip()
            raise _Passing(f"exit code {code}: {outside.told(words[-300:])}")
        facts = read_facts(self.command, text)
        if facts.error:
            raise _Passing(f"says that it failed: {outside.told(facts.error, self._keys)}")
        if not isinstance(facts.text, str) or not facts.text.strip():
            raise _Passing("ended well and said nothing")
        return facts

    def _run(self, argv: Sequence[str], prompt: bytes) -> tuple[int, bytes, bytes]:
        wanted = (*_USUAL, *self.command.keys, *self.command.environment)
        environment = {name: os.environ[name] for name in wanted if name in os.environ}
        with tempfile.TemporaryDirectory(prefix="kbench-llm-", ignore_cleanup_errors=True) as folder:
            try:
                process = subprocess.Popen(
                    argv, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                    env=environment, start_new_session=True,
                )  # fmt: skip
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                raise ProviderError(f"{outside.told(argv[0])}: {reason}", is_final=True) from None
            try:
                return converse(process, prompt, self.command.timeout_s)
            except TimeoutError:
                raise ProviderError(f"no answer in {self.command.timeout_s:g} s") from None
            except Flood as flood:
                raise ProviderError(f"more than {flood.limit_bytes:,} bytes of output") from None


@dataclass(frozen=True)
class Facts:
    """Values in the output of a command. None of them is trusted."""

    text: Any
    error: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None


def read_facts(command: Command, output: str) -> Facts:
    """Find the values at the paths of `command`. Raises ProviderError for an output that is no JSON."""
    if command.output == "text":
        return Facts(output)
    documents = list(_lines(output) if command.output == "lines" else _document(output))
    if not documents:
        raise _Passing(f"its output is no JSON: {outside.told(output[:200])}")
    error = _last(documents, command.error)
    text = _last([each for each in documents if _holds(each, command.where)], command.text)
    return Facts(
        text,
        _reason(error, text) if error else "",
        _sum(documents, command.input_tokens),
        _sum(documents, command.output_tokens),
        outside.dollars(_last(documents, command.usd)),
    )


def _document(output: str) -> Iterator[Any]:
    """Yield the first JSON document that begins a line, whatever else was printed; of a list, each element."""
    for start in itertools.islice(re.finditer(r"^[\[{]", output, re.M), _MAX_STARTS):
        try:
            document, _ = json.JSONDecoder().raw_decode(output, start.start())
        except (ValueError, RecursionError):
            continue
        yield from document if isinstance(document, list) else [document]
        return


def _lines(output: str) -> Iterator[Any]:
    """Yield the lines that are JSON objects; of very many lines, only the last ones are read."""
    for line in output.split("\n")[-_MAX_LINES:]:
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


def _last(documents: Sequence[Any], path: str) -> Any:
    """Return the value at the path in the last document that has it; None where none has it."""
    for document in reversed(documents if path else []):
        value = next(_at(document, path), None)
        if value is not None:
            return value
    return None


def _sum(documents: Sequence[Any], paths: Sequence[str]) -> int | None:
    """Return the sum of all counts in the last document that has one; None where none has."""
    for document in reversed(documents):
        counts = [outside.count(value) for path in paths for value in _at(document, path)]
        known = [count for count in counts if count is not None]
        if known:
            return outside.count(sum(known))
    return None


def _at(data: Any, path: str) -> Iterator[Any]:
    """Yield all values at the path in `data`."""
    key, _, rest = path.partition(".")
    if isinstance(data, dict):
        for value in list(data.values()) if key == "*" else [data[key]] if key in data else []:
            yield from _at(value, rest) if rest else [value]


def _holds(document: Any, where: Mapping[str, str]) -> bool:
    return all(word in list(_at(document, path)) for path, word in where.items())


def _reason(error: Any, text: Any) -> str:
    """Return the reason of a failure. A sign alone gives none; then the text often tells the reason."""
    if isinstance(error, str):
        return error
    return text if isinstance(text, str) and text.strip() else "without a reason"


def _prompt(request: Request) -> str:
    """Join the turns to one text, each with its role; a single turn stays as it is."""
    if len(request.messages) == 1:
        return request.messages[0].text
    return "\n\n".join(f"[{message.role}]\n{message.text}" for message in request.messages)
