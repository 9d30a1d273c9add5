"""Sessions: order, length, onset to end, prevalence; whole sessions in each part."""

import numpy as np
import pytest

from standing_orders.detect.data.sessions import (
    Grouped,
    group_events,
    lower_prevalence,
    split_by_group,
    split_by_time,
    split_stratified,
)
from standing_orders.errors import ConfigError

NONE = np.full(6, -1)


def group(sessions: list[int], times: list[float] | None = None, **options: int) -> Grouped:
    num_rows = len(sessions)
    return group_events(
        np.arange(num_rows),
        np.array(sessions),
        np.full(num_rows, -1),
        None if times is None else np.array(times),
        max_events=options.get("max_events", 100),
    )


def test_sessions_are_in_order_of_their_first_event() -> None:
    grouped = group([7, 3, 7, 5, 3, 7])
    assert grouped.rows.tolist() == [0, 2, 5, 1, 4, 3]
    assert grouped.sessions.starts.tolist() == [0, 3, 5, 6]


def test_time_orders_sessions_and_their_events() -> None:
    grouped = group([7, 3, 7, 5, 3, 7], times=[5, 2, 4, 9, 1, 4])
    assert grouped.rows.tolist() == [4, 1, 2, 5, 0, 3]
    assert grouped.sessions.starts.tolist() == [0, 2, 5, 6]
    assert grouped.times is not None and grouped.times.tolist() == [1, 2, 4, 4, 5, 9]


def test_long_sessions_are_cut() -> None:
    grouped = group([7, 3, 7, 5, 3, 7], max_events=2)
    assert grouped.rows.tolist() == [0, 2, 1, 4, 3]
    assert grouped.sessions.starts.tolist() == [0, 2, 4, 5]


def test_an_attack_lasts_from_its_first_to_its_last_threat_event() -> None:
    attacks = np.array([-1, 2, -1, -1, 0, -1, -1, 1, -1])
    sessions = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2])
    grouped = group_events(np.arange(9), sessions, attacks, None, max_events=100)
    assert grouped.attacks.tolist() == [-1, 2, 2, 2, 0, -1, -1, 1, -1]
    assert grouped.session_attacks.tolist() == [2, -1, 1]


@pytest.mark.parametrize("prevalence", [0.089, 0.2])
def test_threats_are_dropped_until_the_share_is_met(prevalence: float) -> None:
    attacks = np.where(np.arange(1000) % 2 == 0, -1, 0)
    grouped = group_events(np.arange(1000), np.arange(1000), attacks, None, max_events=1)
    fewer = lower_prevalence(grouped, prevalence, np.random.default_rng(0))
    assert np.mean(fewer.session_attacks >= 0) == pytest.approx(prevalence, abs=1e-3)
    assert np.sum(fewer.session_attacks < 0) == 500
    assert np.all(np.diff(fewer.rows) > 0)


def test_a_share_above_the_natural_one_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"prevalence = 0\.2: only 0 of the sessions"):
        lower_prevalence(group([1, 2, 3]), 0.2, np.random.default_rng(0))


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
