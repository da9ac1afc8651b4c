"""Inline PTX becomes C++: the statement's form, operands, and what is refused."""

from __future__ import annotations

import pytest

from robust_kbench.emulator.assembly import translate
from robust_kbench.emulator.ptx_matching import find
from robust_kbench.emulator.ptx_syntax import Address, Brace, Declaration, Instruction, Number, Register, Vector, parse
from robust_kbench.errors import Unsupported


def body(template: str, outputs: str = "", inputs: str = "") -> str:
    """The translation without the namespace; operands are `constraint(expression)`, separated by blanks."""
    written, read = (
        [(constraint, expression.rstrip(")")) for constraint, _, expression in (o.partition("(") for o in text.split())]
        for text in (outputs, inputs)
    )
    return translate(template, written, read, "kernel.cu", 7).replace("::kbemu::ptx::", "")


def test_a_statement_reads_its_operands_calls_a_function_and_writes_back() -> None:
    assert body("add.u32 %0, %1, 4;", "=r(x)", "r(y)") == (
        "do { auto& kbemu_lvalue0 = x; b32 kbemu_0 = ~0; const b32 kbemu_1 = integer_operand<b32>(y); "
        "set(kbemu_0, add(get<u32>(kbemu_1), get<u32>(4))); write_back(kbemu_lvalue0, kbemu_0); } while (0)"
    )


def test_a_statement_is_one_line_and_has_no_semicolon_at_its_end() -> None:
    text = body("{\n .reg .b32 t; // first\n mov.b32 t, %1;\\n\\tmov.b32 %0, t; /* and\n last */ }", "=r(x)", "r(y)")
    assert "\n" not in text
    assert text.endswith("while (0)")


def test_an_operand_that_is_read_and_written_starts_with_its_value() -> None:
    assert "b32 kbemu_0 = real_operand<b32>(kbemu_lvalue0);" in body("add.f32 %0, %0, %0;", "+f(x)")


def test_a_constant_operand_keeps_its_expression() -> None:
    text = body("cp.async.wait_group %0;", inputs="n(N-1)")
    assert text == "do { const long long kbemu_0 = N-1; wait_copies(get<u32>(kbemu_0)); } while (0)"


def test_a_predicate_guards_one_instruction() -> None:
    text = body("{ .reg .pred p; setp.ne.b32 p, %2, 0; @!p mov.b32 %0, %1; }", "=r(x)", "r(y) r(z)")
    assert "if (!kbemu_of_p) set(kbemu_0, move<b32>(kbemu_1));" in text


def test_vectors_are_destinations_and_sources() -> None:
    text = body("ld.global.v2.f32 {%0, _}, [%1+8];", "=f(x)", "l(p)")
    assert "set(::std::tie(kbemu_0, sink), load<f32, 2, kWeak>(address<kGlobal>(get<u64>(kbemu_1) + 8)));" in text
    text = body("st.shared.v2.b32 [%0], {%1, 0};", "", "r(p) r(x)")
    assert "store<b32, 2, kWeak>(address<kShared>(get<u64>(kbemu_0)), get_all<b32>(kbemu_1, 0));" in text


def test_special_registers_need_no_declaration() -> None:
    assert "set(kbemu_0, move<u32>(lane()));" in body("mov.u32 %0, %%laneid;", "=r(x)")
    assert "set(kbemu_0, move<u32>(thread().x));" in body("mov.u32 %0, %tid.x;", "=r(x)")


def test_immediate_floats_are_bits_and_expressions_stay() -> None:
    text = body("fma.rn.f32 %0, %1, 0f3F800000, 0fBF800000;", "=f(x)", "f(y)")
    assert "get<f32>(0x3F800000u), get<f32>(0xBF800000u)" in text
    assert "get<u32>(( 0xF0 & 0xCC ) | 0xAA)" in body("lop3.b32 %0, %1, %1, %1, (0xF0 & 0xCC) | 0xAA;", "=r(x)", "r(y)")


def test_a_cache_policy_is_dropped() -> None:
    text = body("ld.global.L2::cache_hint.f32 %0, [%1], %2;", "=f(x)", "l(p) l(policy)")
    assert "load<f32, 1, kWeak>(address<kGlobal>(get<u64>(kbemu_1)))" in text


def test_registers_that_a_range_declares_are_known() -> None:
    assert "kbemu_of_t1" in body(".reg .b32 t<2>; mov.b32 t1, 5; mov.b32 %0, t1;", "=r(x)")


def test_modifiers_come_in_any_order() -> None:
    assert find("red.release.gpu.global.add.s32") == find("red.add.global.release.gpu.s32") is not None


def test_modifiers_of_the_result_surround_the_function() -> None:
    text = body("add.ftz.sat.f32 %0, %1, %2;", "=f(x)", "f(y) f(z)")
    assert "saturate(flush(add<kNearest>(flush(get<f32>(kbemu_1)), flush(get<f32>(kbemu_2)))))" in text


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("wgmma.fence.sync.aligned;", "the instruction `wgmma.fence.sync.aligned`"),
        ("cp.async.bulk.commit_group;", "the instruction `cp.async.bulk.commit_group`"),
        ("mbarrier.init.shared.b64 [%0], 1;", "the instruction `mbarrier.init.shared.b64`"),
        ("add.f16x2.f32 %0, %0, %0;", "the instruction `add.f16x2.f32`"),
        ("WAIT: mov.b32 %0, %0;", "the label `WAIT`"),
        (".shared .b32 s;", "the directive `.shared`"),
        (".reg .v4 .f32 v;", "`v` where `,` is due"),
        ("mov.b32 %0, t;", "the register `t`, which is not declared there,"),
        ("{ .reg .b32 t; } mov.b32 %0, t;", "the register `t`, which is not declared there,"),
        ("mov.b32 %7, %0;", "the register `%7`, which is not declared there,"),
        ("add.u32 %0, %0;", "`add.u32` with 2 operands"),
        ("mov.b32 %0, [%0];", "an address where a value is due, or a value where an address is due"),
        ("mov.b32 5, %0;", "a destination that is no register"),
        ("mov.b32 %0, %0", "`the end` where `;` is due"),
        ("{ mov.b32 %0, %0;", "a `{` that is not closed"),
        ("} mov.b32 %0, %0;", "a `}` without its `{`"),
        ('mov.b32 %0, "s";', "the character '\"'"),
    ],
)
def test_what_cannot_be_emulated_is_named_with_its_place(template: str, what: str) -> None:
    with pytest.raises(Unsupported) as error:
        body(template, "", "r(x)")
    assert str(error.value) == (f"inline PTX with {what} at kernel.cu:7 cannot be emulated; a CUDA device can run it")


def test_an_unknown_constraint_is_named() -> None:
    with pytest.raises(Unsupported, match='the constraint "C"'):
        body("mov.b32 %0, 1;", "=r(x)", "C(y)")


def test_text_is_parsed_into_statements() -> None:
    assert parse("{ .reg .b32 a, b<2>; @!%p atom.add.u32 a|b0, [%1+-4], {%2, 1 + 2}; }") == [
        Brace(opens=True),
        Declaration("b32", ("a", "b0", "b1")),
        Instruction(
            "atom.add.u32",
            (
                Vector((Register("a"), Register("b0"))),
                Address(Register("%1"), Number("- 4")),
                Vector((Register("%2"), Number("1 + 2"))),
            ),
            Register("%p", negated=True),
        ),
        Brace(opens=False),
    ]
