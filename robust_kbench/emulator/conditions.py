"""The value of an `#if` as far as it is certain: code that cannot be compiled here needs no emulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from robust_kbench.emulator.tokens import Kind, Token

# As include/kbemu/qualifiers.h defines them.
PREDEFINED: dict[str, int | None] = {
    "__CUDACC__": 1,
    "__NVCC__": 1,
    "__CUDA_ARCH__": 800,
    "__CUDACC_VER_MAJOR__": 13,
    "CUDART_VERSION": 13000,
    "CUDA_VERSION": 13000,
    "true": 1,
    "false": 0,
}
UNDEFINED = frozenset(
    [
        "__HIP__", "__HIPCC__", "__HIP_PLATFORM_AMD__", "__HIP_DEVICE_COMPILE__", "USE_ROCM", "_MSC_VER", "_WIN32",
        "__CUDACC_RTC__",
    ]
)  # fmt: skip
# More than any honest condition has; also the bound of the parser's recursion.
_LONGEST = 100
# What the compiler counts with. A macro that multiplies another with itself, and so on, has a value of any length.
_BITS = 64
_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %")  # from the weakest
_STRENGTH = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators.split()}


def _divide(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    quotient = _divide(a, b)
    return None if quotient is None else a - b * quotient


_OPERATIONS: dict[str, Callable[[int, int], int | None]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<<": lambda a, b: a << b if 0 <= b < 64 else None,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else None,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": _remainder,
}


def evaluate(tokens: Sequence[Token], macros: Mapping[str, int | None]) -> int | None:
    """The value of the condition in `tokens`, or None where it depends on what is not in `macros`.

    `macros` gives the value of each defined macro: None where it is no number; a name that is missing may be defined
    elsewhere.
    """
    if len(tokens) > _LONGEST:
        return None
    parser = _Parser(_joined(tokens), macros)
    try:
        value = parser.ternary()
    except (SyntaxError, ValueError):
        return None
    return value if parser.next() == "" else None


def defined(name: str, macros: Mapping[str, int | None]) -> int | None:
    """The value of `defined(name)`."""
    if name in macros:
        return 1
    return 0 if name in UNDEFINED else None


def _joined(tokens: Sequence[Token]) -> list[str]:
    """The words of a condition; `>>` is one of them here, since no template can be closed."""
    words: list[str] = []
    previous: Token | None = None
    for token in tokens:
        adjacent = previous is not None and previous.text == ">" and token.kind is Kind.MARK
        if adjacent and words[-1] == ">" and token.text == ">":
            words[-1] = ">>"
        elif token.significant:
            words.append(token.text)
        previous = token
    return words


class _Parser:
    """Recursive descent; every method returns a number or None for what is not known."""

    def __init__(self, words: list[str], macros: Mapping[str, int | None]) -> None:
        self._words = words
        self._position = 0
        self._macros = macros

    def next(self) -> str:
        return self._words[self._position] if self._position < len(self._words) else ""

    def _take(self) -> str:
        word = self.next()
        self._position += 1
        return word

    def _expect(self, word: str) -> None:
        if self._take() != word:
            raise SyntaxError(word)

    def ternary(self) -> int | None:
        condition = self._binary(0)
        if self.next() != "?":
            return condition
        self._take()
        yes = self.ternary()
        self._expect(":")
        no = self.ternary()
        return None if condition is None else (yes if condition else no)

    def _binary(self, weakest: int) -> int | None:
        left = self._unary()
        while (strength := _STRENGTH.get(self.next(), -1)) >= weakest:
            operator = self._take()
            left = _combine(operator, left, self._binary(strength + 1))
        return left

    def _unary(self) -> int | None:
        word = self._take()
        if word in ("!", "-", "+", "~"):
            operand = self._unary()
            return None if operand is None else {"!": int(not operand), "-": -operand, "+": operand}.get(word, ~operand)
        if word == "(":
            value = self.ternary()
            self._expect(")")
            return value
        if word == "defined":
            return self._defined()
        if word[:1].isdigit():
            return _bounded(int(word.replace("'", "").rstrip("lL"), 0))  # unsigned arithmetic is left to the compiler
        if not (word[:1].isalpha() or word[:1] == "_") or self.next() == "(":
            raise SyntaxError(word)
        return self._macros.get(word, 0 if word in UNDEFINED else None)

    def _defined(self) -> int | None:
        if self.next() != "(":
            return defined(self._take(), self._macros)
        self._take()
        value = defined(self._take(), self._macros)
        self._expect(")")
        return value


def _combine(operator: str, left: int | None, right: int | None) -> int | None:
    if operator == "&&":
        if left == 0 or right == 0:
            return 0
        return None if left is None or right is None else 1
    if operator == "||":
        if left or right:
            return 1
        return None if left is None or right is None else 0
    if left is None or right is None:
        return None
    return _bounded(_OPERATIONS[operator](left, right))


def _bounded(value: int | None) -> int | None:
    return None if value is None or abs(value) >> _BITS else int(value)
