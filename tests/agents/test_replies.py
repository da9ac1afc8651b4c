"""Models answer in many forms; what holds a kernel is found, and what does not is a failure of the candidate."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_kbench.agents.archive import Candidate
from robust_kbench.agents.context import fenced
from robust_kbench.agents.loop import unparsed
from robust_kbench.agents.replies import BEGIN, END, plan_problem, verdict, written

CODE = '#include <cstdint>\nextern "C" void f(float* x) { x[0] = 1; }'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"```cpp\n{CODE}\n```", id="a block alone"),
        pytest.param(f"name: fast\ncode:\n```c++\n{CODE}\n```\nthought: it is", id="fields in their order"),
        pytest.param(f"thought: it is\nname: fast\n\n```\n{CODE}\n```", id="another order, no language"),
        pytest.param(
            f"Here it is:\n```python\nx = 1\n```\nno, this:\n```cpp\n{CODE}\n```", id="a block of another language"
        ),
        pytest.param(f"```cpp\nint x;\n```\nor rather\n```cpp\n{CODE}\n```", id="the longest of several"),
        pytest.param(f"````cpp\n{CODE}\n````", id="a longer fence"),
        pytest.param(CODE, id="nothing but code"),
    ],
)
def test_a_kernel_is_found(text: str) -> None:
    assert written(text, "cpp").code == CODE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"```cpp\r\n{CODE}\r\n```\r\n", id="lines of another system"),
        pytest.param(f"````\nno block\n```cpp\n{CODE}\n```", id="a longer fence that nobody closes"),
        pytest.param(f"```text\nno block```\n\n```\n```cpp\n{CODE}\n```", id="fences inside of a line are none"),
    ],
)
def test_fences_in_odd_forms_are_understood(text: str) -> None:
    assert written(text, "cpp").code.replace("\r", "") == CODE


def test_a_reply_of_nothing_but_fences_is_read_in_one_pass() -> None:
    """A search for the end of each would take minutes."""
    fences = "\n".join("`" * (3 + number % 5) + "cpp" for number in range(50_000))
    assert written(fences, "cpp").code == ""
    many = "```cpp\nint x;\n```\n" * 30_000
    assert written(f"{many}name: last", "cpp") == written("```cpp\nint x;\n```\nname: last", "cpp")


_MILLION = 1_000_000


@pytest.mark.rotating
@pytest.mark.parametrize(
    "text",
    [
        "name: x" + " " * _MILLION + "y",
        "\n" * _MILLION,
        "\n\t" * (_MILLION // 2),
        " " * _MILLION,
        "name" + " *" * (_MILLION // 2),
        "name " * (_MILLION // 5),
        "thought:" + "\v" * _MILLION,
        "{ab" * (_MILLION // 3),
        "FINAL VERIFICATION ANSWER " * (_MILLION // 26),
        "FINAL VERIFICATION ANSWER" + " " * _MILLION,
        "#" * _MILLION,
    ],
    ids=lambda text: ascii(text[:9]),
)
@pytest.mark.parametrize("language", ["python", "cpp"])
def test_whatever_a_long_reply_repeats_it_is_read_in_time_that_grows_with_its_length(text: str, language: str) -> None:
    started = time.process_time()
    written(text, language)
    verdict(text)
    assert time.process_time() - started < 3  # an hour, where it grows with the square


def test_a_long_plan_is_compared_with_its_parent_in_time_that_grows_with_its_length() -> None:
    parent = "a\n" * 300_000
    plan = f"{BEGIN}\n{END}\n" + "a\n" * 100_000 + f"b\n{BEGIN}\n{END}\n"
    started = time.process_time()
    assert plan_problem(plan, parent) == "changes lines outside of anchors"
    assert time.process_time() - started < 3


def test_a_part_of_a_plan_is_found_only_where_lines_begin_and_end() -> None:
    assert plan_problem(f"a\n{BEGIN}\n{END}\nb", "aa\nb") == "changes lines outside of anchors"
    assert plan_problem(f"a\n{BEGIN}\n{END}\nb", "a\nbb") == "changes lines outside of anchors"
    assert plan_problem(f"a\n{BEGIN}\n{END}\nb", "a\nab") == "changes lines outside of anchors"
    assert plan_problem(f"a\n{BEGIN}\n{END}\nb\n{BEGIN}\n{END}\nc", "a\nbb\nc") == "changes lines outside of anchors"
    assert plan_problem(f"a\n{BEGIN}\n{END}\nb\n{BEGIN}\n{END}\nc", "a\nbb\n\nb\nx\nc") == ""


@pytest.mark.parametrize("text", ["", "I cannot help with that.", "```cpp\n```", "name: fast\nthought: none"])
def test_no_kernel_is_no_kernel(text: str) -> None:
    candidate = Candidate("a", written(text, "cpp").code, "op")
    judged = unparsed(candidate)
    assert judged is not None
    assert (judged.stage, judged.is_right) == ("parse", False)


@pytest.mark.parametrize(
    ("text", "name", "thought"),
    [
        ("name: tiles\nthought: fits the cache", "tiles", "fits the cache"),
        ("**Thought**: fits the cache\n**Name:** tiles", "tiles", "fits the cache"),
        ("{fits the cache} and so on", "", "fits the cache"),
        ("nothing of the kind", "", ""),
    ],
)
def test_name_and_thought_are_found_outside_of_code(text: str, name: str, thought: str) -> None:
    found = written(f"{text}\n```cpp\nname: wrong\nthought: wrong\n{CODE}\n```", "cpp")
    assert (found.name, found.thought) == (name, thought)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("FINAL VERIFICATION ANSWER: True", True),
        ("... **FINAL VERIFICATION ANSWER:** false.", False),
        ("FINAL VERIFICATION ANSWER: True\nI am wrong.\nFINAL VERIFICATION ANSWER: False", False),
        ("it is right", None),
    ],
)
def test_the_last_verdict_counts(text: str, answer: bool | None) -> None:
    assert verdict(text) is answer


PARENT = "a\nb\nc\nd"


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (f"a\n{BEGIN}\nuse two\nb\n{END}\nc\nd", ""),
        (f"a\n// {BEGIN}\nuse two\n// {END}\nc\nd", ""),
        (f"{BEGIN}\nfirst\n{END}\nb\nc\n{BEGIN}\nlast\n{END}", ""),
        (f"a\n{BEGIN}\nb\nc\nd", "anchors are nested or not balanced"),
        (f"a\n{BEGIN}\n{BEGIN}\nb\n{END}\n{END}\nc\nd", "anchors are nested or not balanced"),
        (f"a\n{END}\nb\n{BEGIN}\nc\nd", "anchors are nested or not balanced"),
        (f"a\n{BEGIN}\nb\n{END}\nx\nd", "changes lines outside of anchors"),
        (f"b\n{BEGIN}\na\n{END}\nc\nd", "changes lines outside of anchors"),
        (PARENT, "no anchors"),
    ],
)
def test_a_plan_changes_nothing_outside_of_its_anchors(plan: str, problem: str) -> None:
    assert plan_problem(plan, PARENT) == problem


@given(st.lists(st.sampled_from("abc"), max_size=12), st.data())
def test_whatever_is_put_between_anchors_the_rest_is_recognised(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines)))
    stop = data.draw(st.integers(start, len(lines)))
    plan = [*lines[:start], BEGIN, "instruction", *lines[start:stop], END, *lines[stop:]]
    assert plan_problem("\n".join(plan), "\n".join(lines)) == ""


def test_a_kernel_with_anchors_left_is_no_kernel() -> None:
    judged = unparsed(Candidate("a", f"{CODE}\n{BEGIN}", "op"))
    assert judged is not None
    assert judged.stage == "parse"


@given(st.text(alphabet="`a\n", max_size=60))
def test_no_text_ends_its_own_block(text: str) -> None:
    first, *body, last = fenced(text).split("\n")
    assert first == last
    assert not any(line.startswith(first) for line in body)
