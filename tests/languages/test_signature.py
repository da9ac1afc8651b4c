from __future__ import annotations

from typing import get_args

import pytest
from specimens import TASK, make_task

from robust_kbench.languages.signature import declaration, element_type, parameters, prelude
from robust_kbench.registry import load_task
from robust_kbench.schema.submission import Submission, SubmissionFile
from robust_kbench.schema.task import DType, Task

X = TASK["inputs"]["x"]

RMSNORM = """extern "C" void rmsnorm(
    const KBENCH_T* x,
    const KBENCH_T* weight,
    KBENCH_T* y,
    int64_t rows,
    int64_t cols)"""

RMSNORM_BACKWARD = """extern "C" void rmsnorm_backward(
    const KBENCH_T* grad_y,
    const KBENCH_T* x,
    const KBENCH_T* weight,
    KBENCH_T* grad_x,
    KBENCH_T* grad_weight,
    int64_t rows,
    int64_t cols)"""

# The scalar inputs kernel_size and stride come by value, before the output; the axes they are made of follow.
MAX_POOL2D = """extern "C" void pool(
    const KBENCH_T* x,
    int64_t kernel_size,
    int64_t stride,
    KBENCH_T* y,
    int64_t batch,
    int64_t channels,
    int64_t height,
    int64_t width,
    int64_t window,
    int64_t step)"""


@pytest.mark.parametrize(
    ("task", "symbol", "expected"),
    [
        ("norm/rmsnorm", "rmsnorm", RMSNORM),
        ("norm/rmsnorm_backward", "rmsnorm_backward", RMSNORM_BACKWARD),
        ("pool/max_pool2d", "pool", MAX_POOL2D),
    ],
    ids=["norm/rmsnorm", "norm/rmsnorm_backward", "pool/max_pool2d"],
)
def test_the_declaration_is_part_of_the_interface(task: str, symbol: str, expected: str) -> None:
    spec = load_task(task).spec
    assert declaration(spec, "cpp", symbol) == expected
    assert declaration(spec, "cuda", symbol) == expected.removesuffix(")") + ",\n    cudaStream_t stream)"


def test_indices_and_masks_come_in_their_own_types() -> None:
    task = make_task(
        inputs={
            "i": {"dtype": "int64", "role": "index", "below": "cols"},
            "j": {"dtype": "int32", "role": "index", "below": "cols"},
            "mask": {"dtype": "uint8", "role": "mask"},
            "eps": {"dtype": "float64", "role": "scalar", "choices": [0.5]},
        },
        outputs={"where": {"dtype": "int64"}},
    )
    assert parameters(task, "cpp")[:5] == [
        "const int64_t* i", "const int32_t* j", "const uint8_t* mask", "double eps", "int64_t* where",
    ]  # fmt: skip


@pytest.mark.parametrize("language", ["cpp", "cuda"])
@pytest.mark.parametrize("dtype", get_args(DType))
def test_a_tensor_of_any_fixed_dtype_can_be_declared(dtype: DType, language: str) -> None:
    task = make_task(inputs={"x": X, "table": {"shape": ["cols"], "dtype": dtype}})
    table = parameters(task, language)[1]
    assert table.startswith("const ")
    assert table.endswith("* table")
    assert "KBENCH_T" not in table


@pytest.mark.parametrize(
    ("inputs", "outputs"), [({"cols": X}, {"y": {}}), ({"x": X}, {"cols": {}})], ids=["an input", "an output"]
)
def test_an_axis_that_shares_its_name_is_declared_with_an_underscore(
    inputs: dict[str, object], outputs: dict[str, object]
) -> None:
    assert parameters(make_task(inputs=inputs, outputs=outputs), "cpp")[2:] == ["int64_t rows", "int64_t cols_"]


@pytest.mark.parametrize(
    "task",
    [
        make_task(inputs={"x": X, "cols": X, "cols_": X}),
        make_task(inputs={"x": X, "stream": X}),
    ],
    ids=["a name with an underscore", "a tensor called stream"],
)
def test_no_two_parameters_share_a_name(task: Task) -> None:
    names = [parameter.split()[-1] for parameter in parameters(task, "cuda")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("language", "dtype", "expected"),
    [
        ("cpp", "float32", "float"), ("cpp", "float64", "double"), ("cpp", "float16", "kbench_half"),
        ("cpp", "bfloat16", "kbench_bfloat16"), ("cuda", "float32", "float"), ("cuda", "float64", "double"),
        ("cuda", "float16", "__half"), ("cuda", "bfloat16", "__nv_bfloat16"),
    ],
)  # fmt: skip
def test_each_language_has_its_own_half_types(language: str, dtype: str, expected: str) -> None:
    assert element_type(language, dtype) == expected


def test_the_prelude_declares_the_entry_point_after_the_types() -> None:
    file = SubmissionFile(task="norm/rmsnorm", language="cpp", entry_point="kernel.cpp::fast_norm")
    submission = Submission(name="mine", file=file, sources={"kernel.cpp": ""})
    expected = f'#include "kbench.h"\n{RMSNORM.replace("rmsnorm", "fast_norm")};\n'
    assert prelude(submission, load_task("norm/rmsnorm").spec) == expected
