"""Splits: shares kept for every kind, groups whole, time in order."""

import numpy as np
import pytest

from standing_orders.detect.data.splits import split_by_group, split_by_time, split_stratified
from standing_orders.errors import ConfigError

SHARES = (0.6, 0.2, 0.2)


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_is_split_by_the_shares_up_to_one_session(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = rng.permutation(np.repeat([-1, 0, 1, 2], [901, 57, 10, 3]))
    parts = split_stratified(kinds, SHARES, rng)
    for kind in range(-1, 3):
        counts = np.bincount(parts[kinds == kind], minlength=3)
        assert np.all(np.abs(counts - np.array(SHARES) * counts.sum()) <= 1)


def test_a_kind_of_one_session_can_go_anywhere() -> None:
    rng = np.random.default_rng(0)
    parts = [int(split_stratified(np.array([0]), SHARES, rng)[0]) for _ in range(300)]
    np.testing.assert_allclose(np.bincount(parts) / 300, SHARES, atol=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_groups_stay_whole_and_are_balanced_by_attack(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(20), 7))
    kinds = groups // 10
    order = np.append(groups, [-1] * 100)
    attacks = np.append(kinds, [-1] * 100)
    parts = split_by_group(order, attacks, SHARES, rng)
    for group in range(20):
        assert len(set(parts[order == group])) == 1
    for kind in range(2):
        counts = np.bincount(parts[attacks == kind], minlength=3) / 7
        assert counts.tolist() == [6, 2, 2]
    assert np.bincount(parts[order < 0]).tolist() == [60, 20, 20]


def test_a_group_with_benign_and_threat_sessions_counts_as_its_attack() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 2)
    kinds = np.tile([-1, 0], 30)
    kinds[20:] = -1
    parts = split_by_group(groups, kinds, SHARES, rng)
    assert np.bincount(parts[kinds == 0]).tolist() == [6, 2, 2]


def test_time_runs_from_training_to_test_and_equal_times_stay_together() -> None:
    times = np.random.default_rng(0).permutation(np.repeat(np.arange(50.0), 4))
    parts = split_by_time(times, SHARES)
    assert times[parts == 0].max() < times[parts == 1].min()
    assert times[parts == 1].max() < times[parts == 2].min()
    assert np.bincount(parts).tolist() == [120, 40, 40]


def test_a_session_without_time_is_refused() -> None:
    with pytest.raises(ConfigError, match="1 of 2 sessions begin without a time"):
        split_by_time(np.array([1.0, np.nan]), SHARES)
