from __future__ import annotations

import math
import statistics as exact

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_kbench.timing import statistics
from robust_kbench.timing.statistics import (
    Ordered,
    Ratio,
    Verdict,
    geometric_mean,
    geometric_mean_of,
    half_width,
    least_shift,
    log_ratios,
    mean_interval,
    median_interval,
    middle,
    ratio,
    ratio_of,
)

VALUES = st.lists(st.floats(-20, 20), min_size=1, max_size=200)
TIMES = st.integers(1, 2**32 - 1)
ROUNDS = st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=60)


@given(VALUES)
def test_the_interval_contains_the_median(values: list[float]) -> None:
    low, median, high = median_interval(values)
    assert low <= median <= high
    assert median == pytest.approx(exact.median(values), abs=1e-12)


@given(VALUES)
def test_the_bounds_of_the_interval_are_values_that_were_seen(values: list[float]) -> None:
    low, _, high = median_interval(values)
    assert {low, high} <= set(values)


@given(VALUES, st.floats(-5, 5), st.floats(0.01, 100))
def test_the_interval_moves_and_scales_with_its_values(values: list[float], shift: float, scale: float) -> None:
    moved = median_interval([scale * value + shift for value in values])
    assert moved == pytest.approx([scale * bound + shift for bound in median_interval(values)], abs=1e-9)


@given(VALUES)
def test_mirrored_values_have_a_mirrored_interval(values: list[float]) -> None:
    low, median, high = median_interval(values)
    assert median_interval([-value for value in values]) == (-high, -median, -low)


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert median_interval(shuffled) == median_interval(values)


@pytest.mark.parametrize(
    ("count", "ranks"), [(1, (1, 1)), (2, (1, 2)), (5, (1, 5)), (20, (5, 16)), (30, (9, 22)), (100, (40, 61))]
)
def test_the_interval_lies_at_the_ranks_of_the_binomial(count: int, ranks: tuple[int, int]) -> None:
    low, _, high = median_interval(range(1, count + 1))
    assert (low, high) == ranks


@pytest.mark.parametrize("count", [8, 20, 30, 40, 100, 120])
@pytest.mark.parametrize("distribution", ["normal", "lognormal", "two modes"])
def test_the_interval_covers_the_true_median_as_often_as_it_promises(count: int, distribution: str) -> None:
    random = np.random.default_rng(20260101)
    shape = (2000, count)
    samples = {
        "normal": random.normal(size=shape),
        "lognormal": np.exp(2 * random.normal(size=shape)) - 1,
        "two modes": random.choice([-1.0, 1.0], size=shape) * random.gamma(4, size=shape),
    }[distribution]
    intervals = [median_interval(row) for row in samples.tolist()]
    assert sum(low <= 0 <= high for low, _, high in intervals) / 2000 >= 0.93


def test_the_interval_does_not_cover_everything() -> None:
    random = np.random.default_rng(20260101)
    intervals = [median_interval(row) for row in random.normal(size=(2000, 100)).tolist()]
    assert sum(low <= 0 <= high for low, _, high in intervals) / 2000 <= 0.98
    assert sum(low <= 0.5 <= high for low, _, high in intervals) / 2000 <= 0.05


def test_more_samples_give_a_narrower_interval() -> None:
    random = np.random.default_rng(20260101)
    widths = [half_width(random.normal(size=count).tolist()) for count in (10, 100, 1000, 10_000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[3] < 0.03


def test_half_the_width_is_half_the_width() -> None:
    assert half_width([float(value) for value in range(1, 31)]) == (22 - 9) / 2


@given(ROUNDS, st.lists(st.floats(0.5, 4.0), min_size=60, max_size=60))
def test_drift_that_both_sides_share_cancels(rounds: list[tuple[int, int]], drift: list[float]) -> None:
    baseline, candidate = ([1000 * pair[side] for pair in rounds] for side in (0, 1))
    slowed = [
        [round(value * factor) for value, factor in zip(times, drift, strict=False)] for times in (baseline, candidate)
    ]
    assert log_ratios(*slowed) == pytest.approx(log_ratios(baseline, candidate), abs=0.002)


def test_a_machine_that_slows_down_evenly_adds_nothing_to_the_interval() -> None:
    baseline, candidate = ([unit * (1 + step) for step in range(100)] for unit in (3_000_000, 1_000_000))
    found = ratio([log_ratios(baseline, candidate)])
    assert (found.value, found.low, found.high) == pytest.approx((3, 3, 3))


@given(ROUNDS)
def test_exchanging_the_sides_turns_the_speedup_upside_down(rounds: list[tuple[int, int]]) -> None:
    one, other = ([pair[side] for pair in rounds] for side in (0, 1))
    speedup, slowdown = ratio([log_ratios(one, other)]), ratio([log_ratios(other, one)])
    assert (1 / slowdown.value, 1 / slowdown.high) == pytest.approx((speedup.value, speedup.low))


def test_a_candidate_twice_as_fast_has_a_speedup_of_two() -> None:
    assert str(ratio([log_ratios([200] * 9, [100] * 9)])) == "2.00x [2.00, 2.00]"


def test_a_time_of_zero_counts_as_one_nanosecond() -> None:
    assert log_ratios([0, 8], [4, 0]) == pytest.approx([-math.log(4), math.log(8)])


def test_sides_with_different_numbers_of_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        log_ratios([1, 2, 3], [1, 2])


def test_a_few_disturbed_rounds_do_not_move_the_speedup() -> None:
    baseline, candidate = [2000 + step for step in range(30)], [1000 + step for step in range(30)]
    calm = ratio([log_ratios(baseline, candidate)])
    candidate[3:6] = [10**9] * 3
    assert ratio([log_ratios(baseline, candidate)]).value == pytest.approx(calm.value, rel=0.01)


def test_sessions_that_differ_widen_the_interval_beyond_that_of_their_rounds() -> None:
    one, other = [0.0, 0.01] * 20, [0.2, 0.21] * 20
    pooled = ratio([one + other])
    by_session = ratio([one, other])
    assert by_session.low < pooled.low
    assert by_session.high > pooled.high


def test_sessions_that_agree_by_luck_do_not_narrow_the_interval_below_that_of_their_rounds() -> None:
    noisy = [-0.1, 0.0, 0.1] * 10
    pooled = ratio([noisy * 3])
    assert (ratio([noisy] * 3).low, ratio([noisy] * 3).high) == (pooled.low, pooled.high)


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_students_interval_covers_the_mean_as_often_as_it_promises(count: int) -> None:
    random = np.random.default_rng(20260101)
    intervals = [mean_interval(row) for row in random.normal(size=(4000, count)).tolist()]
    assert sum(low <= 0 <= high for low, _, high in intervals) / 4000 == pytest.approx(0.95, abs=0.012)


def test_one_value_says_nothing_about_its_spread() -> None:
    assert mean_interval([3.0]) == (-math.inf, 3.0, math.inf)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.02, 1.10, Verdict.FASTER),
        (1.005, 1.10, Verdict.AMBIGUOUS),
        (0.90, 0.98, Verdict.SLOWER),
        (0.90, 0.999, Verdict.AMBIGUOUS),
        (0.995, 1.005, Verdict.SAME),
        (0.9, 1.1, Verdict.AMBIGUOUS),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side_of_the_margin(low: float, high: float, verdict: str) -> None:
    assert Ratio((low + high) / 2, low, high).verdict(0.01) == verdict


def test_the_geometric_mean_over_cases_takes_the_middle_of_each() -> None:
    double, eightfold = [[math.log(2)] * 9] * 3, [[math.log(8)] * 9] * 3
    found = geometric_mean([double, eightfold])
    assert (found.value, found.low, found.high) == pytest.approx((4, 4, 4))


def test_sessions_are_the_replicate_of_the_geometric_mean() -> None:
    """A gain of one session in one case and its loss in another are no uncertainty of their mean."""
    rising = [[0.1 * number] * 9 for number in range(5)]
    falling = rising[::-1]
    together, apart = geometric_mean([rising, falling]), geometric_mean([rising, rising])
    assert (together.low, together.high) == pytest.approx((math.exp(0.2), math.exp(0.2)))
    assert apart.low < math.exp(0.1) < math.exp(0.3) < apart.high


def test_with_a_single_session_the_bounds_of_the_cases_are_averaged() -> None:
    wide, narrow = [[-0.2, 0.2] * 3], [[0.0] * 6]
    found = geometric_mean([wide, narrow])
    assert (found.low, found.high) == pytest.approx((math.exp(-0.1), math.exp(0.1)))


def test_the_least_shift_is_a_bound_in_all_but_few_samples_and_no_useless_one() -> None:
    random = np.random.default_rng(1)
    bounds = np.array(
        [least_shift(random.laplace(0.3, 0.1, 8).tolist(), random.laplace(0.0, 0.1, 12).tolist()) for _ in range(2000)]
    )
    assert 0.96 < (bounds <= 0.3).mean() < 0.99
    assert np.median(bounds) > 0.1


def test_the_least_shift_of_few_values_is_unknown_and_of_apart_ones_their_distance() -> None:
    assert least_shift([5.0], [1.0]) == -math.inf
    assert least_shift([5.0, 5.0, 5.0, 5.0], [1.0, 1.0, 1.0, 1.0]) == 4.0
    # 64 differences of two times 1 to 8; the thirteenth of them, by the table of the Wilcoxon test, is -3
    assert least_shift(range(1, 9), range(1, 9)) == -3.0


ROWS = st.lists(VALUES, min_size=1, max_size=12)


@given(ROWS, st.sampled_from([0, 2, 100]))
def test_rows_that_are_ordered_at_once_have_the_medians_and_bounds_of_each(
    rows: list[list[float]], padding: int
) -> None:
    """The rows are of like length, padded, or too uneven for that."""
    counts = [len(row) for row in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_MOST_PADDING", padding)
        ordered = Ordered.of(np.array([value for row in rows for value in row]), counts)
        quotients = Ordered.of(np.exp([value for row in rows for value in row]), counts)
    assert ordered.medians() == [median_interval(row)[1] for row in rows]
    expected = [median_interval(np.log(np.exp(row)).tolist()) for row in rows]
    assert quotients.log_medians() == [middle for _, middle, _ in expected]
    assert quotients.log_bounds() == [(low, high) for low, _, high in expected]


def test_the_largest_sample_is_not_lost_among_what_rows_are_filled_with() -> None:
    largest = 2**32 - 1
    ordered = Ordered.of(np.array([largest, largest, 1, 5, largest, 3], dtype="<u4"), [2, 1, 3])
    assert ordered.medians() == [largest, 1.0, 5.0]
    assert ordered.log_bounds() == [
        (math.log(low), math.log(high)) for low, high in [(largest, largest), (1, 1), (3, largest)]
    ]


def test_no_row_is_so_long_that_the_others_fill_the_memory() -> None:
    counts = [1] * 3000 + [30_000]
    ordered = Ordered.of(np.zeros(sum(counts)), counts)
    assert len(ordered.values) == sum(counts)
    assert ordered.medians() == [0.0] * len(counts)


@given(VALUES)
def test_the_middle_is_the_median(values: list[float]) -> None:
    assert middle(values) == median_interval(values)[1]


@given(st.lists(VALUES, min_size=1, max_size=9))
def test_a_ratio_is_made_of_its_sessions_medians_and_of_the_bounds_of_all_rounds(sessions: list[list[float]]) -> None:
    low, _, high = median_interval([value for each in sessions for value in each])
    found, expected = ratio_of([middle(each) for each in sessions], (low, high)), ratio(sessions)
    # Student's interval of two sessions reaches 12.7 times their distance, so that exponentials magnify the last bits.
    pairs = zip((found.value, found.low, found.high), (expected.value, expected.low, expected.high), strict=True)
    assert all(math.log(ours) == pytest.approx(math.log(theirs), rel=1e-11, abs=1e-11) for ours, theirs in pairs)


@given(
    st.lists(
        st.lists(st.lists(st.floats(-2, 2), min_size=1, max_size=9), min_size=1, max_size=4), min_size=1, max_size=4
    )
)
def test_a_geometric_mean_is_made_of_the_ratios_and_of_the_sessions_medians(cases: list[list[list[float]]]) -> None:
    found = geometric_mean_of([ratio(each) for each in cases], [[middle(logs) for logs in each] for each in cases])
    expected = geometric_mean(cases)
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), rel=1e-10
    )
