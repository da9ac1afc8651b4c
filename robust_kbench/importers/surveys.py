"""Surveys of problems, one for each kind of problem. Runs in the sandbox alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from robust_kbench.importers.declared import DeclaredProblem
from robust_kbench.importers.definitions import Definition
from robust_kbench.importers.description import Adapter, Request, Surveyed
from robust_kbench.importers.functions import FunctionProblem, GradientProblem
from robust_kbench.importers.problem import ModelProblem, Problem, Refused
from robust_kbench.importers.survey import Draft, Survey
from robust_kbench.importers.trying import Trying
from robust_kbench.schema.documents import parse
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS

_MOST_FORMS = 6
_MOST_TIMED = 4


def surveyed(request: Request, deadline: float) -> tuple[Surveyed, ...]:
    """Return the tasks that a problem becomes. Raises any error of the problem, and Refused where it does not run."""
    return tuple(_SURVEYS[request.what](request, deadline))


def _survey(
    problem: Problem, adapter: Adapter, request: Request, deadline: float, finish: Callable[[Survey, Draft], None]
) -> Surveyed:
    """Survey a problem. `finish` completes a draft with the knowledge that its kind of problem has."""
    survey = Survey(problem)
    how: dict[str, Any] = {"summary": request.summary, "origin": request.origin}
    draft = survey.draft(adapter, **how)
    finish(survey, draft)
    trying = _try(draft, request, deadline)
    idle = [draft.weights[name] for name in trying.without_influence() if name in draft.weights]
    if idle:
        draft = survey.draft(adapter, **how, without=idle)
        finish(survey, draft)
        draft.notes.append(f"weights without influence, left to the model: {', '.join(idle)}"[:900])
        trying = _try(draft, request, deadline)
    faults = list(trying.faults())
    if not faults:
        trying.enlarge()
        draft.notes += _raise_sizes(draft.task, trying.least_sizes())
    kept, others = trying.distributions() if not faults else ([], [])
    if others:
        draft.notes.append(f"not drawn: {', '.join(others)}")
    if not set(kept) & set(TIMED_DISTRIBUTIONS):
        kept = ["normal"]
        faults += [f"ill-conditioned or not finite on most values: {', '.join(others)}"[:900]] if others else []
    draft.task["distributions"] = list(kept)
    return Surveyed(task=draft.task, adapter=draft.adapter, notes=tuple(draft.notes), faults=tuple(faults))


def _raise_sizes(task: dict[str, Any], least: Mapping[str, int]) -> list[str]:
    """Let axes, and the sizes timed on a processor, begin where the op is well-conditioned. Return notes on that."""
    raised = {name: size for name, size in least.items() if size > task["axes"][name].get("low", size)}
    for name, size in raised.items():
        task["axes"][name] = {**task["axes"][name], "low": size}
    for binding in task["timed"]["cpu"]:
        binding.update({name: max(size, raised.get(name, size)) for name, size in binding.items()})
    return (
        [f"smaller sizes are ill-conditioned: {', '.join(f'{n} < {s}' for n, s in raised.items())}"] if raised else []
    )


def _try(draft: Draft, request: Request, deadline: float) -> Trying:
    return Trying(draft, request.source, request.name, max(1.0, deadline - time.monotonic()))


def _nothing(survey: Survey, draft: Draft) -> None:
    """Leave the draft as it is: the problem's kind has nothing to add."""


def _model(request: Request, deadline: float) -> list[Surveyed]:
    problem = ModelProblem(request.source)
    try:
        return [_survey_of_model(problem, request, deadline)]
    except Refused:
        if (tied := problem.tied()) is None:
            raise
        return [_survey_of_model(tied, request, deadline)]


def _survey_of_model(problem: ModelProblem, request: Request, deadline: float) -> Surveyed:
    splices = tuple((start, end, text) for start, end, text in problem.constants.splices)
    return _survey(problem, Adapter(kind="model", splices=splices), request, deadline, _nothing)


def _function(request: Request, deadline: float) -> list[Surveyed]:
    def make(inputs: Mapping[str, Any], init: Mapping[str, Any]) -> tuple[Problem, Adapter, Any]:
        return FunctionProblem(request.source, inputs, init), Adapter(kind="function", entry="forward_fn"), _nothing

    return _forms(request, deadline, make)


def _gradient(request: Request, deadline: float) -> list[Surveyed]:
    def make(inputs: Mapping[str, Any], init: Mapping[str, Any]) -> tuple[Problem, Adapter, Any]:
        problem = GradientProblem(request.source, inputs, init)

        def finish(survey: Survey, draft: Draft) -> None:
            draft.adapter = _backward(problem, survey, draft)

        return problem, Adapter(kind="gradient", entry="forward_fn"), finish

    return _forms(request, deadline, make)


def _forms(request: Request, deadline: float, make: Callable[..., tuple[Problem, Adapter, Any]]) -> list[Surveyed]:
    """Return a task for each configuration that differs from the earlier ones in more than sizes.

    Configurations that differ in sizes alone are timed, too. A configuration that does not run costs no other, and none
    may take the time of the configurations behind it. If none runs, the error of the last one is raised.
    """
    left = [(dict(inputs), dict(init)) for inputs, init in request.options["configurations"]]
    found: list[Surveyed] = []
    lost: list[Exception] = []
    while left and len(found) + len(lost) < _MOST_FORMS:
        now = time.monotonic()
        share = now + (deadline - now) / min(len(left), _MOST_FORMS - len(found) - len(lost))
        try:
            result, axes = _form(request, share, *make(*left[0]))
        except Exception as error:
            lost.append(error)
            del left[0]
            continue
        own = _how(left[0], axes)
        more = [each for each in left if _how(each, axes) == own]
        left = [each for each in left if _how(each, axes) != own]
        found.append(_timed(result, axes, more))
    if lost and not found:
        raise lost[-1]
    if lost:
        note = f"configurations that do not run: {len(lost)}, such as by {type(lost[0]).__name__}: {lost[0]}"[:900]
        found[0] = found[0].model_copy(update={"notes": (*found[0].notes, note)})
    return found


def _form(
    request: Request, deadline: float, problem: Problem, adapter: Adapter, finish: Callable[[Survey, Draft], None]
) -> tuple[Surveyed, Mapping[str, str]]:
    """Survey one configuration as a task, and return its axes, too."""
    known: dict[str, Mapping[str, str]] = {}

    def complete(survey: Survey, draft: Draft) -> None:
        finish(survey, draft)
        known["axes"] = draft.axes

    return _survey(problem, adapter, request, deadline, complete), known["axes"]


def _how(configuration: Sequence[Mapping[str, Any]], axes: Any) -> str:
    """Return the values of a configuration, without sizes and names of ways to draw weights."""
    merged = {name: value for part in configuration for name, value in part.items()}
    return repr(sorted((n, v) for n, v in merged.items() if n not in axes and not isinstance(v, str)))


def _timed(result: Surveyed, axes: Mapping[str, str], configurations: Sequence[Any]) -> Surveyed:
    """Add the sizes of all configurations to the timed ones, and extend the axes as far."""
    task = dict(result.task)
    (first,) = task["timed"]["cuda"]
    bindings = [first]
    for configuration in configurations:
        merged = {name: value for part in configuration for name, value in part.items()}
        binding = {ours: merged.get(theirs, first[ours]) for theirs, ours in axes.items()} or first
        if binding not in bindings and all(binding[name] % _step(task["axes"][name]) == 0 for name in binding):
            bindings.append(binding)
    task["axes"] = {
        name: _reaching(axis, [each[name] for each in bindings]) if "high" in axis else axis
        for name, axis in task["axes"].items()
    }
    task["timed"] = {**task["timed"], "cuda": bindings[:_MOST_TIMED]}
    return result.model_copy(update={"task": task})


def _reaching(axis: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
    """Extend the axis to the timed sizes: they are checked, too, though one may have been found ill-conditioned."""
    return {**axis, "low": min(axis["low"], *sizes), "high": max(axis["high"], *sizes)}


def _step(axis: Mapping[str, Any]) -> int:
    return int(axis.get("multiple_of", 1))


def _backward(problem: GradientProblem, survey: Survey, draft: Draft) -> Adapter:
    """Return the adapter of a gradient: the forward function's arguments in terms of the backward pass's."""
    ours = {name: how for name, how in zip(survey.argument_names, draft.adapter.arguments, strict=True)}
    forward: list[tuple[str, Any]] = []
    for argument in problem.forward_at(survey.origin):
        if argument.name in ours:
            forward.append(ours[argument.name])
        elif isinstance(argument.value, Tensor):
            forward.append(("zeros", _shape_of(problem, survey, draft, argument.name)))
        else:
            forward.append(("constant", argument.value))
    return draft.adapter.model_copy(
        update={
            "arguments": tuple(forward),
            "upstream": ours["grad_output"][1],
            "gradients": problem.gradients,
            "call": problem.call.arguments,
        }
    )


def _shape_of(problem: GradientProblem, survey: Survey, draft: Draft, name: str) -> list[Any]:
    """Return the sizes of a tensor that the backward pass lacks: numbers, or places of dimensions equally long."""
    bindings = [survey.origin, *survey.neighbours]
    columns = []
    for binding in bindings:
        shapes = {a.name: tuple(a.value.shape) for a in problem.forward_at(binding) if isinstance(a.value, Tensor)}
        known = survey.input_shapes(binding)
        columns.append((shapes[name], known))
    sizes: list[Any] = []
    for dim in range(len(columns[0][0])):
        wanted = [shape[dim] for shape, _ in columns]
        if len(set(wanted)) == 1:
            sizes.append(wanted[0])
            continue
        places = [(tensor, d) for tensor, shape in columns[0][1].items() for d in range(len(shape))]
        place = next(p for p in places if [known[p[0]][p[1]] for _, known in columns] == wanted)
        sizes.append([survey.place(place[0], draft), place[1]])
    return sizes


def _definition(request: Request, deadline: float) -> list[Surveyed]:
    definition = parse(Definition, request.options["definition"], "definition")
    problem = DeclaredProblem(definition, request.options["sizes"], request.options["numbers"])
    adapter = Adapter(kind="function", entry="run")
    known: dict[str, Any] = {}

    def finish(survey: Survey, draft: Draft) -> None:
        known["axes"] = draft.axes

    result = _survey(problem, adapter, request, deadline, finish)
    stored = [f"from files elsewhere, here random: {', '.join(request.options['stored'])}"]
    result = result.model_copy(update={"notes": (*result.notes, *(stored if request.options["stored"] else ()))})
    return [_timed(result, known["axes"], [(workload,) for workload in request.options["workloads"]])]


_SURVEYS: dict[str, Callable[[Request, float], list[Surveyed]]] = {
    "model": _model, "function": _function, "gradient": _gradient, "definition": _definition,
}  # fmt: skip
