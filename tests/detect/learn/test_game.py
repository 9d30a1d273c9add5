"""The core: whole sessions at once, one event at a time, and the price list agree."""

import numpy as np
import pytest

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.costs import CostTable, record_rewards
from standing_orders.detect.data.events import Events
from standing_orders.detect.learn.game import Game, OpenSessions, make_game, play
from standing_orders.detect.session_costs import SessionCosts, session_context, session_rewards


def events_of(is_threat: list[bool], lengths: list[int]) -> Events:
    threat = np.array(is_threat)
    return Events(
        features=np.zeros((len(threat), 1), np.float32),
        columns=("x",),
        sources=("x",),
        is_threat=threat,
        attacks=np.where(threat, 0, -1),
        attack_names=("attack",),
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
    )


def random_game(seed: int) -> tuple[Events, Game, SessionCosts]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, size=30).tolist()
    threat = np.concatenate(
        [np.arange(n) >= (rng.integers(n) if rng.random() < 0.5 else n) for n in lengths]
    )
    events = events_of(threat.tolist(), lengths)
    costs = SessionCosts(alert=0.3, delay=0.25, false_block=4.0, miss=9.0, quarantine=1.5)
    return events, make_game(events, "sessions", CostTable(), costs), costs


@pytest.mark.parametrize("seed", range(5))
def test_playing_whole_sessions_is_what_the_price_list_says(seed: int) -> None:
    events, game, costs = random_game(seed)
    actions = np.random.default_rng(seed).choice(4, size=events.num_events, p=[0.6, 0.2, 0.1, 0.1])
    wanted = session_rewards(costs, actions, session_context(events.is_threat, events.starts))
    played = play(game, actions)
    assert np.array_equal(played.rewards, wanted.rewards)
    assert np.array_equal(np.add.reduceat(played.is_open, events.starts[:-1]), wanted.events_seen)


@pytest.mark.parametrize("seed", range(5))
def test_one_event_at_a_time_is_the_same_as_whole_sessions(seed: int) -> None:
    events, game, _ = random_game(seed)
    actions = np.random.default_rng(seed).choice(4, size=events.num_events, p=[0.6, 0.2, 0.1, 0.1])
    played = play(game, actions)
    sessions = OpenSessions(game, np.arange(game.num_sessions))
    rewards = np.zeros(events.num_events)
    while sessions.is_open.any():
        now, was_open = sessions.events.copy(), sessions.is_open.copy()
        earned = sessions.step(actions[now])
        assert (earned[~was_open] == 0).all()
        rewards[now[was_open]] += earned[was_open]
    assert np.array_equal(rewards, played.rewards)


def test_records_earn_what_the_table_says_and_end_at_once() -> None:
    events = events_of([True, False, True, False], [1, 1, 1, 1])
    game = make_game(events, "records", CostTable(), SessionCosts())
    actions = np.array([ALLOW, ALERT, BLOCK, QUARANTINE])
    played = play(game, actions)
    assert np.array_equal(played.rewards, record_rewards(CostTable(), actions, events.is_threat))
    assert played.is_open.all()
    assert played.is_end.all()


def test_a_block_ends_a_session_and_nothing_after_it_counts() -> None:
    events = events_of([False, True, True], [3])
    costs = SessionCosts(delay=1.0, false_block=5.0, miss=10.0, aftermath=0.0)
    game = make_game(events, "sessions", CostTable(), costs)
    assert play(game, [ALLOW, BLOCK, ALLOW]).rewards.tolist() == [0.0, 0.0, 0.0]
    assert play(game, [ALLOW, ALLOW, BLOCK]).rewards.tolist() == [0.0, -1.0, 0.0]
    assert play(game, [ALLOW, ALLOW, ALLOW]).rewards.tolist() == [0.0, -1.0, -11.0]
    assert play(game, [BLOCK, ALLOW, ALLOW]).is_open.tolist() == [True, False, False]


def test_some_sessions_are_taken_with_all_their_events() -> None:
    _, game, _ = random_game(0)
    chosen = np.array([7, 0, 7])
    part = game.take(chosen)
    rows = game.rows_of(chosen)
    assert np.array_equal(part.rewards, game.rewards[rows])
    assert np.array_equal(np.diff(part.starts), np.diff(game.starts)[chosen])
    assert rows[0] == game.starts[7]
