"""Integer arithmetic over axes: the only expressions that a task file may contain."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_SIGNS: Mapping[type[ast.operator | ast.cmpop], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.LtE: "<=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_MAX_LENGTH = 200


@lru_cache(maxsize=4096)
def _parse(expression: str) -> ast.expr:
    if len(expression) > _MAX_LENGTH:
        raise ValueError(f"expression of {len(expression)} characters; at most {_MAX_LENGTH} are allowed")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{expression!r} is not an expression: {error.msg}") from None
    for node in ast.walk(tree):
        _reject_foreign(node, expression)
    return tree


def _reject_foreign(node: ast.AST, expression: str) -> None:
    known: tuple[type[ast.AST], ...] = (ast.BinOp, ast.Compare, ast.Name, ast.Load, *_BINARY, *_COMPARE)
    integer = isinstance(node, ast.Constant) and type(node.value) is int
    if not integer and not isinstance(node, known):
        raise ValueError(f"{expression!r}: only integers, axes, + - * // % and comparisons are allowed")


def names(expression: str | int) -> set[str]:
    """Return the axes that `expression` mentions. Raises ValueError when it is not plain integer arithmetic."""
    if isinstance(expression, int):
        return set()
    return {node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name)}


def evaluate(expression: str | int, axes: Mapping[str, int]) -> int:
    """Compute the value of `expression` with `axes` bound; a comparison gives 0 or 1.

    Raises ValueError for an unknown axis, a division by zero and anything that is not integer arithmetic.
    """
    if isinstance(expression, int):
        return expression
    try:
        return int(_value(_parse(expression), axes))
    except KeyError as error:
        raise ValueError(f"{expression!r}: unknown axis {error}; known: {', '.join(axes)}") from None
    except ZeroDivisionError:
        raise ValueError(f"{expression!r}: division by zero with {dict(axes)}") from None


def postfix(expression: str | int) -> list[int | str]:
    """Return `expression` as a program for a stack: integers, names of axes and operators, each after its operands."""
    return [expression] if isinstance(expression, int) else _postfix(_parse(expression))


def _postfix(node: ast.expr) -> list[int | str]:
    match node:
        case ast.Constant(value=int(value)):
            return [value]
        case ast.Name(id=name):
            return [name]
        case ast.BinOp(left=left, op=op, right=right):
            return [*_postfix(left), *_postfix(right), _SIGNS[type(op)]]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return [*_postfix(left), *_postfix(right), _SIGNS[type(op)]]
    raise ValueError(f"{ast.unparse(node)!r}: chained comparisons are not allowed")


def _value(node: ast.expr, axes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return axes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, axes), _value(right, axes))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _COMPARE[type(op)](_value(left, axes), _value(right, axes))
    raise ValueError(f"{ast.unparse(node)!r}: chained comparisons are not allowed")
