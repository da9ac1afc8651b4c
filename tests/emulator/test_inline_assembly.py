"""Parsing of the parts of an asm statement; the translation of its PTX is tested elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from robust_kbench.emulator import assembly
from robust_kbench.emulator.rewrite import rewrite
from robust_kbench.errors import Unsupported

Call = tuple[str, list[tuple[str, str]], list[tuple[str, str]], str, int]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Replace the translator by a list of the calls that it receives."""
    made: list[Call] = []

    def translate(*call: Any) -> str:
        made.append(call)
        return "TRANSLATED"

    monkeypatch.setattr(assembly, "translate", translate)
    return made


@pytest.mark.parametrize(
    ("source", "template", "outputs", "inputs"),
    [
        ('asm("a;");', "a;", [], []),
        ('asm volatile("a;");', "a;", [], []),
        ('__asm__ __volatile__("a;" ::);', "a;", [], []),
        ('asm volatile ("a;" ::: "memory");', "a;", [], []),
        ('asm("a %0;" : "=r"(x));', "a %0;", [("=r", "x")], []),
        ('asm("a %0;" :: "r"(x));', "a %0;", [], [("r", "x")]),
        ('asm("a" : "=r"(x), "+f"(y[0]) : "l"(p + 1), "n"(3) : "memory");', "a", [("=r", "x"), ("+f", "y[0]")],
         [("l", "p + 1"), ("n", "3")]),
        ('asm("{\\n\\t" "b;\\n" // c\n "}" : : "r"(x));', "{\n\tb;\n}", [], [("r", "x")]),
        ('asm(R"(a\n"b")" : "=h"(*(unsigned short*)(&x)));', 'a\n"b"', [("=h", "*(unsigned short*)(&x)")], []),
        ('asm("a" : "=r"(n ? a::b : c[i, j]) : "r"(f<A, B>(1)));', "a", [("=r", "n ? a::b : c[i, j]")],
         [("r", "f<A, B>(1)")]),
        ('asm("a\\\nb");', "ab", [], []),
        ('asm("a" : "=r"(x) :: "memory");', "a", [("=r", "x")], []),
        ('asm("a" "=" : "=" "r"(x));', "a=", [("=r", "x")], []),
        ('asm("" ::: "memory");', "", [], []),
    ],
)  # fmt: skip
def test_the_parts_are_found(
    calls: list[Call], source: str, template: str, outputs: list[tuple[str, str]], inputs: list[tuple[str, str]]
) -> None:
    text = rewrite("\n" + source, "kernel.cu").text
    assert calls == [(template, outputs, inputs, "kernel.cu", 2)]
    assert text.replace("\n", "").replace("/**/", "") == '#include "kbemu/ptx.h"#line 1 "kernel.cu"TRANSLATED;'
    assert text.count("\n") == 2 + 1 + source.count("\n")


def test_a_statement_in_a_macro_is_translated(calls: list[Call]) -> None:
    source = '#define LANE(x) asm volatile( \\\n  "mov.u32 %0, %%laneid;" \\\n  : "=r"(x))\nint a;'
    assert rewrite(source, "k.cu").text.endswith("#define LANE(x) TRANSLATED \\\n \\\n\nint a;") or calls
    assert calls == [("mov.u32 %0, %%laneid;", [("=r", "x")], [], "k.cu", 1)]


def test_what_is_not_compiled_is_not_translated(calls: list[Call]) -> None:
    rewrite('#if __CUDA_ARCH__ >= 900\nasm("wgmma");\n#elif defined(USE_ROCM)\nasm("s_nop");\n#endif', "kernel.cu")
    assert calls == []


def test_a_template_that_is_no_literal_is_unsupported(calls: list[Call]) -> None:
    with pytest.raises(Unsupported, match="inline PTX that is not written as string literals at kernel.cu:1 cannot"):
        rewrite('asm("a" STRING(b));', "kernel.cu")
    assert calls == []


@pytest.mark.parametrize("operand", ['[x] "=r"(x)', '"=r" x', "(x)", '"=r"'])
def test_an_operand_of_another_form_is_unsupported(calls: list[Call], operand: str) -> None:
    with pytest.raises(Unsupported, match="an asm operand of this form at kernel.cu:1 cannot"):
        rewrite(f'asm("a" : {operand});', "kernel.cu")
    assert calls == []


@pytest.mark.parametrize("source", ["int asm;", "asm volatile;", 'asm("a"', "// asm(x)"])
def test_what_is_no_statement_stays_as_it_is(calls: list[Call], source: str) -> None:
    assert rewrite(source, "kernel.cu").text == f'#line 1 "kernel.cu"\n{source}'
    assert calls == []


def test_ptx_that_cannot_be_translated_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="wgmma.* at kernel.cu:3 cannot be emulated; a CUDA device can run it"):
        rewrite('\n\nasm volatile("wgmma.fence.sync.aligned;");', "kernel.cu")
