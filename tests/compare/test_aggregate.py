"""Aggregate figures are those of rliable."""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from standing_orders.compare.aggregate import (
    estimate,
    iqm,
    mean,
    probability_of_improvement,
    profile,
)
from standing_orders.errors import ConfigError
from tests.effort import effort

RNG = np.random.default_rng(11)
FIRST, SECOND = RNG.normal(0.6, 0.2, (9, 3)), RNG.normal(0.5, 0.2, (7, 3))
RLIABLE = {  # 1.2.0, with arch 7.2.0; 20,000 resamples
    "iqm": 0.5908753828014607,
    "improvement": 0.6772486772486772,
    "profile": [1.0, 0.7037037037037037, 0.1111111111111111],
    "interval": [0.52725579, 0.65691721],
}


def test_iqm_of_hand_made_scores() -> None:
    scores = np.arange(1.0, 9.0).reshape(4, 2)  # the middle half is 3, 4, 5, 6
    assert iqm(scores) == 4.5
    assert mean(scores) == 4.5
    assert iqm(np.where(scores == 8, 1e6, scores)) == 4.5


def test_probability_of_improvement_of_hand_made_scores() -> None:
    first = np.array([[1.0, 5.0], [2.0, 5.0]])
    second = np.array([[0.0, 5.0], [3.0, 6.0]])
    # Task 1: 2 of 4 pairs won. Task 2: two ties of four.
    assert probability_of_improvement(first, second) == pytest.approx((0.5 + 0.25) / 2)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    hits, num_seeds = 0, effort(200, 100)
    for seed in range(num_seeds):
        scores = np.random.default_rng(seed).normal(1.0, 1.0, (20, 3))
        found = estimate(mean, scores, seed=seed, resamples=300)
        hits += found.low <= 1.0 <= found.high  # type: ignore[operator]
    assert 0.88 <= hits / num_seeds <= 0.99


def test_tasks_are_strata() -> None:
    """Between-task spread does not widen the interval: each task is resampled by itself."""
    scores = np.array([[0.0, 100.0], [0.0, 100.0], [0.0, 100.0]])
    found = estimate(mean, scores)
    assert (found.low, found.high) == (50.0, 50.0)


def test_the_same_seed_gives_the_same_interval() -> None:
    assert estimate(iqm, FIRST, seed=3) == estimate(iqm, FIRST, seed=3)


def test_one_run_has_no_interval() -> None:
    assert estimate(iqm, FIRST[:1]).low is None


@pytest.mark.parametrize("scores", [np.zeros((0, 2)), np.array([[np.nan]]), np.zeros(3)])
def test_what_is_no_table_of_scores_is_refused(scores: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="must be finite"):
        estimate(mean, scores)


def test_figures_recorded_from_rliable_1_2_0() -> None:
    """What rliable itself says of these scores; it does not install beside this project's pins."""
    assert iqm(FIRST) == pytest.approx(RLIABLE["iqm"])
    assert probability_of_improvement(FIRST, SECOND) == pytest.approx(RLIABLE["improvement"])
    assert profile(FIRST, [0.2, 0.5, 0.8]) == pytest.approx(RLIABLE["profile"])
    found = estimate(iqm, FIRST, resamples=20_000)
    assert [found.low, found.high] == pytest.approx(RLIABLE["interval"], abs=0.005)


def test_figures_are_those_of_rliable() -> None:
    metrics = pytest.importorskip("rliable.metrics", reason="pip install rliable")
    assert iqm(FIRST) == pytest.approx(metrics.aggregate_iqm(FIRST))
    ours = probability_of_improvement(FIRST, SECOND)
    assert ours == pytest.approx(metrics.probability_of_improvement(FIRST, SECOND))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(3, 2), (9, 3), (5, 1)])
def test_figures_are_those_of_scipy(shape: tuple[int, int], seed: int) -> None:
    """rliable's own definitions: a trimmed mean, and Mann and Whitney's U for each task."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.1, 1, shape).round(1), rng.normal(0, 1, (4, shape[1])).round(1)
    assert iqm(first) == pytest.approx(stats.trim_mean(first, 0.25, axis=None))
    wins = [
        stats.mannwhitneyu(one, other).statistic / (len(one) * len(other))
        for one, other in zip(first.T, second.T, strict=True)
    ]
    assert probability_of_improvement(first, second) == pytest.approx(np.mean(wins))
    above = stats.ecdf(first.ravel()).sf.evaluate([0.0, 0.5])
    assert profile(first, [0.0, 0.5]) == pytest.approx(above)
    ours = estimate(mean, first[:, :1], resamples=5_000)
    theirs = stats.bootstrap(
        (first[:, 0],), np.mean, n_resamples=5_000, method="percentile", rng=seed
    ).confidence_interval
    width = theirs.high - theirs.low
    assert [ours.low, ours.high] == pytest.approx([theirs.low, theirs.high], abs=0.05 * width)
