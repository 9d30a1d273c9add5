"""Confidence intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import ConfigError

NORMAL_95 = 1.959964  # half-width of a 95 % interval in standard errors


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % interval; the bounds are NaN if there is nothing to judge them by."""

    mean: float
    low: float
    high: float
    num: int  # values behind it


def seed_interval(values: Sequence[float]) -> Interval:
    """Student's t-interval of the mean over independent seeds.

    One value has no interval, and a value that is not a number (a figure that some seed could not
    measure) leaves nothing to average.

    Example:
        >>> interval = seed_interval([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> round(interval.low, 3), round(interval.high, 3)
        (1.037, 4.963)
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415

    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not len(data):
        raise ConfigError("values: must be a list of one number a seed, not empty")
    mean, num = float(data.mean()), len(data)
    if num == 1:
        return Interval(mean, float("nan"), float("nan"), num)
    half = float(stdtrit(num - 1, 0.975)) * float(data.std(ddof=1)) / num**0.5
    return Interval(mean, mean - half, mean + half, num)


def bootstrap_interval(
    statistic: Callable[[NDArray[np.int64]], float],
    num_units: int,
    rng: np.random.Generator,
    num_resamples: int = 1_000,
) -> Interval:
    """Percentile bootstrap over independent units, such as sessions: their events are not.

    Args:
        statistic: figure of the units with these numbers; one may occur more than once.
        num_units: how many there are, at least 1.
        rng: source of the resampling.
        num_resamples: how many samples are drawn.

    Returns:
        The figure of all units, and the interval; samples without a figure (NaN) are left out.
    """
    if num_units < 1:
        raise ConfigError(f"num_units = {num_units}: must be at least 1")
    draws = [statistic(rng.integers(0, num_units, size=num_units)) for _ in range(num_resamples)]
    figures = np.array(draws)[~np.isnan(draws)]
    mean = float(statistic(np.arange(num_units)))
    if not len(figures):
        return Interval(mean, float("nan"), float("nan"), num_units)
    low, high = np.quantile(figures, [0.025, 0.975])
    return Interval(mean, float(low), float(high), num_units)
