"""Task: the op that must be computed, and its inputs. The content of a `task.yaml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from robust_kbench.schema import arithmetic
from robust_kbench.schema.documents import Strict

DType = Literal["float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8"]
FloatDType = Literal["float32", "float16", "bfloat16", "float64"]
Role = Literal["activation", "parameter", "gradient", "index", "mask", "scalar"]
Layout = Literal["contiguous", "transposed", "strided", "offset", "expanded", "pitched", "channels_last"]
Distribution = Literal[
    "normal", "uniform", "lognormal", "integers", "large", "sparse", "outliers",
    "constant", "one_hot", "sorted", "low_rank", "cancelling", "small", "subnormal", "needles", "uneven",
]  # fmt: skip
Comparison = Literal["rule", "ulp", "exact", "indices", "random"]
Probe = Literal[
    "identity", "integers", "stall", "range", "blank", "alike", "apart", "magnitudes", "ends", "masked", "nonfinite",
    "empty",
]  # fmt: skip
ProbeValues = Literal[
    "normal", "integers", "identity", "ones", "zeros", "stall", "powers_of_two", "positive_powers", "squarable_powers",
    "blank_rows", "blank_channels", "blank_samples", "alike",
    "apart_queries", "apart_keys", "apart_keys_by_position", "apart_codes", "apart_level_queries", "apart_level_keys",
    "apart_positions", "apart_weight", "apart_bias",
    "magnitude_rows", "magnitude_blocks", "ends", "masked_rows", "one_sided",
]  # fmt: skip
Precision = Literal["ieee", "tf32_ok", "half_fp32acc", "any_halfacc", "fp8"]
DeviceKind = Literal["cpu", "cuda"]

TIMED_DISTRIBUTIONS: tuple[Distribution, ...] = ("normal", "uniform", "lognormal", "needles", "uneven")
"""Distributions of inputs for timed calls: finite, of normal range, and dense."""

_WORDS = """
and asm auto bool break case catch char class compl concept const continue default delete do double else enum explicit
export extern false float for friend goto if inline int long mutable namespace new not operator or private protected
public register requires return short signed sizeof static struct switch template this throw true try typedef typeid
typename union unsigned using virtual void volatile while xor
"""
KEYWORDS = frozenset(_WORDS.split())
"""Keywords of C++, as far as they are names."""

LAW_INPUTS: Mapping[str, tuple[str, ...]] = {"dropout": ("x", "p", "seed"), "categorical": ("logits", "seed")}
"""Names of the inputs that an output of a random op depends on."""

Expression = Annotated[str | int, Field(description="an integer, or integer arithmetic over axes")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Tag = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=40)]
TaskName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*/[a-z][a-z0-9_]*$", max_length=80)]

ITEMSIZE: Mapping[str, int] = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "uint8": 1,
}


class Axis(Strict):
    """Dimension with a name: a closed set `values`, or every multiple of `multiple_of` in [low, high]."""

    values: tuple[Annotated[int, Field(ge=0)], ...] | None = Field(default=None, min_length=1)
    low: int = Field(default=1, ge=0)
    high: int = Field(default=1, ge=0)
    multiple_of: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.values is not None and self.model_fields_set - {"values"}:
            raise ValueError("give either values or a range (low, high, multiple_of), not both")
        if self.values is None and not any(self.admits(size) for size in self._range()):
            raise ValueError(f"no multiple of {self.multiple_of} lies between {self.low} and {self.high}")
        return self

    def _range(self) -> range:
        first = -(-self.low // self.multiple_of) * self.multiple_of
        return range(first, self.high + 1, self.multiple_of)

    def admits(self, size: int) -> bool:
        """Tell if `size` is a value that this axis can take."""
        return size in self.sizes()

    def sizes(self) -> range | tuple[int, ...]:
        """Return every value that this axis can take, in order."""
        return self._range() if self.values is None else self.values


Structure = Literal[
    "uniform", "one", "two", "zipf", "ascending", "strided", "runs", "pairs", "ends",
    "equal", "dominated", "lone", "none", "all", "rare", "frequent", "single",
    "ones", "near_one", "zeros", "negative", "tiny",
]  # fmt: skip
INDEX_STRUCTURES: tuple[Structure, ...] = ("one", "two", "zipf", "ascending", "strided", "runs", "pairs", "ends")
OFFSET_STRUCTURES: tuple[Structure, ...] = ("equal", "dominated", "lone")
MASK_STRUCTURES: tuple[Structure, ...] = ("none", "all", "rare", "frequent", "runs", "single")
REAL_STRUCTURES: tuple[Structure, ...] = ("ones", "near_one", "zeros", "negative", "tiny")


class Input(Strict):
    """Argument of the reference, in call order."""

    shape: tuple[Expression, ...] = ()
    dtype: DType | Literal["T"] = Field(default="T", description="T is the task's dtype variable")
    role: Role = "activation"
    layouts: tuple[Layout, ...] = Field(
        default=("contiguous", "transposed", "strided", "offset", "pitched"),
        description="layouts that a submission must accept (abi c always gets dense tensors)",
    )
    fan_in: Expression = Field(default=1, description="values are divided by the square root of this")
    shift: float = Field(default=0.0, description="added to every value: 1.0 for a scale such as a norm's weight")
    below: Expression | None = Field(default=None, description="role index: values are drawn from [0, below)")
    offsets: bool = Field(
        default=False,
        description="role index: ascending along the last dimension, from 0 to the largest value, `below` - 1: where "
        "segments begin and end, as the row pointers of a sparse matrix do",
    )
    never: tuple[int, ...] = Field(
        default=(),
        description="role index: values that are not drawn, such as the codes of NaN in a small format; the next lower "
        "one stands in their place",
    )
    structures: tuple[Structure, ...] | None = Field(
        default=None,
        description="what half of the checked cases are laid out as; of indices and masks by default all that there "
        "are. Index: one value, two, zipf, ascending, strided (every k-th), runs, pairs, ends (the least and the "
        "largest). Offsets: equal lengths, dominated (15/16 in one segment), lone (all in one). Mask: none, all, rare "
        "(1/16), frequent (15/16), runs, single. Role parameter, where it says so: ones, near_one (below it by 2**-12 "
        "at most), zeros (in 1/16), negative (of either sign), tiny (0, 1e-8 and 1e-5). [uniform]: no other",
    )
    carried_along: Name | None = Field(
        default=None,
        description="role parameter: factors of a recurrence along this axis, so that the error bound takes at least "
        "as many terms as those that are drawn let it remember",
    )
    summed: bool = Field(
        default=False,
        description="role index: elements with equal values, or between two offsets, are added up, so that the error "
        "bound takes at least the largest group of those that are drawn",
    )
    distinct: bool = Field(
        default=False,
        description="never the same tensor as another input: the op would be decided by the rounding of its terms",
    )
    value: Expression | None = Field(default=None, description="role scalar: the value, as arithmetic over axes")
    choices: tuple[float, ...] = Field(default=(), description="role scalar: the values to draw from")
    between: tuple[float, float] | None = Field(
        default=None,
        description="role scalar with `choices`: timed calls, and half of the others, draw any value from low to high; "
        "order by order where high is a hundred times low",
    )

    @model_validator(mode="after")
    def _role_fits(self) -> Self:
        if (self.role == "index") != (self.below is not None):
            raise ValueError("role index needs `below`, and only role index has it")
        known = MASK_STRUCTURES if self.role == "mask" else OFFSET_STRUCTURES if self.offsets else INDEX_STRUCTURES
        known = REAL_STRUCTURES if self.role == "parameter" else known
        if self.carried_along is not None and (self.role != "parameter" or self.carried_along not in self.shape):
            raise ValueError("`carried_along` needs role parameter, and an axis of its shape")
        if strangers := [each for each in self.structures or () if each not in ("uniform", *known)]:
            raise ValueError(
                f"structures: {strangers[0]!r} is none of this input; there are uniform, {', '.join(known)}"
            )
        if self.structures is not None and (self.role not in ("index", "mask", "parameter") or not self.structures):
            raise ValueError(
                "`structures` needs role index, mask or parameter, and at least one; [uniform] for no other"
            )
        if self.summed and self.role != "index":
            raise ValueError("`summed` needs role index")
        if self.never and (self.role != "index" or min(self.never) < 1):
            raise ValueError("`never` needs role index, and values above 0")
        if self.offsets and (self.role != "index" or not self.shape):
            raise ValueError("`offsets` needs role index and a shape")
        if self.role == "scalar":
            if self.shape or (self.value is None) == (not self.choices):
                raise ValueError("role scalar has no shape, and exactly one of `value` and `choices`")
            if self.dtype not in ("int64", "float64"):
                raise ValueError("role scalar needs dtype int64 or float64")
            if self.between is not None and (not self.choices or not self.between[0] < self.between[1]):
                raise ValueError("`between` needs `choices`, the values worth a look of their own, and low below high")
        elif self.value is not None or self.choices or self.between is not None:
            raise ValueError("only role scalar has `value`, `choices` or `between`")
        if self.role in ("index", "mask") and self.dtype not in ("int64", "int32", "uint8"):
            raise ValueError(f"role {self.role} needs a fixed integer dtype")
        if "contiguous" not in self.layouts:
            raise ValueError("layouts must include contiguous")
        return self


class Output(Strict):
    """Result of the reference, in order of the results."""

    shape: tuple[Expression, ...] = ()
    dtype: DType | Literal["T"] = "T"
    reduction: Expression | None = Field(default=None, description="reduction length, if not the task's")
    compare: Comparison | None = Field(
        default=None,
        description="rule: three errors against float64; ulp: elementwise ops; exact: copies, comparisons, sorted "
        "values; indices: any order among equal values; random: by distribution. "
        "Default: rule for floating-point outputs, exact for others",
    )
    indexes: Name | None = Field(default=None, description="compare indices: the input that they point into")
    axis: int = Field(default=-1, description="compare indices: along this dimension of it")
    dense: bool = Field(
        default=False, description="returned row-major: of an op that is about layout, a view is no answer"
    )
    one_factor: bool = Field(
        default=False,
        description="compare rule: an input times one factor for all elements, whose error does not average out",
    )
    exponentials_of: Name | None = Field(
        default=None,
        description="compare rule: the elements of a row are exponentials of this input's over one divisor, their sum; "
        "beside it they are right to a few units",
    )
    law: Literal["dropout", "categorical"] | None = Field(
        default=None,
        description="compare random: the distribution. dropout: of the input x with the probability in the scalar p; "
        "categorical: one class for each row of the input logits. Both take the scalar seed",
    )

    @model_validator(mode="after")
    def _comparison_fits(self) -> Self:
        if (self.compare == "indices") != (self.indexes is not None):
            raise ValueError("compare indices needs `indexes`, and only it has that")
        if (self.compare == "random") != (self.law is not None):
            raise ValueError("compare random needs `law`, and only it has that")
        return self


class Property(Strict):
    """Property of outputs on related inputs. It needs no reference, so it also holds where float64 is too expensive.

    homogeneous: inputs times 2**j give outputs times 2**(j * degree), bit for bit but in float16. additive: on
    integers, the outputs of two values of an input add up, bit for bit. shift_invariant: a constant added to each row
    of an input changes nothing (a softmax; a norm cancels too much). permutes: a permutation along an axis of the
    inputs permutes the outputs. symmetric: a permutation along an axis that is summed over changes nothing. causal:
    later positions of an axis change nothing in earlier ones, bit for bit. sums_to: the outputs' last axis sums to a
    value. reseeded: random outputs differ from those of the next seed as two draws of their law do.
    """

    kind: Literal[
        "homogeneous", "additive", "shift_invariant", "permutes", "symmetric", "causal", "sums_to", "reseeded"
    ]
    inputs: tuple[Name, ...] = Field(default=(), description="homogeneous, additive, shift_invariant: which inputs")
    degree: int = Field(default=1, description="homogeneous: the power; 0 where the scale does not matter")
    axis: Name | None = Field(default=None, description="permutes, symmetric, causal: along this axis")
    value: float = Field(default=1.0, description="sums_to: the sum")

    @model_validator(mode="after")
    def _arguments_fit(self) -> Self:
        needs_inputs = self.kind in ("homogeneous", "additive", "shift_invariant")
        needs_axis = self.kind in ("permutes", "symmetric", "causal")
        if needs_inputs != bool(self.inputs) or needs_axis != (self.axis is not None):
            wanted = "inputs" if needs_inputs else "an axis" if needs_axis else "neither inputs nor an axis"
            raise ValueError(f"{self.kind} takes {wanted}")
        return self


_CONTESTANTS = frozenset({"candidate", "control", "eager", "reference", "compile"})
"""Names in samples that no task gives to its baselines."""


class Cost(Strict):
    """Work of the op, over axes and `itemsize`: the cost of a call, and the part that no implementation can avoid.

    `least_flops` bounds every claim where some algorithm needs fewer operations than the definition.
    """

    flops: Expression
    bytes: Expression
    least_flops: Expression | None = None


class Task(Strict):
    """A PyTorch reference op and the space of cases that a kernel must survive."""

    name: TaskName
    version: int = Field(ge=1, description="raised when old scores stop being comparable")
    summary: str = Field(min_length=10, max_length=200)
    source: str = Field(min_length=3, description="paper or library that defines the op")
    axes: dict[Name, Axis] = Field(min_length=1)
    constraints: tuple[str, ...] = Field(default=(), description="comparisons between axes that every case meets")
    inputs: dict[Name, Input] = Field(min_length=1)
    outputs: dict[Name, Output] = Field(min_length=1)
    dtypes: tuple[FloatDType, ...] = Field(min_length=1)
    precision: Precision = "ieee"
    reduction: Expression = Field(description="number of terms summed into one output element, for the error bound")
    distributions: tuple[Distribution, ...] = Field(
        default=(
            "normal", "uniform", "lognormal", "integers", "large", "sparse", "outliers",
            "constant", "one_hot", "sorted", "low_rank", "cancelling", "small", "needles", "uneven",
        ),
        min_length=1,
        description="what the op is well-conditioned for; subnormal values, which hardware may flush, only by request",
    )  # fmt: skip
    timed: dict[DeviceKind, tuple[dict[Name, int], ...]]
    cost: Cost
    baselines: dict[Name, str] = Field(
        default={},
        description="name -> file::function in the task's directory; functional: PyTorch's operator, `eager`",
    )
    nondeterministic: bool = False
    operator_rounds: bool = Field(
        default=False,
        description="PyTorch's operator rounds to the dtype between its products, as fast kernels do: what it is off "
        "by in a case widens the limits, as the errors of its decomposition do",
    )
    nonfinite: Literal["match", "contain", "none"] = Field(
        default="contain",
        description="match: NaN and infinities stand where PyTorch has them; contain: what they do not reach is right, "
        "and what they reach is not finite; none: never among the inputs",
    )
    probes: dict[Probe, dict[Name, ProbeValues]] = Field(
        default={}, description="probe -> values of the inputs that it sets; the others keep theirs"
    )
    properties: tuple[Property, ...] = ()
    independent: Name | None = Field(
        default=None, description="an axis along which slices of the outputs depend on the same slices of inputs alone"
    )
    large: dict[Name, int] | None = Field(
        default=None, description="sizes with more than 2**31 elements in a tensor: tier final, where memory allows"
    )
    forward: TaskName | None = Field(default=None, description="of a backward op: the task that it differentiates")
    tags: tuple[Tag, ...] = Field(default=(), description="words to find the task by: `kbench tasks --tag`")

    @field_validator("baselines")
    @classmethod
    def _others(cls, baselines: dict[str, str]) -> dict[str, str]:
        if taken := sorted(_CONTESTANTS & baselines.keys()):
            raise ValueError(f"{taken[0]!r} is there already, or the submission's; call it otherwise")
        return baselines

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._check_names()
        if not set(self.distributions) & set(TIMED_DISTRIBUTIONS):
            raise ValueError(f"distributions: at least one of {', '.join(TIMED_DISTRIBUTIONS)} is timed")
        for kind in ("cpu", "cuda"):
            if not self.timed.get(kind):
                raise ValueError(f"timed.{kind}: at least one binding of axes is required")
        for kind, bindings in self.timed.items():
            for number, binding in enumerate(bindings):
                if problem := self.misfit(binding):
                    raise ValueError(f"timed.{kind}.{number}: {problem}")
        if self.large is not None and set(self.large) != set(self.axes):
            raise ValueError(f"large: bind each of the axes {', '.join(self.axes)}")
        self._check_references()
        return self

    def _check_references(self) -> None:
        """Check that probes, properties and comparisons name inputs and axes that exist. Raises ValueError."""
        named_inputs = [(f"probes.{probe}", name) for probe, values in self.probes.items() for name in values]
        named_inputs += [(f"properties.{item.kind}", name) for item in self.properties for name in item.inputs]
        for key in ("indexes", "exponentials_of"):
            each = [(f"outputs.{name}.{key}", getattr(output, key)) for name, output in self.outputs.items()]
            named_inputs += [(place, name) for place, name in each if name]
        named_inputs += [("properties.reseeded", "seed") for item in self.properties if item.kind == "reseeded"]
        for name, output in self.outputs.items():
            named_inputs += [(f"outputs.{name}.law", needed) for needed in LAW_INPUTS.get(output.law or "", ())]
        for place, name in named_inputs:
            if name not in self.inputs:
                raise ValueError(f"{place}: unknown input {name!r}; known: {', '.join(self.inputs)}")
        named_axes = [(f"properties.{item.kind}", item.axis) for item in self.properties]
        for place, axis in [*named_axes, ("independent", self.independent)]:
            if axis is not None and axis not in self.axes:
                raise ValueError(f"{place}: unknown axis {axis!r}; known: {', '.join(self.axes)}")

    def _check_names(self) -> None:
        known = set(self.axes)
        for place, expression, extra in self._expressions():
            try:
                unknown = arithmetic.names(expression) - known - extra
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from None
            if unknown:
                raise ValueError(f"{place}: unknown axis {sorted(unknown)[0]!r}; known: {', '.join(self.axes)}")
        if words := sorted({*self.axes, *self.inputs, *self.outputs} & KEYWORDS):
            raise ValueError(f"{words[0]!r} is a keyword of C++, in which kernels name their arguments")
        if both := set(self.inputs) & set(self.outputs):
            raise ValueError(f"{sorted(both)[0]!r} names an input and an output")

    def _expressions(self) -> Iterable[tuple[str, str | int, set[str]]]:
        for name, tensor in self.inputs.items():
            yield from ((f"inputs.{name}.shape", size, set()) for size in tensor.shape)
            yield f"inputs.{name}.fan_in", tensor.fan_in, set()
            yield f"inputs.{name}.below", tensor.below or 0, set()
            yield f"inputs.{name}.value", tensor.value or 0, set()
        for name, result in self.outputs.items():
            yield from ((f"outputs.{name}.shape", size, set()) for size in result.shape)
            yield f"outputs.{name}.reduction", result.reduction or 1, set()
        yield from (("constraints", constraint, set()) for constraint in self.constraints)
        yield "reduction", self.reduction, set()
        yield "cost.flops", self.cost.flops, {"itemsize"}
        yield "cost.bytes", self.cost.bytes, {"itemsize"}
        if self.cost.least_flops is not None:
            yield "cost.least_flops", self.cost.least_flops, {"itemsize"}

    @property
    def is_random(self) -> bool:
        """True if an output is drawn at random: the seed alone is enough to compute a part of the answer."""
        return any(output.compare == "random" for output in self.outputs.values())

    def misfit(self, axes: Mapping[str, int]) -> str | None:
        """Return the reason why `axes` is not a case of this task, or None when it is one."""
        if set(axes) != set(self.axes):
            return f"binds {', '.join(axes) or 'nothing'}; the axes are {', '.join(self.axes)}"
        for name, size in axes.items():
            if not self.axes[name].admits(size):
                return f"{name}={size} is outside the axis"
        broken = [rule for rule in self.constraints if not arithmetic.evaluate(rule, axes)]
        return f"breaks the constraint {broken[0]!r}" if broken else None

    def dtype_of(self, tensor: Input | Output, dtype: str) -> str:
        """Return the dtype of an input or output when the task's dtype variable is `dtype`."""
        return dtype if tensor.dtype == "T" else tensor.dtype

    def comparison_of(self, output: Output) -> Comparison:
        """Return the way in which `output` is compared, with the default filled in."""
        dtype = self.dtypes[0] if output.dtype == "T" else output.dtype
        return output.compare or ("rule" if dtype.startswith(("float", "bfloat")) else "exact")

    @property
    def tensors(self) -> dict[str, Input | Output]:
        """Inputs and outputs, in the order in which abi `c` passes them."""
        return {**self.inputs, **self.outputs}


def shape_of(tensor: Input | Output, axes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the sizes of `tensor` with `axes` bound."""
    return tuple(arithmetic.evaluate(size, axes) for size in tensor.shape)
