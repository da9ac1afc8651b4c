from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import TASK, make_record

from robust_kbench.errors import SpecError
from robust_kbench.schema.documents import MAX_DOCUMENT_BYTES, parse, read_yaml, shown
from robust_kbench.schema.record import RunRecord
from robust_kbench.schema.submission import SubmissionFile
from robust_kbench.schema.task import Task


def _refusal(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        read_yaml(text, "task.yaml")
    return str(caught.value)


def _task_refusal(place: tuple[str, ...], value: object) -> str:
    data: Any = copy.deepcopy(dict(TASK))
    target = data
    for part in place[:-1]:
        target = target[part]
    target[place[-1]] = value
    with pytest.raises(SpecError) as caught:
        parse(Task, data, "task.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("place", "suggestion"),
    [
        (("axes", "cols", "multipel_of"), "did you mean 'multiple_of'?"),
        (("axes", "cols", "hihg"), "did you mean 'high'?"),
        (("inputs", "x", "layout"), "did you mean 'layouts'?"),
        (("outputs", "y", "dtpye"), "did you mean 'dtype'?"),
        (("cost", "flop"), "did you mean 'flops'?"),
        (("constraint",), "did you mean 'constraints'?"),
        (("cost", "quux"), "known keys: flops, bytes, least_flops"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else None,
)
def test_an_unknown_key_is_named_with_its_path_and_the_nearest_right_one(
    place: tuple[str, ...], suggestion: str
) -> None:
    assert _task_refusal(place, 1) == f"task.yaml: {'.'.join(place)}: unknown key; {suggestion}"


def test_an_unknown_key_inside_a_list_gets_a_suggestion_too() -> None:
    data = make_record().model_dump(mode="json")
    data["timings"][0]["sesions"] = []
    with pytest.raises(SpecError, match="timings.0.sesions: unknown key; did you mean 'sessions'"):
        parse(RunRecord, data, "store.jsonl:1")


def test_a_misspelt_required_key_is_named_rather_than_reported_as_missing() -> None:
    data = {"task": "norm/rmsnorm", "langauge": "python", "entry_point": "kernel.py::f"}
    with pytest.raises(SpecError, match="langauge: unknown key; did you mean 'language'"):
        parse(SubmissionFile, data, "submission.yaml")


def test_a_missing_key_is_named() -> None:
    data = {key: value for key, value in TASK.items() if key != "summary"}
    with pytest.raises(SpecError, match="^task.yaml: summary: missing; this key is required$"):
        parse(Task, data, "task.yaml")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("version",), "1", "version: Input should be a valid integer, got '1'"),
        (("version",), 1.0, "version: Input should be a valid integer, got 1.0"),
        (("version",), True, "version: Input should be a valid integer, got True"),
        (("inputs", "x", "shift"), "1", "inputs.x.shift: Input should be a valid number, got '1'"),
        (("nondeterministic",), "true", "nondeterministic: Input should be a valid boolean, got 'true'"),
        (("axes", "rows"), {"values": [1, "2"]}, "axes.rows.values.1: Input should be a valid integer, got '2'"),
    ],
)
def test_no_value_is_converted_silently(place: tuple[str, ...], value: object, message: str) -> None:
    assert _task_refusal(place, value) == f"task.yaml: {message}"


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    assert len(_task_refusal(("version",), "9" * 10_000)) < 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "task.yaml:2: duplicate key 'a'; remove one of the two"),
        ("x:\n  low: 1\n  high: 2\n  low: 3", "task.yaml:4: duplicate key 'low'; remove one of the two"),
        ("x: {low: 1, low: 1}", "task.yaml:1: duplicate key 'low'; remove one of the two"),
        ("- a\n", "task.yaml: expected a mapping of keys to values, got list"),
        ("just text", "task.yaml: expected a mapping of keys to values, got str"),
        ("", "task.yaml: expected a mapping of keys to values, got nothing"),
        ("# only a comment\n", "task.yaml: expected a mapping of keys to values, got nothing"),
    ],
)
def test_a_document_that_is_no_mapping_of_distinct_keys_is_refused(text: str, message: str) -> None:
    assert _refusal(text) == message


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "Yes", "NO", "On", "OFF"])
@pytest.mark.parametrize("template", ["nondeterministic: {}", "{}: 1", "a: [{}]"], ids=["value", "key", "item"])
def test_a_word_that_yaml_takes_for_a_boolean_is_refused(word: str, template: str) -> None:
    message = f"task.yaml:1: '{word}' is read as a boolean by YAML 1.1; write true, false or '{word}'"
    assert _refusal(template.format(word)) == message


def test_booleans_that_are_spelt_out_and_words_in_quotes_are_read_as_written() -> None:
    text = "a: true\nb: False\nc: 'no'\n'on': 1\ny: 2\nn: 3"
    assert read_yaml(text, "task.yaml") == {"a": True, "b": False, "c": "no", "on": 1, "y": 2, "n": 3}


def test_a_number_without_a_point_is_refused_because_yaml_reads_it_as_text() -> None:
    assert _refusal("a: 1\neps: 1e-6") == "task.yaml:2: '1e-6' is read as text by YAML 1.1; write 1.0e-06 or quote it"


@pytest.mark.parametrize("number", ["1e-6", "1E6", "-2e3", "+5e2", "1.5e3", ".5e3", "1.25e3", "3.14159e2"])
def test_the_number_that_such_a_refusal_proposes_is_the_one_that_was_meant(number: str) -> None:
    proposed = _refusal(f"eps: {number}").partition("; write ")[2].partition(" or ")[0]
    assert read_yaml(f"eps: {proposed}", "task.yaml")["eps"] == float(number)


@pytest.mark.parametrize(
    ("text", "value"), [("1.0e-6", 1e-6), ("'1e-6'", "1e-6"), ("1e-6 and more", "1e-6 and more"), ("e5", "e5")]
)
def test_numbers_with_a_point_and_quoted_ones_are_accepted(text: str, value: float | str) -> None:
    assert read_yaml(f"a: {text}", "task.yaml") == {"a": value}


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x", "a: &x [1]\nb: *x", "a: &x [*x]", "a: &x {b: 1}\nc: {<<: *x}"])
def test_an_alias_is_refused_because_a_few_of_them_expand_to_gigabytes(text: str) -> None:
    assert "aliases (*name) are not allowed; write the value out" in _refusal(text)


@pytest.mark.parametrize("text", ["a: [1", "a: 'open", "a: b: c", "\tx: 1", "a: %x", "a: @x", "a: \x00", "a: \x1b"])
def test_what_is_not_yaml_is_refused_with_the_file(text: str) -> None:
    assert _refusal(text).startswith("task.yaml")


def test_a_syntax_error_names_the_line() -> None:
    assert _refusal("a: 1\nb: @x\nc: 2").startswith("task.yaml:2: ")


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.getpid []", "!!python/name:os.system", "!mine 1"])
def test_a_tag_that_would_make_an_object_is_refused(tag: str) -> None:
    assert "could not determine a constructor" in _refusal(f"a: {tag}")


@pytest.mark.parametrize("key", ["? [a, b]\n", "? {a: 1}\n", "2020-01-01", "!!binary aGk=", "? !!set {a, b}\n"])
def test_a_key_that_is_no_text_is_refused_like_any_other_wrong_key(key: str) -> None:
    with pytest.raises(SpecError):
        parse(SubmissionFile, read_yaml(f"{key}: 1", "submission.yaml"), "submission.yaml")


def test_a_document_above_the_size_limit_is_refused() -> None:
    assert _refusal("a" * (MAX_DOCUMENT_BYTES + 1)) == "task.yaml: 262,145 bytes; at most 262,144 are allowed"


def test_the_size_limit_counts_bytes_and_not_characters() -> None:
    assert "bytes; at most 262,144 are allowed" in _refusal("a: " + "é" * (MAX_DOCUMENT_BYTES // 2))


def test_a_document_at_the_size_limit_is_read() -> None:
    text = "a: " + "x" * (MAX_DOCUMENT_BYTES - 3)
    assert len(read_yaml(text, "task.yaml")["a"]) == MAX_DOCUMENT_BYTES - 3


def test_deep_nesting_is_refused_and_does_not_overflow_the_stack() -> None:
    program = (
        "from robust_kbench.errors import SpecError\nfrom robust_kbench.schema.documents import read_yaml\n"
        "try:\n    read_yaml('a: ' + '[' * 100_000 + ']' * 100_000, 'x')\nexcept SpecError:\n    print('refused')\n"
    )
    # In a process of its own, because a stack overflow would end this one.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n")


def test_what_is_nested_too_deeply_to_be_written_is_refused() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(SpecError, match=r"task\.yaml: nested too deeply"):
        parse(Task, {**TASK, "summary": nested}, "task.yaml")


@settings(max_examples=200, derandomize=True)
@given(st.text(alphabet="ab:1e- \n[]{},?*&!'\"#|>%.~\t", max_size=40))
def test_whatever_the_text_the_answer_is_a_mapping_or_a_spec_error(text: str) -> None:
    message = ""
    try:
        data = read_yaml(text, "task.yaml")
    except SpecError as error:
        message = str(error)
    assert (message.startswith("task.yaml") and "\n" not in message) or data == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("y[0]: got 1, expected ½ 漢字 [bold] é", "y[0]: got 1, expected ½ 漢字 [bold] é"),
        ("\x1b[2J\x1b]0;mine\x07", "\ufffd[2J\ufffd]0;mine\ufffd"),
        ("\x9b1A\x9d\x7f\x00", "\ufffd1A\ufffd\ufffd\ufffd"),
        ("a\rb\nc\td\x0be\x85f\u2028g\u2029h\u00a0i", "a b c d e f g h i"),
        ("\u202e\u2066\u200f\u200b\ufeff\U000e0041", "\ufffd" * 6),
        ("\udcff", "?"),
    ],
    ids=["plain", "escapes", "other controls", "ends of lines", "directions and shapeless", "no unicode"],
)
def test_what_is_shown_is_one_line_that_steers_nothing(text: str, line: str) -> None:
    assert shown(text) == line


@given(st.text())
def test_whatever_is_shown_is_printable_and_as_long_as_it_was(text: str) -> None:
    assert shown(text).isprintable()
    assert len(shown(text)) == len(text)
