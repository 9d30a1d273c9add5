"""Intervals over seeds and over resampled units, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from standing_orders.errors import ConfigError
from standing_orders.stats import Interval, bootstrap_interval, seed_interval

RNG = np.random.default_rng(0)


def test_interval_over_five_seeds_by_hand() -> None:
    """t(0.975, 4) = 2.776445; standard deviation of 1..5 is sqrt(2.5)."""
    interval = seed_interval([1, 2, 3, 4, 5])
    half = 2.776445 * math.sqrt(2.5 / 5)
    assert interval.mean == 3
    assert interval.high - 3 == pytest.approx(half, rel=1e-6)
    assert 3 - interval.low == pytest.approx(half, rel=1e-6)
    assert interval.num == 5


def test_one_seed_has_no_interval_and_none_is_refused() -> None:
    alone = seed_interval([0.7])
    assert (alone.mean, alone.num) == (0.7, 1)
    assert math.isnan(alone.low)
    assert math.isnan(alone.high)
    with pytest.raises(ConfigError, match="not empty"):
        seed_interval([])


def test_bootstrap_of_a_mean_is_near_the_normal_interval_and_repeats() -> None:
    values = np.random.default_rng(2).normal(size=400)

    def interval_of(seed: int) -> Interval:
        rng = np.random.default_rng(seed)
        return bootstrap_interval(lambda units: float(values[units].mean()), 400, rng)

    interval, half = interval_of(1), 1.96 * values.std() / 20
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.15 * half)
    assert interval_of(1) == interval
    assert interval_of(2) != interval


def test_bootstrap_resamples_units_and_leaves_out_samples_without_a_figure() -> None:
    has_attack = np.array([True, False, False])

    def share(units: np.ndarray) -> float:
        return 1.0 if has_attack[units].any() else math.nan

    interval = bootstrap_interval(share, 3, RNG, num_resamples=50)
    assert (interval.mean, interval.low, interval.high, interval.num) == (1.0, 1.0, 1.0, 3)
    nothing = bootstrap_interval(lambda _: math.nan, 3, RNG, num_resamples=5)
    assert math.isnan(nothing.low)
    with pytest.raises(ConfigError, match="at least 1"):
        bootstrap_interval(share, 0, RNG)
