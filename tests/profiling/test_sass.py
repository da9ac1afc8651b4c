from __future__ import annotations

from robust_kbench.profiling import sass
from robust_kbench.profiling.reports import InstructionMix

HEAD = """	.target	sm_90
	.section	.text._Z1fPf,"ax",@progbits
.text._Z1fPf:
        .type           _Z1fPf,@function
_Z1fPf:
"""


def listing(*instructions: str) -> str:
    body = [f"        /*{16 * number:04x}*/  {text} ;" for number, text in enumerate(instructions)]
    return HEAD + "\n".join(body) + "\n.L_x_1:\n"


def mix(*instructions: str, dtype: str = "float32") -> InstructionMix:
    (found,) = sass.kernels(listing(*instructions), dtype, "sm_90")
    return found


def test_instructions_are_counted_by_class_whatever_predicate_guards_them() -> None:
    found = mix(
        "HMMA.16816.F32 R4, R8, R12, R4", "HGMMA.64x64x16.F32 R4, gdesc[UR4]", "IMMA.16832.S8.S8 R4, R8, R12, R4",
        "@P0 FFMA R1, R2, R3, R4", "@!PT FADD.FTZ R1, R2, R3", "@UP0 BRA `(.L_x_1)", "BAR.SYNC.DEFER_BLOCKING 0x0",
        "ATOMG.E.ADD.F32 R1, [R2.64], R3", "RED.E.ADD.F32 [R2.64], R3", "SHFL.BFLY PT, R1, R2, 0x1, 0x1f",
        "MUFU.RSQ R1, R2", "HADD2.F32 R1, -RZ, R2.H0_H0", "HFMA2 R1, R2, R3, R4", "LDGSTS.E.BYPASS.128 [R1], [R2.64]",
        "UTMALDG.2D [UR4], [UR6]", "IADD3 R1, R2, R3, RZ", "NOP",
    )  # fmt: skip
    assert found.classes == {
        "tensor core": 3, "fused multiply-add": 1, "float32": 1, "control": 1, "barrier": 1, "atomic": 2, "shuffle": 1,
        "special function": 1, "conversion": 1, "float16": 1, "asynchronous copy": 1, "bulk copy": 1,
        "integer and move": 1,
    }  # fmt: skip
    assert found.instructions == 16  # the NOP is padding


def test_a_constant_made_by_half_precision_is_a_move() -> None:
    assert mix("HFMA2.MMA R1, -RZ, RZ, 0, 5.96e-08").classes == {"integer and move": 1}


def test_memory_accesses_are_counted_by_the_bits_that_a_thread_moves() -> None:
    found = mix(
        "LDG.E.128.CONSTANT R4, [R2.64]", "LDG.E.64 R4, [R2.64]", "LDG.E R4, [R2.64]", "LDG.E.U16 R4, [R2.64]",
        "LDG.E.S8 R4, [R2.64]", "STS.128 [R1], R4", "STG.E.64 [R2.64], R4",
    )  # fmt: skip
    assert found.widths == {"LDG": {128: 1, 64: 1, 32: 1, 16: 1, 8: 1}, "STS": {128: 1}, "STG": {64: 1}}


def test_narrow_accesses_are_pointed_out_and_wide_ones_are_not() -> None:
    narrow = mix("LDG.E R4, [R2.64]", "LDG.E.64 R5, [R2.64]", "STG.E.128 [R2.64], R4", "STG.E [R2.64], R4")
    assert narrow.hints == ("no 128-bit global loads: the widest moves 64 bits a thread",)
    assert mix("LDG.E R4, [R2.64]").hints == ()  # a single scalar


def test_local_memory_float64_and_atomics_are_pointed_out() -> None:
    assert "local memory accesses (2)" in mix("LDL R1, [R2]", "STL.64 [R2], R4").hints[0]
    assert "float64 instructions in a float16 build (1)" in mix("DFMA R2, R4, R6, R8", dtype="float16").hints[0]
    assert mix("DFMA R2, R4, R6, R8", dtype="float64").hints == ()
    assert "atomic instructions (1)" in mix("RED.E.ADD.F32 [R2.64], R3").hints[0]


def test_each_function_has_a_mix_of_its_own() -> None:
    second = listing("EXIT").replace("_Z1fPf", "_Z1gPf")
    found = sass.kernels(listing("FFMA R1, R2, R3, R4", "EXIT") + second, "float32", "sm_90")
    assert [(one.kernel, one.instructions) for one in found] == [("_Z1fPf", 2), ("_Z1gPf", 1)]


def test_a_line_that_is_no_instruction_counts_for_nothing() -> None:
    assert sass.kernels("nvdisasm warning : Old format\n        /*0000*/ EXIT ;\n", "float32", "sm_90") == []
