"""Sessions: order, length, onset to end, prevalence and weights."""

import numpy as np
import pytest

from standing_orders.detect.data.sessions import (
    Grouped,
    group_events,
    lower_prevalence,
    weigh_sessions,
)
from standing_orders.errors import ConfigError
from tests.detect.data.test_events import make_events

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
    assert grouped.starts.tolist() == [0, 3, 5, 6]


def test_time_orders_sessions_and_their_events() -> None:
    grouped = group([7, 3, 7, 5, 3, 7], times=[5, 2, 4, 9, 1, 4])
    assert grouped.rows.tolist() == [4, 1, 2, 5, 0, 3]
    assert grouped.starts.tolist() == [0, 2, 5, 6]
    assert grouped.times is not None and grouped.times.tolist() == [1, 2, 4, 4, 5, 9]


def test_long_sessions_are_cut() -> None:
    grouped = group([7, 3, 7, 5, 3, 7], max_events=2)
    assert grouped.rows.tolist() == [0, 2, 1, 4, 3]
    assert grouped.starts.tolist() == [0, 2, 4, 5]


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


def test_weighted_sampling_makes_half_the_sessions_threats() -> None:
    events = make_events().take_sessions([0] * 900 + [1] * 100)
    weighted = weigh_sessions(events, np.random.default_rng(0))
    assert weighted.num_sessions == 1000
    assert weighted.session_is_threat.mean() == pytest.approx(0.5, abs=0.05)


def test_history_is_mean_and_maximum_of_the_session_so_far() -> None:
    events = make_events()
    history = events.with_history()
    assert history.shape == (6, 7)
    np.testing.assert_array_equal(history[:, :2], events.features)
    for session in range(events.num_sessions):
        start, end = events.starts[session : session + 2]
        for at in range(start, end):
            so_far = events.features[start : at + 1]
            np.testing.assert_allclose(history[at, 2:4], so_far.mean(axis=0))
            np.testing.assert_allclose(history[at, 4:6], so_far.max(axis=0))
            assert history[at, 6] == at + 1 - start
