"""Inline PTX as text → statements: declarations, braces and instructions with their operands."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


class PtxSyntaxError(ValueError):
    """The text is not PTX that this module understands; the message names the construct."""


class TooManyRegisters(ValueError):
    """A declaration stands for more registers than any kernel has; the message names it."""


@dataclass(frozen=True)
class Register:
    """`%0`, a declared name, a special register such as `%laneid`, or the sink `_`; `!p` is negated."""

    name: str
    negated: bool = False


@dataclass(frozen=True)
class Number:
    """An immediate operand, as PTX spells it: a number, or an expression of numbers such as `(0xF0 & 0xCC) | 0xAA`."""

    text: str


@dataclass(frozen=True)
class Address:
    """`[base + offset]`."""

    base: Register | Number
    offset: Register | Number | None = None


@dataclass(frozen=True)
class Vector:
    """`{a, b}` or the pair of destinations `d|p`."""

    elements: tuple[Register | Number, ...]


Operand = Register | Number | Address | Vector


@dataclass(frozen=True)
class Declaration:
    """`.reg .type names`."""

    type: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """`@guard opcode operands`; the opcode keeps its modifiers."""

    opcode: str
    operands: tuple[Operand, ...] = ()
    guard: Register | None = None


@dataclass(frozen=True)
class Brace:
    """The beginning (`opens`) or the end of a scope."""

    opens: bool


Statement = Declaration | Instruction | Brace

MOST_REGISTERS = 10_000
"""What one `.reg .b32 r<N>` may declare. Each becomes a variable; a thread has 255 of 32 bits on any device."""
_SPACE = r"(?:\s|\\[nrtv]|//(?:(?!\\n).)*|/\*(?:.|\n)*?\*/)+"  # the text may hold escapes that C++ has not replaced
_NUMBER = (
    r"(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|\d+\.\d*(?:[eE][-+]?\d+)?|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)"
)
_WORD = r"[.%]*[A-Za-z0-9_$]+(?:(?:\.|::)[A-Za-z0-9_$]+)*"
_TOKEN = re.compile(
    rf"(?P<space>{_SPACE})|(?P<number>{_NUMBER})|(?P<word>{_WORD})|(?P<mark><<|>>|[][{{}}(),;:@!|<>+*/%&^~-])"
)
_OF_EXPRESSIONS = re.compile(rf"{_NUMBER}|<<|>>|[()|+*/%&^~-]")


def tokens_of(text: str) -> list[str]:
    """Splits PTX into words, numbers and punctuation; drops comments."""
    found = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise PtxSyntaxError(f"the character {text[position]!r}")
        if match.lastgroup != "space":
            if text.startswith("/*", position):  # each would be looked for to the end
                raise PtxSyntaxError("a comment that is not closed")
            found.append(match.group())
        position = match.end()
    return found


@dataclass
class _Parser:
    tokens: Sequence[str]
    position: int = field(default=0)

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.position += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.position += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise PtxSyntaxError(f"`{self.peek() or 'the end'}` where `{token}` is due")

    def statements(self) -> Iterator[Statement]:
        while self.peek():
            if self.accept("{"):
                yield Brace(opens=True)
            elif self.accept("}"):
                yield Brace(opens=False)
            elif not self.accept(";"):
                yield self.statement()

    def statement(self) -> Statement:
        if self.accept(".reg"):
            return self.declaration()
        guard = None
        if self.accept("@"):
            guard = self.register()
        opcode = self.take()
        if opcode.startswith(".") or self.peek() == ":":
            kind = "directive" if opcode.startswith(".") else "label"
            raise PtxSyntaxError(f"the {kind} `{opcode}`")
        operands = []
        if self.peek() != ";":
            operands.append(self.operand())
        while self.accept(","):
            operands.append(self.operand())
        self.expect(";")
        return Instruction(opcode, tuple(operands), guard)

    def declaration(self) -> Declaration:
        kind = self.take().removeprefix(".")
        names: list[str] = []
        while not self.accept(";"):
            name = _unescaped(self.take())
            if self.accept("<"):
                names += [f"{name}{i}" for i in range(_count(name, self.take()))]
                self.expect(">")
            else:
                names.append(name)
            if self.peek() != ";":
                self.expect(",")
        return Declaration(kind, tuple(names))

    def operand(self) -> Operand:
        if self.accept("["):
            return self.address()
        if self.accept("{"):
            elements = [self.scalar()]
            while self.accept(","):
                elements.append(self.scalar())
            self.expect("}")
            return Vector(tuple(elements))
        first = self.scalar()
        return Vector((first, self.scalar())) if self.accept("|") else first

    def address(self) -> Address:
        base, offset = self.scalar(), None
        if self.accept("+"):
            offset = self.scalar()
        self.expect("]")
        return Address(base, offset)

    def scalar(self) -> Register | Number:
        if not _OF_EXPRESSIONS.fullmatch(self.peek()):
            return self.register()
        expression = []
        while _OF_EXPRESSIONS.fullmatch(self.peek()):
            expression.append(self.take())
        return Number(" ".join(expression))

    def register(self) -> Register:
        negated = self.accept("!")
        name = self.take()
        if not re.match(r"[%A-Za-z_$]", name):
            raise PtxSyntaxError(f"`{name or 'the end'}` where an operand is due")
        return Register(_unescaped(name), negated)


def _count(name: str, text: str) -> int:
    if not re.fullmatch("[0-9]+", text):
        raise PtxSyntaxError(f"`{text or 'the end'}` where a number of registers is due")
    if len(text) > len(str(MOST_REGISTERS)) or int(text) > MOST_REGISTERS:
        raise TooManyRegisters(f"`{name[:20]}<{text[:20]}>`")
    return int(text)


def _unescaped(name: str) -> str:
    return name[1:] if name.startswith("%%") else name


def parse(text: str) -> list[Statement]:
    """Parses the text of an asm statement; raises PtxSyntaxError."""
    return list(_Parser(tokens_of(text)).statements())
