"""Trial of a drafted task: is it random, which weights have no influence, on which values is it well-conditioned?

Runs in the sandbox alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.importers.survey import Draft
from robust_kbench.importers.writing import reference_text
from robust_kbench.oracle.reference import Reference, full_precision
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import LoadedTask
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import parse
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS, Distribution, Task

CANDIDATES: tuple[Distribution, ...] = (
    "normal", "uniform", "lognormal", "integers", "large", "small", "sparse", "needles", "uneven",
)  # fmt: skip
_CONTINUOUS: tuple[Distribution, ...] = ("normal", "lognormal")
"""Distributions where an output is an index: of other distributions some values are equal."""
_CALM, _TOLERABLE = 0.5, 0.9
"""Limits for errors of honest arithmetic, in units of the rule's limits: on values, and at sizes, that are kept.

For halves the rounding of a result alone may be more than half of a limit.
"""
_NO_INFLUENCE = 1e-11
_EXPLAINED = 6.0
_ENLARGED = (4, 16)
_SEEDS, _MORE_SEEDS = (1, 2), (1, 2, 3, 4)


class Trying:
    """Trial of one drafted task with the reference that it will have."""

    def __init__(self, draft: Draft, source: str, name: str, seconds: float) -> None:
        spec = parse(Task, {**draft.task, "name": name}, "task.yaml")
        text = reference_text(source, draft.adapter, draft.task["summary"])
        self._task = LoadedTask(spec, Path(name), text, "sha256:")
        self._reference = Reference(self._task)
        self._deadline = time.monotonic() + seconds
        origin = {draft.axes[theirs]: size for theirs, size in draft.space.origin.items()} or {"one": 1}
        self._cases = [Case(axes=origin, dtype=spec.dtypes[0], seed=seed) for seed in _SEEDS]

    def faults(self) -> Iterator[str]:
        """Yield the reasons why the draft is no task at all."""
        inputs = make_inputs(self._task.spec, self._cases[0])
        first, second = self._reference.native(inputs), self._reference.native(inputs)
        if any(not _same(first[name], second[name]) for name in first):
            yield "two calls with the same values give different answers: it draws random numbers, or keeps a state"

    def without_influence(self) -> list[str]:
        """List parameters whose values change nothing in float64: no kernel has to read them."""
        if not any(spec.role == "parameter" for spec in self._task.spec.inputs.values()):
            return []
        found = [self._sizes_of_gradients(case) for case in self._cases]
        if any(not gradients for gradients in found):
            return []
        weak = {
            name
            for name, spec in self._task.spec.inputs.items()
            if spec.role == "parameter" and all(gradients.get(name, 0.0) < _NO_INFLUENCE for gradients in found)
        }
        flowing = [name for name, spec in self._task.spec.inputs.items() if spec.role == "activation"]
        if any(gradients.get(name, 0.0) < _NO_INFLUENCE for gradients in found for name in flowing):
            return []  # what is wrong there is not the parameters: the audit says so
        return [name for name in self._task.spec.inputs if name in weak]

    def _sizes_of_gradients(self, case: Case) -> dict[str, float]:
        """Return for every input the relative change of the answer; empty where no output has a gradient."""
        values = make_inputs(self._task.spec, case).values
        torch.manual_seed(case.seed)
        try:
            leaves = {
                name: value.double().clone().requires_grad_()
                for name, value in values.items()
                if isinstance(value, Tensor) and value.is_floating_point()
            }
            arguments = [leaves[name] * 1.0 if name in leaves else value for name, value in values.items()]
            with full_precision(), torch.enable_grad():
                result = self._reference.function(*arguments)
                outputs = [y for y in (result if isinstance(result, tuple) else (result,)) if y.requires_grad]
                if not outputs:
                    return {}
                total = sum((y * torch.randn_like(y)).sum() for y in outputs)
                gradients = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
        except RuntimeError:  # what a gradient needs was overwritten, by `y += x` after a rectifier, say
            return self._sizes_of_changes(case)
        scale = sum(float(y.detach().norm()) for y in outputs) or 1.0
        pairs = zip(leaves.items(), gradients, strict=True)
        return {name: 0.0 if g is None else float(g.norm() * leaf.detach().norm()) / scale for (name, leaf), g in pairs}

    def _sizes_of_changes(self, case: Case) -> dict[str, float]:
        """Return the same for a reference that cannot be differentiated: each input in turn is drawn anew."""
        values = make_inputs(self._task.spec, case).values
        others = make_inputs(self._task.spec, case.model_copy(update={"seed": case.seed + len(_SEEDS)})).values
        answer = self._reference.exact(Inputs(values))
        scale = sum(float(y.double().norm()) for y in answer.values()) or 1.0
        sizes = {}
        for name in values:
            other = self._reference.exact(Inputs({**values, name: others[name]}))
            sizes[name] = sum(float((other[key].double() - y.double()).norm()) for key, y in answer.items()) / scale
        return sizes

    def enlarge(self) -> None:
        """Go on at a larger size of one axis where honest arithmetic fails at the first sizes, but not there.

        The smallest sizes that a problem admits may leave a normalisation two numbers, whose signs are its answer.
        """
        origin = self._cases[0].axes
        if not self._fails(origin):
            return
        for factor in _ENLARGED:
            for name in sorted(origin, key=lambda each: -origin[each]):
                sizes = self._task.spec.axes[name].sizes()
                larger = {**origin, name: next((size for size in sizes if size >= factor * origin[name]), 0)}
                if time.monotonic() < self._deadline and larger[name] and not self._fails(larger):
                    self._cases = [case.model_copy(update={"axes": larger}) for case in self._cases]
                    return

    def least_sizes(self) -> dict[str, int]:
        """Find for every axis a size from which on honest arithmetic stays within the rule; mostly its own least one.

        A normalisation of two numbers, or of as many as a mean leaves, answers with their signs. No size is larger than
        the problem's own, which will be timed.
        """
        origin, most = self._cases[0].axes, self._most
        found = {name: next(size for size in axis.sizes() if size) for name, axis in self._task.spec.axes.items()}
        if self._fails(origin):
            return found
        for name, size in found.items():
            while size < most[name] and time.monotonic() < self._deadline and self._fails({**origin, name: size}):
                size = self._larger(name, size)
            found[name] = size
        while found != most and time.monotonic() < self._deadline and self._fails(found, _MORE_SEEDS):
            found = self._next(found)
        return found

    @property
    def _most(self) -> dict[str, int]:
        """Sizes of the origin, or the problem's own sizes where they are smaller."""
        (own,) = self._task.spec.timed["cuda"]
        return {name: min(size, own[name]) for name, size in self._cases[0].axes.items()}

    def _next(self, found: Mapping[str, int]) -> dict[str, int]:
        """Return `found` with one axis larger, if that is enough, and else with all axes larger."""
        larger = {name: self._larger(name, size) for name, size in found.items()}
        for name in sorted(found, key=lambda each: -self._cases[0].axes[each]):
            if larger[name] > found[name] and not self._fails({**found, name: larger[name]}):
                return {**found, name: larger[name]}
        return larger

    def _larger(self, axis: str, size: int) -> int:
        """Return about twice `size` that the axis admits, within bounds."""
        most = self._most[axis]
        return next((each for each in self._task.spec.axes[axis].sizes() if 2 * size <= each <= most), most)

    def _fails(self, sizes: Mapping[str, int], seeds: Sequence[int] = _SEEDS) -> bool:
        cases = [self._cases[0].model_copy(update={"axes": dict(sizes), "seed": seed}) for seed in seeds]
        try:
            return any(self._problem(case, "normal", _TOLERABLE) for case in cases)
        except Exception:  # of the problem itself, which does not exist at these sizes
            return True

    def distributions(self) -> tuple[list[Distribution], list[str]]:
        """Return distributions on which honest arithmetic stays well within the rule, and reasons against others."""
        exact = any(self._task.spec.comparison_of(output) == "exact" for output in self._task.spec.outputs.values())
        kept: list[Distribution] = []
        words = []
        for candidate in _CONTINUOUS if exact else CANDIDATES:
            if time.monotonic() > self._deadline and set(kept) & set(TIMED_DISTRIBUTIONS):
                words.append(f"{candidate} (not tried)")
                continue
            problem = next(filter(None, (self._problem(case, candidate) for case in self._cases)), None)
            if problem is None:
                kept.append(candidate)
            else:
                words.append(f"{candidate} ({problem})")
        return kept, words

    def _problem(self, case: Case, distribution: Distribution, most: float = _CALM) -> str | None:
        case = case.model_copy(update={"distribution": distribution})
        inputs = make_inputs(self._task.spec, case)
        expected = Judge(self._task.spec, self._reference).expect(case, inputs)
        if not all(
            bool(torch.isfinite(tensor).all()) for tensor in (*expected.exact.values(), *expected.native.values())
        ):
            return "not finite"
        if (own := self._own_error(case, expected.exact, expected.native)) > _EXPLAINED:
            return f"PyTorch's own error is {own:.2g} times what its roundoff explains"
        wide = {name: tensor.dtype in (torch.float32, torch.float64) for name, tensor in expected.native.items()}
        for answer in self._honest(inputs, expected.exact, expected.native):
            judged = expected.judge(answer)
            if not all(judgement.ratio <= (most if wide[name] else _TOLERABLE) for name, judgement in judged.items()):
                return f"error {max(judgement.ratio for judgement in judged.values()):.2g} of its limit"
        return None

    def _own_error(self, case: Case, exact: Mapping[str, Tensor], native: Mapping[str, Tensor]) -> float:
        """Return PyTorch's error, in units of a unit roundoff and the root of the terms, as in the audit."""
        worst = 0.0
        for name, spec in self._task.spec.outputs.items():
            if not native[name].is_floating_point() or not native[name].numel():
                continue
            length = spec.reduction if spec.reduction is not None else self._task.spec.reduction
            terms = max(arithmetic.evaluate(length, case.axes), 1)
            unit = torch.finfo(native[name].dtype).eps / 2 + 2.0 * terms**0.5 * 2.0**-24
            error, size = (
                float(t.norm()) for t in (native[name].double() - exact[name].double(), exact[name].double())
            )
            worst = max(worst, error / (unit * size) if size else 0.0)
        return worst

    def _honest(
        self, inputs: Inputs, exact: Mapping[str, Tensor], native: Mapping[str, Tensor]
    ) -> Iterator[dict[str, Tensor]]:
        """Yield answers of other right ways to compute: rounded once, other kernels, inputs a rounding away."""
        yield {name: tensor.to(native[name].dtype) for name, tensor in exact.items()}
        # Without the libraries' own convolutions, of which one goes through a transform that loses digits.
        with torch.backends.mkldnn.flags(enabled=False), torch.backends.nnpack.flags(enabled=False):
            yield self._reference.native(inputs)
        moved = self._reference.exact(Inputs({name: _moved(value) for name, value in inputs.values.items()}))
        yield {name: tensor.to(native[name].dtype) for name, tensor in moved.items()}


def _moved(value: Any) -> Any:
    """Move a value in float64 by about half a unit of float32's last place: honest kernels for halves use float32."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    step = min(torch.finfo(value.dtype).eps, torch.finfo(torch.float32).eps) / 4
    noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return value.double() * (1.0 + step * noise)


def _same(one: Tensor, other: Tensor) -> bool:
    return bool(((one == other) | ((one != one) & (other != other))).all())
