"""Intervals of a figure: over seeds, and over the sessions of one test part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit  # type: ignore[import-untyped]

from standing_orders.errors import ConfigError
from standing_orders.seeding import child_seed

CONFIDENCE = 0.95
NUM_RESAMPLES = 1_000


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
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not len(data):
        raise ConfigError("values: must be a list of one number a seed, not empty")
    mean, num = float(data.mean()), len(data)
    if num == 1:
        return Interval(mean, float("nan"), float("nan"), num)
    quantile = float(stdtrit(num - 1, (1 + CONFIDENCE) / 2))
    half = quantile * float(data.std(ddof=1)) / num**0.5
    return Interval(mean, mean - half, mean + half, num)


def session_interval(
    statistic: Callable[[NDArray[np.int64]], float],
    num_sessions: int,
    seed: int,
    num_resamples: int = NUM_RESAMPLES,
) -> Interval:
    """Percentile bootstrap over sessions: events of one session are not independent.

    Args:
        statistic: figure of the sessions with these numbers; one may occur more than once.
        num_sessions: how many there are, at least 1.
        seed: of the resampling.
        num_resamples: how many samples are drawn.

    Returns:
        The figure of all sessions, and the interval; samples without a figure (NaN) are left out.
    """
    if num_sessions < 1:
        raise ConfigError(f"num_sessions = {num_sessions}: must be at least 1")
    rng = np.random.Generator(np.random.Philox(child_seed(seed, "detect", "bootstrap")))
    draws = [
        statistic(rng.integers(0, num_sessions, size=num_sessions)) for _ in range(num_resamples)
    ]
    figures = np.array(draws)[~np.isnan(draws)]
    mean = float(statistic(np.arange(num_sessions)))
    if not len(figures):
        return Interval(mean, float("nan"), float("nan"), num_sessions)
    low, high = np.quantile(figures, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(mean, float(low), float(high), num_sessions)


def mean_interval(
    values: NDArray[np.float64],  # (num_sessions,)
    seed: int,
    num_resamples: int = NUM_RESAMPLES,
) -> Interval:
    """Bootstrap interval of a mean over sessions.

    The difference of two policies' costs on the same sessions is one such mean.
    """
    return session_interval(
        lambda sessions: float(values[sessions].mean()), len(values), seed, num_resamples
    )
