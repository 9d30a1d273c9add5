"""Standard errors and confidence intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import ConfigError

# Half-widths of two-sided normal intervals, in standard errors.
NORMAL_90 = 1.644854
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Ratio:
    """A pooled ratio with its interval; None where there was no case."""

    value: float | None
    low: float | None
    high: float | None


def pooled_ratio(
    part: NDArray[np.int64],  # (num_units,)
    whole: NDArray[np.int64],  # (num_units,)
    *,
    half_width: float = NORMAL_95,
) -> Ratio:
    """Sum of parts / sum of wholes, with the linearised (delta) interval.

    Args:
        part: cases of interest in each independent unit, such as an episode.
        whole: all cases in it.
        half_width: of the interval, in standard errors; `NORMAL_95` or `NORMAL_90`.

    Example:
        >>> pooled_ratio(np.array([1, 0, 8]), np.array([2, 0, 8])).value
        0.9
    """
    total = int(whole.sum())
    if total == 0:
        return Ratio(None, None, None)
    value = float(part.sum()) / total
    half = half_width * math.sqrt(float(((part - value * whole) ** 2).sum())) / total
    return Ratio(value, max(0.0, value - half), min(1.0, value + half))


def standard_error(
    values: NDArray[np.float64],  # (num_units,)
    groups: NDArray[Any] | None = None,  # (num_units,)
) -> float | None:
    """Standard error of the mean of independent values.

    Args:
        values: the values.
        groups: which group each belongs to, if groups have fixed shares of the values, such as red
            agents that take turns: then only what varies within a group counts.

    Returns:
        None if it cannot be known: a group has fewer than two values.

    Example:
        >>> standard_error(np.array([1.0, 5.0, 1.0, 5.0]), np.array([0, 1, 0, 1]))
        0.0
    """
    groups = np.zeros(len(values), dtype=np.int64) if groups is None else groups
    parts = [values[groups == group] for group in np.unique(groups)]
    if not parts or min(len(part) for part in parts) < 2:
        return None
    variance = sum(len(part) * float(part.var(ddof=1)) for part in parts)
    return math.sqrt(variance) / len(values)


def normal_interval(mean: float, error: float) -> tuple[float, float]:
    """95 % interval of a mean, given its standard error.

    Example:
        >>> normal_interval(0.0, 1.0)
        (-1.959964, 1.959964)
    """
    return mean - NORMAL_95 * error, mean + NORMAL_95 * error


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
