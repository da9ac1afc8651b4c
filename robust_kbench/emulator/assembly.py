"""Translation of inline PTX to C++ that calls include/kbemu/ptx.h.

    asm volatile("add.u32 %0, %1, 4;" : "=r"(x) : "r"(y));

becomes one `do { … } while (0)` in which every operand is a variable that holds the bits of a register. The source then
needs `#include "kbemu/ptx.h"`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from robust_kbench.emulator.ptx_matching import Row, find
from robust_kbench.emulator.ptx_syntax import (
    MOST_REGISTERS,
    Address,
    Brace,
    Declaration,
    Instruction,
    Number,
    Operand,
    PtxSyntaxError,
    Register,
    Statement,
    TooManyRegisters,
    Vector,
    parse,
)
from robust_kbench.errors import BuildError, Unsupported

_NAMESPACE = "::kbemu::ptx::"
# Constraint: the register's type, and how an expression becomes its bits.
_CONSTRAINTS = {
    "h": ("b16", "integer_operand"),
    "r": ("b32", "integer_operand"),
    "l": ("b64", "integer_operand"),
    "f": ("b32", "real_operand"),
    "d": ("b64", "real_operand"),
}
_DECLARED_BITS = {"pred": "pred", "8": "b16", "16": "b16", "16x2": "b32", "32": "b32", "64": "b64"}
_SPECIAL = {
    "laneid": "lane()",
    "warpid": "warp()",
    "nwarpid": "kResidentWarps",
    "smid": "multiprocessor()",
    "nsmid": "kMultiprocessors",
    "lanemask_eq": "lanes_equal()",
    "lanemask_lt": "lanes_below()",
    "lanemask_le": "lanes_below_or_equal()",
    "lanemask_gt": "lanes_above()",
    "lanemask_ge": "lanes_above_or_equal()",
    "clock": "nanoseconds()",
    "clock64": "nanoseconds()",
    "globaltimer": "nanoseconds()",
    "globaltimer_lo": "nanoseconds()",
    "dynamic_smem_size": "dynamic_shared_size()",
} | {
    f"{name}.{axis}": f"{variable}().{axis}"
    for name, variable in (("tid", "thread"), ("ctaid", "block"), ("ntid", "block_size"), ("nctaid", "grid_size"))
    for axis in "xyz"
}
# A modifier that works on the result whatever the instruction is, and those that work on its inputs too.
_RESULT_MODIFIERS = {"ftz": "flush", "sat": "saturate", "relu": "relu"}
_INPUT_MODIFIERS = {"ftz": "flush"}
_LONGEST_NUMBER = 10  # of an operand, with its `%`; Python refuses to read thousands of digits


def translate(
    template: str, outputs: Sequence[tuple[str, str]], inputs: Sequence[tuple[str, str]], name: str, line: int
) -> str:
    """Return one C++ statement, without semicolon and line breaks, that does the same as the asm statement.

    `outputs` and `inputs` are pairs of a constraint and a C++ expression. Raises Unsupported, or BuildError for more
    registers than any kernel needs, with the place.
    """
    try:
        statements = parse(template)
        translation = _Translation(len(outputs) + len(inputs))
        parts = [*_prologue(outputs, inputs), *translation.lines(statements), *_epilogue(outputs)]
        if translation.carries:
            parts.insert(0, "bool kbemu_carry = false;")
    except PtxSyntaxError as error:
        what = f"inline PTX with {error} at {name}:{line}"
        raise Unsupported(f"{what} cannot be emulated; a CUDA device can run it") from None
    except TooManyRegisters as error:
        at_most = f"a declaration has {MOST_REGISTERS:,} at most"
        raise BuildError(
            f"{name}:{line}: inline PTX with the registers {error}: {at_most}; declare those used"
        ) from None
    return "do { " + " ".join(parts) + " } while (0)"


def _prologue(outputs: Sequence[tuple[str, str]], inputs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield declarations that evaluate each operand once. An output that nothing writes is a NaN."""
    for number, (constraint, expression) in enumerate(outputs):
        register, function = _constraint(constraint.lstrip("=+&"))
        yield f"auto& kbemu_lvalue{number} = {expression};"
        value = f"{_NAMESPACE}{function}<{_NAMESPACE}{register}>(kbemu_lvalue{number})"
        yield f"{_NAMESPACE}{register} kbemu_{number} = {value if '+' in constraint else '~0'};"
    for number, (constraint, expression) in enumerate(inputs, len(outputs)):
        if constraint == "n":
            yield f"const long long kbemu_{number} = {expression};"
            continue
        register, function = _constraint(constraint)
        value = f"{_NAMESPACE}{function}<{_NAMESPACE}{register}>({expression})"
        yield f"const {_NAMESPACE}{register} kbemu_{number} = {value};"


def _constraint(letter: str) -> tuple[str, str]:
    if letter not in _CONSTRAINTS:
        raise PtxSyntaxError(f'the constraint "{letter}"')
    return _CONSTRAINTS[letter]


def _epilogue(outputs: Sequence[tuple[str, str]]) -> Iterator[str]:
    for number in range(len(outputs)):
        yield f"{_NAMESPACE}write_back(kbemu_lvalue{number}, kbemu_{number});"


@dataclass
class _Translation:
    """Translation of PTX statements to C++, with the registers that they may name."""

    operands: int
    scopes: list[set[str]] = field(default_factory=lambda: [set()])
    carries: bool = False

    def lines(self, statements: Sequence[Statement]) -> Iterator[str]:
        for statement in statements:
            if isinstance(statement, Declaration):
                yield from self.declaration(statement)
            elif isinstance(statement, Brace):
                yield self.brace(statement)
            else:
                yield self.instruction(statement)
        if len(self.scopes) != 1:
            raise PtxSyntaxError("a `{` that is not closed")

    def declaration(self, declaration: Declaration) -> Iterator[str]:
        kind = _DECLARED_BITS.get(declaration.type.lstrip("busf"))
        if kind is None:
            raise PtxSyntaxError(f"registers of type .{declaration.type}")
        for name in declaration.names:
            self.scopes[-1].add(name)
            yield f"{_NAMESPACE}{kind} {_variable(name)} = ~0;"

    def brace(self, brace: Brace) -> str:
        if brace.opens:
            self.scopes.append(set())
            return "{"
        self.scopes.pop()
        if not self.scopes:
            raise PtxSyntaxError("a `}` without its `{`")
        return "}"

    def instruction(self, instruction: Instruction) -> str:
        row = find(instruction.opcode)
        if row is None:
            raise PtxSyntaxError(f"the instruction `{instruction.opcode}`")
        guard = f"if ({self.scalar(instruction.guard)}) " if instruction.guard else ""
        return guard + self.call(row, instruction) + ";"

    def call(self, row: Row, instruction: Instruction) -> str:
        operands = list(instruction.operands)
        if operands and "L2::cache_hint" in instruction.opcode:
            operands.pop()  # the cache policy
        destination = operands.pop(0) if row.has_destination and operands else None
        if not row.accepts(len(operands)) or (destination is None) == row.has_destination:
            raise PtxSyntaxError(f"`{instruction.opcode}` with {len(instruction.operands)} operands")
        result = self.result(row, operands)
        if destination is None:
            return result
        return f"{_NAMESPACE}set({self.destination(destination)}, {result})"

    def result(self, row: Row, operands: Sequence[Operand]) -> str:
        kinds = () if row.ignores_operands else row.arguments
        arguments = [self.read(operand, kind) for operand, kind in zip(operands, kinds, strict=False)]
        for modifier in row.modifiers & _INPUT_MODIFIERS.keys():
            arguments = [f"{_NAMESPACE}{_INPUT_MODIFIERS[modifier]}({argument})" for argument in arguments]
        if row.takes_carry:
            self.carries = True
            arguments.append("kbemu_carry")
        result = f"{_NAMESPACE}{row.function}({', '.join(arguments)})"
        for modifier in sorted(row.modifiers):
            result = f"{_NAMESPACE}{_RESULT_MODIFIERS[modifier]}({result})"
        return result

    def read(self, operand: Operand, kind: str) -> str:
        """Return the operand as the row's argument wants it: see ptx_instructions."""
        if isinstance(operand, Address) != kind.startswith("["):
            raise PtxSyntaxError("an address where a value is due, or a value where an address is due")
        if isinstance(operand, Address):
            return f"{_NAMESPACE}address<{kind[1:-1]}>({self.location(operand)})"
        if kind.startswith("raw"):
            return self.raw(operand, kind)
        if isinstance(operand, Vector):
            return f"{_NAMESPACE}get_all<{kind}>({self.elements(operand)})"
        return f"{_NAMESPACE}get<{kind}>({self.scalar(operand)})"

    def raw(self, operand: Operand, kind: str) -> str:
        if isinstance(operand, Vector):
            return f"{_NAMESPACE}pack<{kind.removeprefix('raw ')}>({self.elements(operand)})"
        assert not isinstance(operand, Address)
        return self.scalar(operand)

    def location(self, address: Address) -> str:
        base = f"{_NAMESPACE}get<{_NAMESPACE}u64>({self.scalar(address.base)})"
        return base if address.offset is None else f"{base} + {self.scalar(address.offset)}"

    def destination(self, operand: Operand) -> str:
        if isinstance(operand, Vector):
            return f"::std::tie({self.elements(operand)})"
        if not isinstance(operand, Register):
            raise PtxSyntaxError("a destination that is no register")
        return self.scalar(operand)

    def elements(self, vector: Vector) -> str:
        return ", ".join(self.scalar(element) for element in vector.elements)

    def scalar(self, operand: Register | Number) -> str:
        if isinstance(operand, Number):
            return _literal(operand.text)
        return ("!" if operand.negated else "") + self.register(operand.name)

    def register(self, name: str) -> str:
        if name == "_":
            return f"{_NAMESPACE}sink"
        if (
            name.startswith("%")
            and name[1:].isdigit()
            and len(name) < _LONGEST_NUMBER
            and int(name[1:]) < self.operands
        ):
            return f"kbemu_{name[1:]}"
        if any(name in scope for scope in self.scopes):
            return _variable(name)
        if name[1:] in _SPECIAL and name.startswith("%"):
            return _NAMESPACE + _SPECIAL[name[1:]]
        raise PtxSyntaxError(f"the register `{name}`, which is not declared there,")


def _variable(name: str) -> str:
    return "kbemu_of_" + "".join(c if c.isalnum() else "_" for c in name)


def _literal(text: str) -> str:
    if text[:2] in ("0f", "0F"):
        return f"0x{text[2:]}u"
    if text[:2] in ("0d", "0D"):
        return f"::std::bit_cast<double>(0x{text[2:]}ull)"
    return text
