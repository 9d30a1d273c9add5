"""Figures over several runs and tasks, as rliable computes them.

After Agarwal et al., "Deep RL at the Edge of the Statistical Precipice", NeurIPS 2021.

| symbol | meaning |
|---|---|
| scores | (num_runs, num_tasks): one number for each training seed and task |
| IQM | mean of the middle half of all scores: as robust as a median, as efficient as a mean |
| stratified bootstrap | runs are drawn anew within each task, tasks stay |
| P(X > Y) | chance that a run of X beats one of Y, mean over tasks; a tie is half |
| profile | share of all scores above a threshold |
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.errors import ConfigError

Scores = NDArray[np.float64]  # (num_runs, num_tasks)
LEVEL = 0.95
RESAMPLES = 2_000
_TRIMMED = 0.25  # of the scores, at either end


@dataclass(frozen=True)
class Estimate:
    """A figure with its bootstrap interval; None where one run leaves nothing to resample."""

    value: float
    low: float | None
    high: float | None


def iqm(scores: Scores) -> float:
    """Mean of the middle half of all scores.

    Example:
        >>> iqm(np.array([[0.0], [1.0], [2.0], [99.0]]))
        1.5
    """
    ranked = np.sort(scores, axis=None)
    cut = int(_TRIMMED * len(ranked))
    return float(ranked[cut : len(ranked) - cut].mean())


def mean(scores: Scores) -> float:
    """Mean of all scores."""
    return float(scores.mean())


def probability_of_improvement(scores: Scores, other: Scores) -> float:
    """Chance that a run of the first beats one of the other, mean over their tasks.

    Raises:
        ConfigError: they have different tasks.

    Example:
        >>> probability_of_improvement(np.array([[2.0], [3.0]]), np.array([[1.0], [3.0]]))
        0.625
    """
    if scores.shape[1] != other.shape[1]:
        raise ConfigError(f"{scores.shape[1]} and {other.shape[1]} tasks: must be the same ones")
    first, second = scores[:, None, :], other[None, :, :]
    return float(((first > second) + 0.5 * (first == second)).mean())


def profile(scores: Scores, thresholds: Sequence[float]) -> list[float]:
    """Share of all scores above each threshold.

    Example:
        >>> profile(np.array([[0.1, 0.5], [0.7, 0.9]]), [0.0, 0.6])
        [1.0, 0.5]
    """
    return [float((scores > threshold).mean()) for threshold in thresholds]


def estimate(
    figure: Callable[..., float],
    *groups: Scores,
    seed: int = 0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Estimate:
    """A figure of one or more groups of scores, with its stratified bootstrap interval.

    Args:
        figure: of as many arguments as there are groups.
        groups: scores.
        seed: of the resampling.
        level: of the percentile interval.
        resamples: how many.

    Raises:
        ConfigError: a group has no score, or one that is not finite.
    """
    for scores in groups:
        if scores.ndim != 2 or not scores.size or not np.isfinite(scores).all():
            raise ConfigError(f"scores of shape {scores.shape}: must be finite, runs by tasks")
    value = figure(*groups)
    if max(len(scores) for scores in groups) < 2:
        return Estimate(value, None, None)
    rng = np.random.Generator(np.random.Philox(seed))
    drawn = [figure(*(_resample(scores, rng) for scores in groups)) for _ in range(resamples)]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high))


def _resample(scores: Scores, rng: np.random.Generator) -> Scores:
    """Runs drawn anew with replacement, for each task by itself."""
    rows = rng.integers(len(scores), size=scores.shape)
    return np.take_along_axis(scores, rows, axis=0)
