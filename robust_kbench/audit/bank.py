"""Bank of a task: variants that must pass and variants that must fail, from its `mutants.py`.

    HONEST = (two_pass, float32_sum)          # other algorithms and orders of summation, as a kernel may compute
    MUTANTS = (eps_inside, lost_tail)         # wrong ones
    EXEMPT = {"tanh_form": {"bfloat16": "why nobody can tell it from an honest one at this dtype"}}

Each is a deterministic function that takes the reference's arguments, tensors in the case's dtype, and returns what the
reference returns. Its docstring says what it does. `eps_inside.dtypes = ("float16",)` keeps one to some dtypes.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from robust_kbench.cases import layouts
from robust_kbench.errors import SpecError
from robust_kbench.registry import LoadedTask

BANK_FILE = "mutants.py"
Function = Callable[..., Any]


@dataclass(frozen=True)
class Member:
    """Variant of a task's own bank."""

    name: str
    description: str
    function: Function
    dtypes: tuple[str, ...]
    is_honest: bool


@dataclass(frozen=True)
class Bank:
    """Variants of one task, and the exemptions of wrong ones.

    `exempt`: wrong variant -> dtype, or "dtype in layout" -> reason why it is indistinguishable there.
    """

    members: tuple[Member, ...] = ()
    exempt: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def load_bank(task: LoadedTask) -> Bank:
    """Read `mutants.py` beside the reference; return an empty bank if there is none. Raises SpecError."""
    path = task.folder / BANK_FILE
    if not path.is_file():
        return Bank()
    where = str(path)
    module = types.ModuleType("mutants")
    try:
        exec(compile(path.read_text(encoding="utf-8"), where, "exec"), module.__dict__)
    except Exception as error:  # it is our own source, but whatever is wrong with it belongs into a message
        raise SpecError(f"{where}: {type(error).__name__}: {error}") from error
    honest, wrong = (_functions(module, name, where) for name in ("HONEST", "MUTANTS"))
    members = [_member(task, function, True, where) for function in honest]
    members += [_member(task, function, False, where) for function in wrong]
    _refuse_doubles([member.name for member in members], where)
    exempt = getattr(module, "EXEMPT", {})
    _check_exempt(task, exempt, where)
    return Bank(tuple(members), exempt)


def _functions(module: types.ModuleType, name: str, where: str) -> tuple[Function, ...]:
    found = getattr(module, name, None)
    if not isinstance(found, tuple) or not all(inspect.isfunction(item) for item in found):
        raise SpecError(f"{where}: {name}: expected a tuple of functions")
    return found


def _member(task: LoadedTask, function: Function, is_honest: bool, where: str) -> Member:
    name = function.__name__
    lines = (inspect.getdoc(function) or "").splitlines()
    if not lines:
        raise SpecError(f"{where}: {name}: no docstring; say what it computes")
    try:
        inspect.signature(function).bind(*task.spec.inputs)
    except TypeError as error:
        raise SpecError(f"{where}: {name}: {error}; it takes {', '.join(task.spec.inputs)}") from None
    dtypes = tuple(getattr(function, "dtypes", task.spec.dtypes))
    if unknown := set(dtypes) - set(task.spec.dtypes):
        raise SpecError(f"{where}: {name}.dtypes: {sorted(unknown)[0]!r} is no dtype of the task")
    return Member(name, lines[0], function, dtypes, is_honest)


def _refuse_doubles(names: list[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{where}: {name} stands twice in the bank")


def _check_exempt(task: LoadedTask, exempt: Any, where: str) -> None:
    """Check the places and reasons of exemptions. Names are checked later, when the generic variants are known too."""
    for name, reasons in exempt.items():
        for place, reason in reasons.items():
            dtype, _, layout = place.partition(" in ")
            if dtype not in task.spec.dtypes:
                raise SpecError(f"{where}: EXEMPT: {name}: {dtype!r} is no dtype of the task")
            if layout and layout not in layouts.applicable(task.spec, dense=False):
                raise SpecError(f"{where}: EXEMPT: {name}: {layout!r} is no layout of the task")
            if len(reason.split()) < 4:
                raise SpecError(f"{where}: EXEMPT: {name}: {place}: say why it is indistinguishable")
