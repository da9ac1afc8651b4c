from __future__ import annotations

import math

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases import large
from robust_kbench.cases.values import make_inputs
from robust_kbench.registry import load_task, task_names
from robust_kbench.schema.task import shape_of

LARGE_TASK = make_task(large={"rows": 70000, "cols": 32768}, dtypes=["float32", "float16"])
GIB = 1 << 30


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Tensors of a thousand elements count as large, and blocks are short."""
    monkeypatch.setattr(large, "LARGE_ELEMENTS", 1000)
    monkeypatch.setattr(large, "BLOCK_ELEMENTS", 101)
    return 101


def test_the_large_case_has_the_sizes_of_the_task_in_its_narrowest_dtype() -> None:
    case = large.large_case(LARGE_TASK, ["float32", "float16"], 3)
    assert case is not None
    assert (case.axes, case.dtype, case.layout, case.role) == (LARGE_TASK.large, "float16", "contiguous", "check")
    assert large.large_case(LARGE_TASK, ["float32"], 3) != case


def test_another_seed_gives_the_large_case_other_values() -> None:
    one, two = (large.large_case(LARGE_TASK, LARGE_TASK.dtypes, seed) for seed in (3, 4))
    assert one is not None
    assert two is not None
    assert one.seed != two.seed


def test_a_task_without_large_sizes_has_no_large_case() -> None:
    assert large.large_case(make_task(), ["float32"], 3) is None


@pytest.mark.parametrize("name", [name for name in task_names() if load_task(name).spec.large])
def test_a_declared_large_case_wraps_a_32_bit_index_and_can_be_had_in_64_gib(name: str) -> None:
    task = load_task(name).spec
    case = large.large_case(task, task.dtypes, 1)
    assert case is not None
    assert max(math.prod(shape_of(tensor, case.axes)) for tensor in task.tensors.values()) > 2**31
    assert large.need(task, case).host_bytes < 64 * GIB


def test_the_need_covers_every_copy_of_every_tensor() -> None:
    case = make_case(axes={"rows": 1 << 16, "cols": 1 << 15}, dtype="float16")
    matrix = 2 << 31
    needed = large.need(LARGE_TASK, case)
    assert needed.host_bytes == 9 * matrix + 3 * (2 << 15) + GIB
    assert needed.device_bytes == 4 * matrix + 2 * (2 << 15) + GIB


@pytest.mark.parametrize(
    ("host", "device", "reason"),
    [
        (40, None, None),
        (40, 20, None),
        (30, None, "not run: the large case needs 37.0 GiB of host memory, and 30.0 are free"),
        (40, 16, "not run: the large case needs 17.0 GiB of device memory, and 16.0 are free"),
    ],
)
def test_what_is_free_decides_whether_it_runs(host: int, device: int | None, reason: str | None) -> None:
    case = make_case(axes={"rows": 1 << 16, "cols": 1 << 15}, dtype="float16")
    free = None if device is None else device * GIB
    assert large.obstacle(LARGE_TASK, case, host_free=host * GIB, device_free=free) == reason


def test_a_large_tensor_is_one_random_block_again_and_again(small_blocks: int) -> None:
    values = make_inputs(make_task(), make_case(axes={"rows": 64, "cols": 64})).tensors["x"]
    flat = values.flatten()
    assert values.shape == (64, 64)
    assert torch.equal(flat[small_blocks:], flat[:-small_blocks])
    assert len(set(flat[:small_blocks].tolist())) == small_blocks


def test_no_two_rows_of_a_large_tensor_begin_alike(small_blocks: int) -> None:
    values = make_inputs(make_task(), make_case(axes={"rows": 100, "cols": 64})).tensors["x"]
    assert len(set(values[:, 0].tolist())) == 100


def test_a_large_tensor_has_the_dtype_of_the_case_and_the_same_bits_on_every_call(small_blocks: int) -> None:
    case = make_case(axes={"rows": 64, "cols": 64}, dtype="float16")
    one, two = make_inputs(make_task(), case), make_inputs(make_task(), case)
    assert one.tensors["x"].dtype == torch.float16
    assert one.digest == two.digest


def test_what_can_be_timed_or_drawn_is_never_made_of_blocks() -> None:
    for name in task_names():
        task = load_task(name).spec
        bindings = [axes for kind in task.timed.values() for axes in kind]
        sizes = [math.prod(shape_of(tensor, axes)) for tensor in task.inputs.values() for axes in bindings]
        assert max(sizes) <= large.LARGE_ELEMENTS


def test_a_block_is_prime_and_shifts_a_wrapped_index_to_another_value() -> None:
    block = large.BLOCK_ELEMENTS
    assert all(block % divisor for divisor in range(2, math.isqrt(block) + 1))
    assert 0 not in {2**31 % block, 2**32 % block}
