"""Calls as real code makes them, of one case of each dtype that was right by itself.

The loophole: calls of a judge come one by one, at addresses and with values that no earlier call had, and no answer is
looked at twice. So a kernel may pass although it keeps answers by the address of its inputs, or by a sample of their
values. It may also write into an answer which it has handed out. It may be right only after a pause, in PyTorch's usual
mode, in the thread that has loaded it, or nearly always.
How it is detected: other values at the addresses of the call before, and nearly the same values; bursts of calls on two
sets of inputs, whose answers are looked at when all are there; `no_grad`, `inference_mode`, inputs that require
gradients; another thread, another stream, a pause; one tensor as two inputs, inputs of different layouts, or with their
outer axes in another order. Each answer is judged like any other.
What it lets through: a kernel that raises in inference mode, or where inputs require gradients, as a kernel does that
calls autograd, or NumPy. A kernel that returns one buffer of its own again and again is reported, and judged by its
latest answer. It does not see faults that need calls of other shapes in between; answers of large calls that are
changed later; a ring of more buffers than a burst has calls; more threads of the kernel's own than the one core of a
worker has.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice

import torch

from robust_kbench.cases import layouts
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.layouts import Outer
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.checking.crew import Crew
from robust_kbench.contestant import Contestant
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.use import PLAIN, Mode, Use, answers
from robust_kbench.oracle.verdict import Judge
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult, Tier
from robust_kbench.schema.task import ITEMSIZE, FloatDType, Input, Task, shape_of

GUARD = "reused_results"
_MODES: tuple[Mode, ...] = ("no_grad", "inference_mode", "requires_grad")
_EXCUSED_MODES: tuple[Mode, ...] = ("inference_mode", "requires_grad")
"""Modes in which a kernel may raise, as it does if it calls autograd or hands its inputs to NumPy."""
_MOST_BYTES = 1 << 20
"""Most bytes of a call: several have to fit into the workers' memory, and PyTorch's errors around each are dear."""
_LARGE_BYTES = 64 << 20
"""Most bytes of the one larger call that is made at the addresses of another."""
_BURST, _LONG_BURST, _MOST_BURST_BYTES = 8, 64, 8 << 20
"""Most calls of a short and of a long burst, and most bytes of a burst. A kernel cannot count on a number: short ones
have two or more, long ones at least half of the most."""
_BURSTS: dict[Tier, int] = {"quick": 32, "full": 128, "final": 128}
_BURSTS_ON_A_DEVICE: dict[Tier, int] = {"quick": 0, "full": 64, "final": 64}
"""Long bursts of small cases, over all dtypes. In the 6,000 calls of 128, 99 of 100 kernels are found that are wrong
once in a thousand; 64 find 19 of 20, and 32 find 3 of 4. A burst takes 11 ms, and 30 on a CUDA device."""
_TELLING = 256
"""Elements of all tensors of a call: with fewer of them a wrong answer may be right by chance."""
_MOST_BURST_S, _MOST_LONG_BURSTS_S, _QUICK_BURSTS_S = 2.0, 10.0, 0.3
"""Most seconds of a burst, of all long ones of a case, and of those of all dtypes together at tier quick. Slow kernels
are called less often: the time limit of a burst is that of a call."""
_AT_ONE_ADDRESS: dict[Tier, tuple[int, int]] = {"quick": (4, 8), "full": (8, 16), "final": (8, 16)}
"""Least and most calls in a row at one address, each with other values."""
_PAUSE_S = 0.5
_WIDE = 4
"""Least bytes of an element in calls with one tensor as two inputs."""
_LOST = 2.0**-10
"""Share of the usual size of a result. A smaller result is the remainder of terms that cancel."""
_OUTER: dict[Outer, str] = {
    "turned": "with the two axes before the last exchanged in memory",
    "turned_pitched": "with the two axes before the last exchanged in memory, in wider tensors",
    "sliced": "as the first rows of larger slices",
}
_MOST_TWINS = 3
"""Largest number of real inputs of which a near twin is made."""


@dataclass(frozen=True)
class Step:
    """Call or burst: its first set of inputs, the way in which it is made, and a description in words."""

    words: str
    inputs: Inputs
    use: Use = PLAIN


@dataclass
class Circumstances:
    """Calls of one contestant in many circumstances. `findings`: all that they tell beside right and wrong."""

    task: Task
    contestant: Contestant
    crew: Crew
    judge: Judge
    tier: Tier
    findings: list[Finding] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)
    _last_call_s: dict[FloatDType, float] = field(default_factory=dict)
    _call_s: dict[FloatDType, float] = field(default_factory=dict)
    """Seconds of the fastest call of each dtype: a first one may compile."""

    def check(self, cases: Sequence[Case], seed: int, dtypes: Collection[FloatDType]) -> list[CaseResult]:
        """Make calls of each kind, of a case of each of `dtypes`, until any is wrong or changes an input.

        The choice from `cases` does not depend on `dtypes`: others may be checked beside these. Returns the first wrong
        result of each dtype. A changed input is a finding, and the cause of all later errors. Raises Unsupported.
        """
        chosen, large = list(self._choose(cases, seed)), list(self._choose_large(cases, seed))
        first_large, more_large = large[:1], large[1:]
        kinds = (
            (self._steps, chosen),
            (self._long_bursts, list(self._choose_small(cases))),
            (self._twice_the_same, list(self._choose_with_twins(cases, seed))),
            (self._in_two_layouts, list(self._choose_laid_out(cases, seed))),
            (self._with_outer_axes, list(self._choose_with_outer_axes(cases, seed))),
            (self._of_large, first_large),
            (self._of_another_large, more_large),
            (self._rested, chosen),
            # The last, as a buffer that a kernel keeps may require gradients from then on.
            (self._in_modes, [*chosen, *first_large]),
        )
        for steps, each in kinds:
            due = (case for case in each if case.dtype in dtypes)
            found = [problem for case in due if (problem := self._first_problem(case, steps(case)))]
            if found or any(seen.changed_inputs for seen in self.seen):
                return found
        return []

    def _choose(self, cases: Sequence[Case], seed: int) -> Iterator[Case]:
        """Choose a case of each dtype: an ordinary one, whose values can differ."""
        for dtype in self.contestant.built:
            if fit := self._fit(cases, dtype):
                yield Draw(seed, f"circumstances {dtype}").choice(fit)

    def _choose_small(self, cases: Sequence[Case]) -> Iterator[Case]:
        """Choose a small case of each dtype, for calls by the thousand, whose values tell.

        One element may be right by chance, and a rectifier does nothing to positive values.
        """
        usual = {"distribution": "normal"} if "normal" in self.task.distributions else {}
        for dtype in self.contestant.built if self._bursts else ():
            if fit := self._fit(cases, dtype):
                yield min(fit, key=self._size).model_copy(update=usual)

    def _size(self, case: Case) -> tuple[bool, int]:
        count = sum(math.prod(shape_of(spec, case.axes)) for spec in self.task.tensors.values())
        return count < _TELLING, case_footprint(self.task, case)

    def _choose_large(self, cases: Sequence[Case], seed: int) -> Iterator[Case]:
        """Choose a case of each dtype that is too large for the other calls, in any order; none at tier quick."""
        draw = Draw(seed, "circumstances of large calls")
        for dtype in draw.shuffled(list(self.contestant.built)) if self.tier != "quick" else ():
            large = [case for case in cases if case.dtype == dtype and _is_ordinary(case) and self._is_large(case)]
            if large:
                yield draw.choice(large)

    def _choose_with_twins(self, cases: Sequence[Case], seed: int) -> Iterator[Case]:
        """Choose a case in which two inputs can be one tensor, in float32 or wider, and make it square if it must be.

        In half precision PyTorch's answer is mostly rounding where terms cancel, and addresses do not matter for that.
        """
        dtype = max(self.contestant.built, key=ITEMSIZE.__getitem__)
        if ITEMSIZE[dtype] < _WIDE:
            return
        draw = Draw(seed, "twins")
        for case in draw.shuffled(self._fit(cases, dtype)):
            if squares := list(squared(self.task, case)):
                yield draw.choice(squares)
                return

    def _choose_laid_out(self, cases: Sequence[Case], seed: int) -> Iterator[Case]:
        """Choose a case of each layout that several inputs can take; of one layout at tier quick."""
        fit = [
            case for dtype in self.contestant.built for case in self._fit(cases, dtype) if min(case.axes.values()) > 1
        ]
        found: dict[str, list[Case]] = {}
        for case in fit:
            if len(self._laid_out(case)) > 1:
                found.setdefault(case.layout, []).append(case)
        draw = Draw(seed, "two layouts")
        for layout in draw.shuffled(sorted(found))[: 1 if self.tier == "quick" else None]:
            yield draw.choice(found[layout])

    def _choose_with_outer_axes(self, cases: Sequence[Case], seed: int) -> Iterator[Case]:
        """Choose a pitched case of each dtype, where an input has three axes or more; none at tier quick."""
        for dtype in self.contestant.built if self.tier != "quick" else ():
            pitched = [case for case in self._fit(cases, dtype) if case.layout == "pitched"]
            if fit := [case for case in pitched if min(case.axes.values()) > 1 and self._has_outer_axes(case)]:
                yield Draw(seed, f"outer axes {dtype}").choice(fit)

    def _has_outer_axes(self, case: Case) -> bool:
        return any(len(self.task.inputs[name].shape) > 2 for name in self._laid_out(case))

    def _laid_out(self, case: Case) -> list[str]:
        """Name the inputs of a case that do not lie contiguous."""
        dense = self.contestant.abi == "c"
        ways = {name: layouts.layout_of(spec, case.layout, dense=dense) for name, spec in self.task.inputs.items()}
        return [name for name, way in ways.items() if way not in ("contiguous", "offset", "expanded")]

    def _is_large(self, case: Case) -> bool:
        return _MOST_BYTES < case_footprint(self.task, case) <= _LARGE_BYTES

    def _fit(self, cases: Sequence[Case], dtype: str) -> list[Case]:
        return [case for case in cases if case.dtype == dtype and _is_fit(self.task, case)]

    @property
    def _bursts(self) -> int:
        return (_BURSTS_ON_A_DEVICE if self.crew.is_on_a_device else _BURSTS)[self.tier]

    def _long_bursts(self, case: Case) -> Iterator[Step]:
        """Make long bursts, which add up to calls by the thousand."""
        draw = Draw(case.seed, "bursts")
        first, other = self._anew(case, draw), self._anew(case, draw)
        dtypes = len(self.contestant.built)
        until = time.monotonic() + (_QUICK_BURSTS_S / dtypes if self.tier == "quick" else _MOST_LONG_BURSTS_S)
        for _ in range(math.ceil(self._bursts / dtypes)):
            if time.monotonic() + min(_LONG_BURST * self._call_s[case.dtype], _MOST_BURST_S) > until:
                return
            yield self._burst(case, draw, first, other, _LONG_BURST)

    def _first_problem(self, case: Case, steps: Iterator[Step]) -> CaseResult | None:
        for step in steps:
            problem = self._problem(case, step)
            if self.seen[-1].changed_inputs:
                return None
            if problem is not None:
                return problem
        return None

    def _steps(self, case: Case) -> Iterator[Step]:
        draw = Draw(case.seed, "circumstances")
        first = make_inputs(self.task, case)
        yield Step("called once more", first)
        other = first
        least, most = _AT_ONE_ADDRESS[self.tier]
        for _ in range(least + draw.below(most - least + 1)):
            other = self._anew(case, draw)
            yield Step("other values at the addresses of the call before", other, Use(same_place=True))
        turned = other
        for name in _changeable(self.task, other):
            twin, turned = exchanged(other, name, draw), exchanged(other, name, draw, rows=True)
            yield Step(f"two elements of {name} exchanged since the call before", twin, Use(same_place=True))
            yield Step(f"two rows of {name} exchanged, at other addresses", turned)
        scaled = with_scalars_of(self._anew(case, draw), turned)
        if scaled.scalars != turned.scalars:
            yield Step("other scalars than in the call before, and the same tensors", scaled, Use(same_place=True))
        burst = self._burst(case, draw, first, turned, _BURST)
        yield burst
        yield self._in_thread(self._burst(case, draw, first, other, _BURST, but=len(burst.use.order)))
        takes_a_stream = self.contestant.abi != "c"  # by its language, not always as an argument
        if self.crew.is_on_a_device and takes_a_stream:
            yield Step("called on another stream", draw.choice([first, other, turned]), Use(on_stream=True))

    def _twice_the_same(self, case: Case) -> Iterator[Step]:
        draw = Draw(case.seed, "twins")
        one, other = draw.choice(pairs_of_twins(self.task, case))
        inputs = self._anew(case, draw)
        same = Inputs({**inputs.values, other: inputs.tensors[one]})
        usual, found = self.judge.usual(case, inputs), self.judge.usual(case, same)
        if not any(_is_lost(found[name], tensor) for name, tensor in usual.items()):
            yield Step(f"with one tensor as {one} and as {other}", same)

    def _in_two_layouts(self, case: Case) -> Iterator[Step]:
        """Lay out one input as the case says and the others not, and the other way round, as in x @ w.T.

        Tier quick makes one of both, as a Triton kernel is compiled for each.
        """
        draw = Draw(case.seed, "two layouts")
        names = self._laid_out(case)
        one = draw.choice(names)
        others = [name for name in names if name != one]
        for dense in [draw.choice([[one], others])] if self.tier == "quick" else ([one], others):
            words = f"with {' and '.join(dense)} contiguous beside what is {case.layout}"
            yield Step(words, self._anew(case, draw), Use(dense=frozenset(dense)))

    def _with_outer_axes(self, case: Case) -> Iterator[Step]:
        """Lay out pitched inputs as queries of a projection, and as a part of a cache; some or all of them."""
        draw = Draw(case.seed, "outer axes")
        names = [name for name in self._laid_out(case) if len(self.task.inputs[name].shape) > 2]
        for outer, words in _OUTER.items():
            yield Step(words, self._anew(case, draw), Use(outer=outer))
        if len(names) > 1:
            dense = draw.shuffled(names)[: 1 + draw.below(len(names) - 1)]
            words = f"with {' and '.join(sorted(dense))} contiguous, {_OUTER['turned']}"
            yield Step(words, self._anew(case, draw), Use(outer="turned", dense=frozenset(dense)))

    def _of_large(self, case: Case) -> Iterator[Step]:
        """Call a large case as the small ones are called, but for bursts."""
        draw = Draw(case.seed, "large")
        yield Step("called once more", self._anew(case, draw))
        latest = self._anew(case, draw)
        yield Step("other values at the addresses of the call before", latest, Use(same_place=True))
        for name in _changeable(self.task, latest):
            latest = exchanged(latest, name, draw, rows=True)
            yield Step(f"two rows of {name} exchanged since the call before", latest, Use(same_place=True))
        yield Step("called from another thread", self._anew(case, draw), Use(in_thread=True))

    def _of_another_large(self, case: Case) -> Iterator[Step]:
        """Call a large case of another dtype twice at the same addresses: each dtype may have code of its own."""
        return islice(self._of_large(case), 2)

    def _in_modes(self, case: Case) -> Iterator[Step]:
        """Call in PyTorch's modes; in one at tier quick, as a kernel that is compiled may be compiled anew for each.

        A kernel that gets its outputs passed has no gradients to hand on, so that its inputs never ask for them.
        """
        draw = Draw(case.seed, "modes")
        abi = self.contestant.abi
        gives_results = abi in ("value", "torch")
        known = [mode for mode in _MODES if gives_results or (abi == "destination" and mode != "requires_grad")]
        is_once = self.tier == "quick" or self._is_large(case)
        for mode in [draw.choice(known)] if known and is_once else known:
            yield Step(_words_of(mode), self._anew(case, draw), Use(mode=mode))

    def _rested(self, case: Case) -> Iterator[Step]:
        """Call after a pause, during which workers of other dtypes were called."""
        if self.tier == "quick":
            return
        time.sleep(max(0.0, self._last_call_s[case.dtype] + _PAUSE_S - time.monotonic()))
        yield Step("after half a second", self._anew(case, Draw(case.seed, "rested")))

    def _anew(self, case: Case, draw: Draw) -> Inputs:
        return make_inputs(self.task, case.model_copy(update={"seed": draw.bits()}))

    def _burst(self, case: Case, draw: Draw, first: Inputs, other: Inputs, most: int, but: int = 0) -> Step:
        """Make a random number of calls, and not `but`, of two sets in any order."""
        most = _burst_calls(self.task, case, min(most, int(_MOST_BURST_S / max(self._call_s[case.dtype], 1e-6))))
        least = 2 if most <= _BURST else most // 2
        count = draw.choice([number for number in range(least, most + 1) if number != but] or [most])
        order = tuple(draw.shuffled([number % 2 for number in range(count)]))
        return Step(f"in a burst of {count} calls", first, Use(others=(other,), order=order))

    def _in_thread(self, burst: Step) -> Step:
        return Step(f"called from another thread, {burst.words}", burst.inputs, replace(burst.use, in_thread=True))

    def _problem(self, case: Case, step: Step) -> CaseResult | None:
        seen = self.crew.call(case, step.inputs, self.contestant.built[case.dtype], None, step.use)
        self.seen.append(seen)
        self._last_call_s[case.dtype] = time.monotonic()
        if len(step.use.order) == 1:
            self._call_s[case.dtype] = min(self._call_s.get(case.dtype, math.inf), seen.elapsed_ns / 1e9)
        if seen.ending == "raised" and step.use.mode in _EXCUSED_MODES:
            return None
        if seen.ending != "returned" or seen.problems:
            return _told(self.judge.verdict(seen, step.inputs).result, step.words)
        self._tell_of_reuse(case, seen)
        found = answers(seen, list(self.task.outputs), len(step.use.order))
        for number, inputs in enumerate((step.inputs, *step.use.others)):
            right: list[Observation] = []
            for place, answer in zip(step.use.order, found, strict=True):
                if place != number or not answer.outputs or any(_are_equal(answer, each) for each in right):
                    continue
                result = self.judge.verdict(self._filled(answer, inputs), inputs).result
                if result.status != "passed":
                    return _told(result, step.words)
                right.append(answer)
        return None

    def _filled(self, answer: Observation, inputs: Inputs) -> Observation:
        """Put PyTorch's outputs into the places of outputs that a later call has overwritten."""
        if len(answer.outputs) == len(self.task.outputs):
            return answer
        return replace(answer, outputs={**self.judge.usual(answer.case, inputs), **answer.outputs})

    def _tell_of_reuse(self, case: Case, seen: Observation) -> None:
        if seen.reused and not self.findings:
            message = "returns one buffer again and again: an answer is overwritten by the next call"
            self.findings.append(Finding(guard=GUARD, severity="warn", message=message, case=str(case)))


def most_bytes(task: Task, cases: Sequence[Case], tier: Tier) -> int:
    """Compute the memory that the largest burst takes, if any of `cases` may be chosen for it."""
    most = _LONG_BURST if _BURSTS[tier] else _BURST
    fit = (case for case in cases if _is_fit(task, case))
    return max((_burst_calls(task, case, most) * case_footprint(task, case) for case in fit), default=0)


def _is_fit(task: Task, case: Case) -> bool:
    return _is_ordinary(case) and case_footprint(task, case) <= _MOST_BYTES


def _is_ordinary(case: Case) -> bool:
    return case.probe is None and min(case.axes.values(), default=0) > 0


def _burst_calls(task: Task, case: Case, most: int) -> int:
    count = max(2, min(most, _MOST_BURST_BYTES // max(1, case_footprint(task, case))))
    return max(1, min(count, _LONG_BURST // len(task.outputs)))


def _changeable(task: Task, inputs: Inputs) -> list[str]:
    """Name inputs with several elements in any order: the largest real ones and the largest other one."""
    sizes = {name: tensor.numel() for name, tensor in inputs.tensors.items() if not task.inputs[name].offsets}
    names = sorted((name for name, size in sizes.items() if size > 1), key=lambda name: -sizes[name])
    reals = [name for name in names if inputs.tensors[name].is_floating_point()]
    return [*reals[:_MOST_TWINS], *[name for name in names if name not in reals][:1]]


def pairs_of_twins(task: Task, case: Case) -> list[tuple[str, str]]:
    """Name pairs of inputs that differ in nothing but their values, as queries and keys do: they can be one tensor."""
    shapes = {name: shape_of(task.inputs[name], case.axes) for name in task.inputs}
    return [(one, other) for one, other in _possible_twins(task, case) if shapes[one] == shapes[other]]


def squared(task: Task, case: Case) -> Iterator[Case]:
    """Make cases in which two inputs can be one tensor: of two axes that must be equal for that, the smaller size."""
    for one, other in _possible_twins(task, case):
        axes = dict(case.axes)
        for each, its in zip(task.inputs[one].shape, task.inputs[other].shape, strict=True):
            if each in axes and its in axes:
                axes[str(each)] = axes[str(its)] = min(axes[str(each)], axes[str(its)])
        made = case.model_copy(update={"axes": axes})
        if task.misfit(axes) is None and (one, other) in pairs_of_twins(task, made):
            yield made


def _possible_twins(task: Task, case: Case) -> Iterator[tuple[str, str]]:
    """Name pairs of inputs that differ in their values and their sizes alone."""
    kinds = {
        name: (len(spec.shape), layouts.layout_of(spec, case.layout, dense=False), _without_shape(spec))
        for name, spec in task.inputs.items()
        if spec.shape and not spec.distinct
    }
    return ((one, other) for one, other in combinations(kinds, 2) if kinds[one] == kinds[other])


def _is_lost(tensor: torch.Tensor, usual: torch.Tensor) -> bool:
    """Tell if terms cancel that usually do not, as in the divergence of a distribution from itself."""
    size, usual_size = (float(each.double().norm()) for each in (tensor, usual))
    return not size >= _LOST * usual_size


def _without_shape(spec: Input) -> Input:
    return spec.model_copy(update={"shape": ()})


def with_scalars_of(other: Inputs, inputs: Inputs) -> Inputs:
    """Take the tensors of `inputs` and the scalars of `other`."""
    return Inputs({**other.values, **inputs.tensors})


def exchanged(inputs: Inputs, name: str, draw: Draw, *, rows: bool = False) -> Inputs:
    """Exchange two elements, or two rows, of one input. They may be equal."""
    tensor = inputs.tensors[name]
    parts = tensor if rows else tensor.reshape(-1)
    first, second = draw.below(len(parts)), draw.below(len(parts))
    moved = parts.clone()
    moved[first], moved[second] = parts[second], parts[first]
    return Inputs({**inputs.values, name: moved.reshape(tensor.shape)})


def _words_of(mode: Mode) -> str:
    return "with inputs that require gradients" if mode == "requires_grad" else f"under torch.{mode}"


def _are_equal(one: Observation, other: Observation) -> bool:
    return all(
        name in other.outputs and _bits_are_equal(tensor, other.outputs[name]) for name, tensor in one.outputs.items()
    )


def _bits_are_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(_bytes_of(one), _bytes_of(other))


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of a copy, as a tensor of one element may have any stride and then has no view as bytes."""
    return tensor.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)


def _told(result: CaseResult, words: str) -> CaseResult:
    return result.model_copy(update={"reason": f"{words}: {result.reason}"[:1000]})
