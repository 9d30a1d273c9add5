"""Errors and intervals, by hand and against the bootstrap."""

import numpy as np
import pytest

from standing_orders.stats import (
    NORMAL_90,
    Ratio,
    normal_interval,
    pooled_ratio,
    standard_error,
)


def test_a_pooled_ratio_is_sum_over_sum() -> None:
    ratio = pooled_ratio(np.array([1, 0, 8]), np.array([2, 0, 8]))
    assert ratio.value == 0.9
    assert ratio.low is not None
    assert ratio.high is not None
    assert 0 <= ratio.low <= 0.9 <= ratio.high <= 1


def test_without_a_case_there_is_no_ratio() -> None:
    nothing = np.zeros(5, dtype=np.int64)
    assert pooled_ratio(nothing, nothing) == Ratio(None, None, None)


@pytest.mark.parametrize(
    ("options", "quantiles"), [({}, [0.025, 0.975]), ({"half_width": NORMAL_90}, [0.05, 0.95])]
)
def test_the_interval_is_that_of_the_bootstrap_over_episodes(
    options: dict[str, float], quantiles: list[float]
) -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 30, 400)
    skill = rng.beta(8, 4, 400)  # episodes differ: fixes inside one are not independent
    part = rng.binomial(whole, skill)
    ratio = pooled_ratio(part, whole, **options)
    picks = rng.integers(0, 400, (4000, 400))
    low, high = np.quantile(part[picks].sum(axis=1) / whole[picks].sum(axis=1), quantiles)
    assert ratio.low == pytest.approx(low, abs=0.15 * (high - low))
    assert ratio.high == pytest.approx(high, abs=0.15 * (high - low))


def test_the_error_of_fixed_shares_is_what_varies_within() -> None:
    returns = np.array([-10.0, -50.0, -12.0, -54.0])
    apart = standard_error(returns, np.array([0, 1, 0, 1]))
    assert apart == pytest.approx(np.sqrt(2 * 2.0 + 2 * 8.0) / 4)
    assert standard_error(returns) == pytest.approx(returns.std(ddof=1) / 2)
    assert standard_error(returns, np.array([0, 0, 0, 1])) is None
    assert standard_error(np.zeros(0)) is None


def test_the_interval_of_a_mean_is_symmetric() -> None:
    low, high = normal_interval(-20.0, 2.0)
    assert (low + high) / 2 == -20.0
    assert high - low == pytest.approx(4 * 1.959964)
