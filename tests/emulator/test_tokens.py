"""Tokens join to the source again, and each knows its kind and line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_kbench.emulator.tokens import Kind, Token, tokenize

PIECES = [
    "a", "_x1", "1.5e-3f", "1'000", "0x1p-3", '"s"', '"\\""', "'c'", "'\\''", 'R"(a"b)"', 'u8R"x()" )x"', "// c",
    "/* c */", "/* \n */", "\\\n", "\n", " ", "\t", "#", "#include <a/b.h>", "<<<", ">>>", "<", ">", "->", "::", "##",
    "(", ")", '"', "'", "\\", "\r\n", "é", "$", "@", 'R"', "/*", "operator<<<",
]  # fmt: skip


def significant(text: str) -> list[tuple[Kind, str]]:
    return [(token.kind, token.text) for token in tokenize(text) if token.significant]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_the_tokens_joined_are_the_source(text: str) -> None:
    assert "".join(token.text for token in tokenize(text)) == text


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_every_token_is_on_the_line_where_it_begins(text: str) -> None:
    position = 0
    for token in tokenize(text):
        assert token.line == 1 + text.count("\n", 0, position)
        position += len(token.text)


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_a_token_is_never_empty(text: str) -> None:
    assert all(token.text for token in tokenize(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("name", Kind.NAME), ("_a1", Kind.NAME), ("größe", Kind.NAME), ("a$b", Kind.NAME),
        ("1", Kind.NUMBER), (".5f", Kind.NUMBER), ("1'000'000ull", Kind.NUMBER), ("0x1.8p-3f", Kind.NUMBER),
        ("1e+10", Kind.NUMBER), ("0b1010", Kind.NUMBER), ("5_km", Kind.NUMBER),
        ('"a"', Kind.STRING), ('u8"a"', Kind.STRING), ('L"a"', Kind.STRING), (r'"a\"b\\"', Kind.STRING),
        ('"a // b /* c"', Kind.STRING), ('"k<<<1, 1>>>(x)"', Kind.STRING), ('"a\\\nb"', Kind.STRING),
        ("'a'", Kind.CHARACTER), (r"'\''", Kind.CHARACTER), ("'\"'", Kind.CHARACTER), (r"U'\x1f'", Kind.CHARACTER),
        ('R"(a\nb)"', Kind.RAW_STRING), ('R"x(a)")x"', Kind.RAW_STRING), ('uR"(\\)"', Kind.RAW_STRING),
        ("// a ' \" b", Kind.COMMENT), ("// a\\\nb", Kind.COMMENT), ("/* a // b\n * */", Kind.COMMENT),
        ("/**/", Kind.COMMENT), ("<<<", Kind.MARK), ("::", Kind.MARK), ("->", Kind.MARK), ("##", Kind.MARK),
        ("...", Kind.MARK), ("->*", Kind.MARK),
        (" \t", Kind.SPACE), (" \\\n ", Kind.SPACE), ("\\ \r\n", Kind.SPACE), ("\n", Kind.NEWLINE),
    ],
)  # fmt: skip
def test_this_is_one_token(text: str, kind: Kind) -> None:
    assert tokenize(text) == [Token(kind, text, 1)]


def test_templates_that_close_together_are_closed_one_by_one() -> None:
    assert [text for _, text in significant("A<B<C<int>>>")] == ["A", "<", "B", "<", "C", "<", "int", ">", ">", ">"]


def test_a_comparison_is_not_the_end_of_a_template() -> None:
    assert [text for _, text in significant("a >= b <= c << d -> e")] == [
        "a",
        ">=",
        "b",
        "<=",
        "c",
        "<<",
        "d",
        "->",
        "e",
    ]


def test_the_shift_operator_of_a_template_is_no_launch() -> None:
    assert [text for _, text in significant("operator<<<int>(a)")][:3] == ["operator", "<<", "<"]


def test_a_quote_inside_of_a_number_opens_no_character() -> None:
    assert significant("1'000 + 'a'") == [(Kind.NUMBER, "1'000"), (Kind.MARK, "+"), (Kind.CHARACTER, "'a'")]


def test_the_header_of_an_include_is_one_token() -> None:
    assert significant("# include <a//b.h> // c")[-1] == (Kind.HEADER, "<a//b.h>")
    assert significant("#include /* c */ <a.h>")[-1] == (Kind.HEADER, "<a.h>")


def test_a_comparison_after_another_directive_is_no_header() -> None:
    assert significant("#if a <b> c")[3] == (Kind.MARK, "<")


def test_an_apostrophe_in_an_error_message_ends_with_its_line() -> None:
    assert [token.text for token in tokenize("#error don't\nint a;") if token.kind is Kind.NAME][-2:] == ["int", "a"]


def test_a_comment_that_is_never_closed_ends_with_the_file() -> None:
    assert significant("a /* b\nc") == [(Kind.NAME, "a")]


def test_a_line_continued_in_the_middle_of_a_line_counts() -> None:
    tokens = tokenize("a \\\n b\nc")
    assert [(token.text, token.line) for token in tokens if token.significant] == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize("piece", ['R"a(', '"a\\', "'", "/*", "\\ ", "1'", "a", "<<<", "<", ">>>"])
def test_the_time_is_linear_even_for_what_is_never_closed(piece: str) -> None:
    text = piece * 20_000
    assert "".join(token.text for token in tokenize(text)) == text
