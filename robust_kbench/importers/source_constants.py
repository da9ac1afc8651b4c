"""Integers of a problem's source that say how large things are, and the source with others in their places.

Runs in the sandbox alone: Python's parser gets no foreign text elsewhere.
"""

from __future__ import annotations

import ast
import io
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

_LEAST_LITERAL = 4
"""Least integer that counts where inputs are made; smaller ones are ranks, colours and indices."""
_LARGEST = 1 << 40
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


class Splice(NamedTuple):
    """Characters [start, end) of the source, and a format string of the text that may replace them."""

    start: int
    end: int
    text: str


class Constant(NamedTuple):
    """Integer with a name, as the source has it."""

    name: str
    value: int


class Constants(NamedTuple):
    """Integers that may be replaced, and their places in the source."""

    values: tuple[Constant, ...]
    splices: tuple[Splice, ...]


def find(source: str) -> Constants:
    """Find integers that are assigned to names at the top of the file, and integers in calls within get_inputs."""
    tree = ast.parse(source)
    offsets = _Offsets(source)
    found = list(_assigned(tree))
    last = {name: number for number, (name, _, _) in enumerate(found)}
    single = [each for number, each in enumerate(found) if last[each[0]] == number]
    literals = [(f"size_{number}", value, node) for number, (value, node) in enumerate(_literals(tree), start=1)]
    literals = [each for each in literals if each[0] not in last]
    splices = [Splice(*offsets.of(node), text) for node, text in _texts([*single, *literals])]
    values = tuple(Constant(name, value) for name, value, _ in [*single, *literals])
    return Constants(values, tuple(sorted(splices)))


def tied(found: Constants) -> Constants | None:
    """Tie constants of the same value, above one, to a single one; None where all differ."""
    first: dict[int, str] = {}
    names = {name: first.setdefault(value, name) if value > 1 else name for name, value in found.values}
    if all(name == other for name, other in names.items()):
        return None
    fields = {name: f"{{{other}}}" for name, other in names.items()}
    splices = tuple(splice._replace(text=splice.text.format_map(fields)) for splice in found.splices)
    return Constants(tuple(each for each in found.values if names[each.name] == each.name), splices)


def spliced(source: str, splices: Sequence[tuple[int, int, str]], values: Mapping[str, int]) -> str:
    """Return `source` with `values` in place of the splices."""
    parts, position = [], 0
    for start, end, text in splices:
        parts += [source[position:start], text.format_map(values)]
        position = end
    return "".join([*parts, source[position:]])


class _Offsets:
    """Converter from lines and bytes, in which a syntax tree counts, to characters of the whole text."""

    def __init__(self, source: str) -> None:
        lines = list(io.StringIO(source, newline=""))  # str.splitlines ends lines where Python's parser does not
        self._lines = [line.encode() for line in lines]
        self._starts = [0, *itertools.accumulate(map(len, lines))]

    def of(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the node's first character and the one after its last."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())


_Found = tuple[str, int, ast.expr | ast.stmt]


def _assigned(tree: ast.Module) -> Iterator[_Found]:
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield from _named(statement.target, statement.value)
        elif isinstance(statement, ast.Assign) and len(statement.targets) > 1:
            yield from _chained(statement)
        elif isinstance(statement, ast.Assign):
            yield from _named(statement.targets[0], statement.value)


def _chained(statement: ast.Assign) -> Iterator[_Found]:
    """Yield the names of `height = width = 64`, which are constants of their own from now on."""
    value = _integer(statement.value)
    names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    if value is not None and len(names) == len(statement.targets):
        yield from ((name, value, statement) for name in names)


def _named(target: ast.expr, value: ast.expr) -> Iterator[_Found]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for name, element in zip(target.elts, value.elts, strict=True):
            yield from _named(name, element)
    elif isinstance(target, ast.Name) and isinstance(value, ast.Tuple | ast.List):
        numbers = [_integer(element) for element in value.elts]
        for place, (number, element) in enumerate(zip(numbers, value.elts, strict=True)):
            if number is not None and number > 1:
                yield (target.id if len(numbers) == 1 else f"{target.id}_{place}"), number, element
    elif isinstance(target, ast.Name) and (number := _integer(value)) is not None:
        yield target.id, number, value


def _integer(node: ast.expr) -> int | None:
    """Return the value of an integer, or of arithmetic with nothing but integers; None for anything else."""
    if isinstance(node, ast.Constant) and type(node.value) is int and 0 < node.value < _LARGEST:
        return node.value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return None
    left, right = _integer(node.left), _integer(node.right)
    if left is None or right is None or (isinstance(node.op, ast.Pow) and right > 40):
        return None
    value = _OPERATORS[type(node.op)](left, right)
    return value if 0 < value < _LARGEST else None


def _literals(tree: ast.Module) -> Iterator[tuple[int, ast.expr]]:
    """Yield integers in calls within get_inputs, such as torch.rand(batch_size, 3, 224, 224)."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "get_inputs":
            arguments = [arg for node in ast.walk(statement) if isinstance(node, ast.Call) for arg in node.args]
            flat = [part for arg in arguments for part in (arg.elts if isinstance(arg, ast.Tuple) else [arg])]
            for part in sorted(flat, key=lambda node: (node.lineno, node.col_offset)):
                value = _integer(part)
                if value is not None and value >= _LEAST_LITERAL:
                    yield value, part


def _texts(found: Sequence[_Found]) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield nodes and their new texts. A chained assignment becomes one for each name, and comes once."""
    seen: set[int] = set()
    for name, _, node in found:
        if isinstance(node, ast.Assign):
            if id(node) not in seen:
                seen.add(id(node))
                targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
                yield node, "; ".join(f"{target} = {{{target}}}" for target in targets)
        else:
            yield node, f"{{{name}}}"
