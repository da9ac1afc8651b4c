from __future__ import annotations

import itertools
import math
from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from specimens import make_task

from robust_kbench.cases.layouts import Outer, applicable, layout_of, outer_strides, spread, strides
from robust_kbench.isolation.arena import span_of
from robust_kbench.schema.documents import parse
from robust_kbench.schema.task import Input, Layout

ALL = ["contiguous", "offset", "transposed", "strided", "expanded", "pitched", "channels_last"]
SHAPES = st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple)


def _offsets(shape: tuple[int, ...], layout: Layout) -> list[int]:
    stride = strides(shape, layout)
    places = itertools.product(*(range(size) for size in shape))
    return [sum(index * step for index, step in zip(place, stride, strict=True)) for place in places]


def _input(**fields: Any) -> Input:
    return parse(Input, fields, "task.yaml")


@given(SHAPES, st.sampled_from(get_args(Outer)))
def test_no_order_of_outer_axes_takes_more_room_than_a_pitched_tensor(shape: tuple[int, ...], way: Outer) -> None:
    stride = outer_strides(shape, way)
    assert span_of(shape, stride) <= spread(shape, "pitched")
    places = itertools.product(*(range(size) for size in shape))
    offsets = [sum(index * step for index, step in zip(place, stride, strict=True)) for place in places]
    assert len(set(offsets)) == len(offsets)


@pytest.mark.parametrize(
    ("way", "expected"), [("turned", (60, 4, 12, 1)), ("turned_pitched", (105, 7, 21, 1)), ("sliced", (72, 24, 4, 1))]
)
def test_outer_axes_lie_as_in_models(way: Outer, expected: tuple[int, ...]) -> None:
    assert outer_strides((2, 3, 5, 4), way) == expected
    assert outer_strides((3, 5), way) == strides((3, 5), "pitched")


@pytest.mark.parametrize(
    ("shape", "layout", "expected"),
    [
        ((2, 3, 4), "contiguous", (12, 4, 1)),
        ((2, 3, 4), "offset", (12, 4, 1)),
        ((2, 3, 4), "transposed", (12, 1, 3)),
        ((2, 3, 4), "strided", (24, 8, 2)),
        ((2, 3, 4), "expanded", (0, 4, 1)),
        ((2, 3, 4), "pitched", (21, 7, 1)),
        ((3, 1), "pitched", (4, 1)),
        ((2, 3, 4, 5), "channels_last", (60, 1, 15, 3)),
        ((5,), "contiguous", (1,)),
        ((5,), "strided", (2,)),
        ((5,), "expanded", (0,)),
        ((), "contiguous", ()),
        ((3, 0), "contiguous", (1, 1)),
    ],
)
def test_a_layout_fixes_the_strides(shape: tuple[int, ...], layout: Layout, expected: tuple[int, ...]) -> None:
    assert strides(shape, layout) == expected


@given(SHAPES, st.sampled_from(["contiguous", "offset", "transposed", "strided", "pitched"]))
def test_no_two_elements_of_a_layout_share_memory(shape: tuple[int, ...], layout: Layout) -> None:
    offsets = _offsets(shape, layout)
    assert len(set(offsets)) == math.prod(shape)
    assert min(offsets) == 0
    assert max(offsets) == span_of(shape, strides(shape, layout)) - 1


@given(SHAPES, st.sampled_from(["contiguous", "offset", "transposed"]))
def test_a_dense_layout_spans_exactly_its_elements(shape: tuple[int, ...], layout: Layout) -> None:
    assert span_of(shape, strides(shape, layout)) == math.prod(shape)


@given(SHAPES)
def test_a_pitched_layout_leaves_three_elements_out_behind_every_row(shape: tuple[int, ...]) -> None:
    pitch = shape[-1] + 3
    rows = [range(start, start + shape[-1]) for start in range(0, math.prod(shape[:-1]) * pitch, pitch)]
    assert _offsets(shape, "pitched") == [offset for row in rows for offset in row]


@given(st.tuples(*[st.integers(1, 5)] * 4))
def test_channels_last_is_what_pytorch_means_by_it(shape: tuple[int, ...]) -> None:
    image = torch.arange(math.prod(shape)).reshape(shape).contiguous(memory_format=torch.channels_last)
    flat = torch.empty(math.prod(shape), dtype=image.dtype)
    flat.as_strided(shape, strides(shape, "channels_last")).copy_(image)
    assert torch.equal(flat.reshape(shape[0], *shape[2:], shape[1]), image.permute(0, 2, 3, 1))


@given(st.lists(st.integers(0, 5), max_size=4).map(tuple), st.sampled_from(ALL))
def test_the_spread_of_a_layout_bounds_its_span(shape: tuple[int, ...], layout: Layout) -> None:
    needed = {"transposed": 2, "pitched": 2, "strided": 1, "expanded": 1, "channels_last": 4}.get(layout, 0)
    if len(shape) >= needed:
        assert span_of(shape, strides(shape, layout)) <= spread(shape, layout)


@given(SHAPES)
def test_a_strided_layout_leaves_every_second_element_out(shape: tuple[int, ...]) -> None:
    assert sorted(_offsets(shape, "strided")) == list(range(0, 2 * math.prod(shape), 2))


@given(SHAPES)
def test_an_expanded_layout_shows_one_slice_again_and_again(shape: tuple[int, ...]) -> None:
    assert _offsets(shape, "expanded") == list(range(math.prod(shape[1:]))) * shape[0]


@pytest.mark.parametrize(("shape", "span"), [((), 1), ((0, 4), 0), ((4, 0), 0), ((1, 1), 1)])
def test_the_span_of_a_scalar_is_one_and_of_nothing_zero(shape: tuple[int, ...], span: int) -> None:
    assert span_of(shape, strides(shape, "contiguous")) == span


@pytest.mark.parametrize(
    ("inputs", "found"),
    [
        ({"x": {"shape": ["rows", "cols"], "layouts": ALL}}, ALL[:-1]),
        ({"x": {"shape": ["rows", "cols", 2, 2], "layouts": ALL}}, ALL),
        ({"x": {"shape": ["rows"], "layouts": ALL}}, ["contiguous", "offset", "strided", "expanded"]),
        ({"x": {"shape": [], "layouts": ALL}}, ["contiguous", "offset"]),
        ({"x": {"shape": ["rows", "cols"]}}, ["contiguous", "offset", "transposed", "strided", "pitched"]),
        ({"x": {"layouts": ["contiguous"]}, "w": {"layouts": ["contiguous", "offset"]}}, ["contiguous", "offset"]),
        (
            {"x": {"layouts": ["contiguous"]}, "n": {"role": "scalar", "dtype": "int64", "value": 1, "layouts": ALL}},
            ["contiguous"],
        ),
    ],
    ids=["matrix", "image", "vector", "number", "default", "one of two inputs", "scalars do not count"],
)
def test_a_layout_applies_when_one_input_declares_it_and_its_shape_allows_it(
    inputs: dict[str, Any], found: list[str]
) -> None:
    assert applicable(make_task(inputs=inputs), dense=False) == found


def test_a_dense_calling_convention_knows_contiguous_and_offset_only() -> None:
    task = make_task(inputs={"x": {"shape": ["rows", "cols"], "layouts": ALL}})
    assert applicable(task, dense=True) == ["contiguous", "offset"]


@pytest.mark.parametrize(
    ("fields", "layout", "dense", "taken"),
    [
        ({"shape": ["rows", "cols"]}, "transposed", False, "transposed"),
        ({"shape": ["rows", "cols"]}, "transposed", True, "contiguous"),
        ({"shape": ["rows", "cols"]}, "offset", True, "offset"),
        ({"shape": ["cols"]}, "transposed", False, "contiguous"),
        ({"shape": ["cols"]}, "strided", False, "strided"),
        ({"shape": ["rows", "cols"]}, "pitched", False, "pitched"),
        ({"shape": ["rows", "cols"]}, "pitched", True, "contiguous"),
        ({"shape": ["cols"]}, "pitched", False, "contiguous"),
        ({"shape": ["rows", 1, "cols", 2], "layouts": ALL}, "channels_last", False, "channels_last"),
        ({"shape": ["rows", 1, "cols"], "layouts": ALL}, "channels_last", False, "contiguous"),
        ({"shape": ["cols"]}, "expanded", False, "contiguous"),
        ({"shape": ["cols"], "layouts": ["contiguous"]}, "strided", False, "contiguous"),
    ],
)
def test_an_input_to_which_a_layout_does_not_apply_is_contiguous(
    fields: dict[str, Any], layout: Layout, dense: bool, taken: Layout
) -> None:
    assert layout_of(_input(**fields), layout, dense=dense) == taken
