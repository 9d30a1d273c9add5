"""Standard errors and confidence intervals."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
