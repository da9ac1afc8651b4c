"""Providers by the words behind `--llm`: open them, or tell facts about them without opening anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from robust_kbench.agents.preset import Preset, Role
from robust_kbench.agents.providers import command, improver, mailbox
from robust_kbench.agents.providers.openai import OpenAI
from robust_kbench.agents.providers.protocol import Provider
from robust_kbench.agents.providers.replay import Replay
from robust_kbench.errors import UsageError
from robust_kbench.schema.documents import shown

_MAX_MODEL = 200
_TUNED, _PLAIN = "openai", "openai-plain"
_USUAL = 1.0  # the temperature of chat models where nobody asks for another


def forms() -> str:
    """List all forms that words behind `--llm` can have."""
    lines = [f"{name}:MODEL" for name in (_TUNED, _PLAIN, *sorted(command.shipped()))]
    return ", ".join([*lines, "command:FILE#NAME:MODEL", "mailbox:DIR", "replay:RUN", improver.FORM])


def open_provider(text: str) -> tuple[str, Provider]:
    """Return the model's name in requests, and the provider that answers them. Raises UsageError and SpecError.

    `openai-plain` is for models that refuse a temperature. `replay:RUN` is a journal or the folder of a run; where it
    has answers of several models, `replay:RUN#MODEL` names one.
    """
    kind, _, rest = text.partition(":")
    if kind in (_TUNED, _PLAIN):
        return _model(rest, text), OpenAI(is_tuned=kind == _TUNED)
    if kind in command.shipped():
        return _model(rest, text), command.CommandLine(kind, command.shipped()[kind])
    if kind == "command" and rest:
        return _command(rest, text)
    if kind == "mailbox" and rest:
        return mailbox.NAME, mailbox.Mailbox(Path(rest))
    if kind == "replay" and rest:
        return _replay(rest)
    if text == improver.FORM:
        return improver.NAME, improver.Improver()
    raise UsageError(f"--llm {shown(text)[:80]!r}: names no provider; there are {forms()}")


def open_all(texts: Iterable[str]) -> dict[str, Provider]:
    """Open an ensemble of providers, by the model's name in requests. Raises UsageError where two names are equal."""
    opened: dict[str, Provider] = {}
    for text in texts:
        model, provider = open_provider(text)
        if model in opened:
            raise UsageError(f"--llm {shown(text)[:80]}: {shown(model)} is asked already; name each model once")
        opened[model] = provider
    return opened


def deviations(preset: Preset, texts: Sequence[str]) -> tuple[str, ...]:
    """List the points in which a run of this agent, with these words behind `--llm`, differs from its preset.

    The run's results show them. Nothing is opened, so that any run can be examined at any time. If all roles have the
    temperature 1, it does not matter whether the agent or the provider sets it.
    """
    asked = sorted({temperature for role in _roles(preset) for temperature in _temperatures(role)})
    found = []
    for text in dict.fromkeys(texts):
        kind, name = text.partition(":")[0], shown(text)[:80]
        if kind == improver.FORM:
            found.append("improver: rules answer, and no language model")
        elif kind == "replay":
            found.append(f"{name}: answers come from the journal of another run")
        elif kind != _TUNED and asked != [_USUAL]:
            wanted = ", ".join(f"{temperature:g}" for temperature in asked)
            found.append(f"{name}: its temperature is its own, where the agent asks for {wanted}")
    return tuple(found)


def described(text: str) -> str:
    """Describe a provider for people. Rules are described as no language model."""
    return improver.NAME if text == improver.FORM else shown(text)


def _roles(preset: Preset) -> Iterable[Role]:
    for phase in preset.phases:
        yield from phase.verifiers
        for operator in phase.operators:
            yield from operator.roles


def _temperatures(role: Role) -> tuple[float, ...]:
    return role.temperature if isinstance(role.temperature, tuple) else (role.temperature,)


def _model(name: str, text: str) -> str:
    """Return a model's name that can stand in a command and in a journal. Raises UsageError for any other."""
    if not name.strip() or name.startswith("-") or not name.isprintable() or len(name) > _MAX_MODEL:
        raise UsageError(f"--llm {shown(text)[:80]!r}: no model's name; write {text.partition(':')[0]}:MODEL")
    return name


def _command(rest: str, text: str) -> tuple[str, Provider]:
    """Open `FILE#NAME:MODEL`; a command without `{model}` in its words needs no MODEL."""
    file, _, words = rest.rpartition("#")
    name, _, model = words.partition(":")
    if not file or not name:
        raise UsageError(f"--llm {shown(text)[:80]!r}: write command:FILE#NAME:MODEL")
    known = command.read(Path(file))
    if name not in known:
        there = ", ".join(sorted(known)) or "none"
        raise UsageError(f"--llm {shown(text)[:80]!r}: {file} has no command of this name; there are {shown(there)}")
    found = known[name]
    if not model and not any("{model}" in word for word in found.argv):
        model = name
    return _model(model, text), command.CommandLine(shown(name), found)


def _replay(rest: str) -> tuple[str, Provider]:
    place, _, model = rest.partition("#")
    replay = Replay(Path(place))
    if not model and len(replay.models) > 1:
        several = ", ".join(f"--llm replay:{place}#{shown(name)}" for name in replay.models)
        raise UsageError(f"--llm replay: {place} has answers of several models; ask for each of them: {several}")
    chosen = model or replay.models[0]
    if chosen not in replay.models:
        raise UsageError(f"--llm replay: {place} has no answers of {shown(chosen)!r}")
    return chosen, replay
