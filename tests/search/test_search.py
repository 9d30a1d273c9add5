"""Searching landscapes of which the truth is known; small versions of benchmarks/search.py."""

import numpy as np
import pytest
from benchmarks.search import (
    ORACLE_EPISODES,
    SETTINGS,
    Landscape,
    Trial,
    mean_regrets,
    of_returns,
    run_trial,
    synthetic,
    tied_with_best,
)

from standing_orders.config import Strategy
from standing_orders.search.oracle import oracle_returns

B_LINE, MEANDER = list(SETTINGS)[:2]


def search_all(lands: list[Landscape], strategy: Strategy, budget: int) -> list[Trial]:
    return [run_trial(land, strategy, budget=budget, seed=s) for s, land in enumerate(lands)]


def check_additive(num_seeds: int, share: float) -> None:
    lands = [synthetic(seed, is_rugged=False) for seed in range(num_seeds)]
    trials = search_all(lands, "ucb", 40)
    first = [t.first_visit(land.regret <= 0) for land, t in zip(lands, trials, strict=True)]
    assert sum(t <= 40 for t in first) >= share * num_seeds
    others = search_all(lands, "random", 40)
    for budget in (10, 20, 40):
        assert mean_regrets(lands, trials, budget)[0] < mean_regrets(lands, others, budget)[0]


def check_rugged(num_seeds: int, share: float) -> None:
    lands = [synthetic(seed, is_rugged=True) for seed in range(num_seeds)]
    trials = search_all(lands, "ucb", 60)
    first = [
        trial.first_visit(land.regret <= np.sort(land.regret)[2])
        for land, trial in zip(lands, trials, strict=True)
    ]
    assert sum(t <= 60 for t in first) >= share * num_seeds


def check_oracle(game: str, num_seeds: int, share: float, episodes: int) -> None:
    returns = oracle_returns(SETTINGS[game], episodes, 0) / 10
    lands = [of_returns(returns)] * num_seeds
    trials = search_all(lands, "ucb", 20)
    found = sum(trial.first_visit(tied_with_best(returns)) <= 20 for trial in trials)
    assert found >= share * num_seeds
    others = search_all(lands, "random", 20)
    assert mean_regrets(lands, trials, 10)[0] <= 0.5 * mean_regrets(lands, others, 10)[0]


def test_the_best_of_an_additive_landscape_is_visited_within_40_evaluations() -> None:
    check_additive(2, 0.95)


def test_one_of_the_top_three_of_a_rugged_landscape_is_visited_within_60_evaluations() -> None:
    check_rugged(2, 0.98)


def test_the_best_class_of_the_oracle_is_visited_within_20_evaluations() -> None:
    check_oracle(MEANDER, 2, 0.97, ORACLE_EPISODES // 5)


@pytest.mark.slow
def test_the_best_of_additive_landscapes_is_visited_in_95_of_100_seeds() -> None:
    check_additive(100, 0.95)


@pytest.mark.slow
def test_one_of_the_top_three_of_rugged_landscapes_is_visited_in_98_of_100_seeds() -> None:
    check_rugged(100, 0.98)


@pytest.mark.slow
@pytest.mark.parametrize("game", [B_LINE, MEANDER])
def test_the_best_class_of_the_oracle_is_visited_in_97_of_100_seeds(game: str) -> None:
    check_oracle(game, 100, 0.97, ORACLE_EPISODES)
