"""Reward tables of records, prices of sessions and their game, against numbers by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.costs import (
    CostConfig,
    Game,
    SessionCosts,
    best_flag,
    describe_records,
    describe_sessions,
    optimal_threshold,
    play,
    record_game,
    session_game,
    stop_rewards,
    team_rewards,
)
from standing_orders.detect.data.events import Sessions
from standing_orders.errors import ConfigError

# Prices that no sum of others equals, so that a mix-up shows.
COSTS = SessionCosts(
    alert=0.01, delay=0.1, false_block=3, quarantine=1, aftermath=0.7, miss=20, alert_relief=0.25
)


def truth_of(*sessions: str) -> tuple[np.ndarray, Sessions]:
    """Sessions written as one letter an event: b = benign, a = attack."""
    is_threat = np.array([letter == "a" for session in sessions for letter in session])
    return is_threat, Sessions.of_lengths([len(session) for session in sessions])


def game_of(*sessions: str, costs: SessionCosts = COSTS) -> Game:
    return session_game(*truth_of(*sessions), costs)


def totals(actions: list[int] | np.ndarray, *sessions: str) -> list[float]:
    game = game_of(*sessions)
    return game.sessions.fold(np.add, play(game, actions).rewards).tolist()


def total(actions: list[int] | np.ndarray, session: str) -> float:
    return totals(actions, session)[0]


def earned(costs: CostConfig, actions: list[int] | np.ndarray, is_threat: np.ndarray) -> np.ndarray:
    """What each decision about a record earns."""
    return play(record_game(np.asarray(is_threat), costs.rewards()), actions).rewards


def test_published_table_rewards_each_action_on_benign_and_threat() -> None:
    assert CostConfig().rewards().tolist() == [[1, -10], [-8, 10], [-9.5, 8.5], [-9.5, 8.5]]


def test_original_published_table() -> None:
    table = CostConfig(preset="published-original")
    assert table.rewards()[:3].tolist() == [[2, -6], [-3, 5], [-3.05, 4.95]]
    assert table.team == 0.2


def test_published_arithmetic_allow_all_earns_2_cents_and_85_percent_loses_1() -> None:
    """The system this grows from claimed +0.99 for the second."""
    rewards = describe_records(CostConfig().rewards(), 0.089)
    assert rewards["allow-all"] == pytest.approx(0.911 - 0.89)
    assert rewards["85 % accurate, by blocks"] == pytest.approx(
        0.089 * (0.85 * 8.5 - 0.15 * 10) + 0.911 * (0.85 * 1 - 0.15 * 9.5)
    )
    assert round(rewards["allow-all"], 2) == 0.02
    assert round(rewards["85 % accurate, by blocks"], 2) == -0.01
    assert rewards["perfect, by blocks"] == pytest.approx(0.911 + 0.089 * 8.5)
    assert (
        rewards["perfect, by alerts"] == pytest.approx(0.911 + 0.089 * 10) == max(rewards.values())
    )
    assert rewards["block-all"] == pytest.approx(-0.911 * 9.5 + 0.089 * 8.5)


def test_expected_rewards_are_what_simulated_policies_earn() -> None:
    rng = np.random.default_rng(5)
    is_threat = rng.random(400_000) < 0.089
    draws = rng.random(len(is_threat))
    table = CostConfig(preset="published-original")
    expected = describe_records(table.rewards(), float(is_threat.mean()))
    policies = {
        "allow-all": np.full(len(is_threat), ALLOW),
        "block-all": np.full(len(is_threat), BLOCK),
        "perfect, by alerts": np.where(is_threat, ALERT, ALLOW),
        "perfect, by blocks": np.where(is_threat, BLOCK, ALLOW),
    }
    for share in (85, 95):
        is_flagged = is_threat == (draws < share / 100)
        policies[f"{share} % accurate, by alerts"] = np.where(is_flagged, ALERT, ALLOW)
        policies[f"{share} % accurate, by blocks"] = np.where(is_flagged, BLOCK, ALLOW)
    thresholds = {name for name in expected if name.startswith("threshold")}
    assert expected.keys() - thresholds == policies.keys()
    for name, actions in policies.items():
        mean = earned(table, actions, is_threat).mean()
        assert mean == pytest.approx(expected[name], abs=0.02), name


@given(
    gains=st.tuples(*[st.floats(0.1, 20)] * 4),
    restrictive=st.floats(-3, 3),
    action=st.sampled_from([ALERT, BLOCK, QUARANTINE]),
)
def test_optimal_threshold_equals_brute_force(gains, restrictive: float, action: int) -> None:
    table = CostConfig(
        true_positive=gains[0],
        true_negative=gains[1],
        false_positive=-gains[2],
        false_negative=-gains[3],
        restrictive=restrictive,
    )
    threshold = optimal_threshold(table.rewards(), action)
    rewards = table.rewards()
    for prob in np.linspace(0, 1, 201):
        flag, allow = (np.array([1 - prob, prob]) @ rewards[row] for row in (action, ALLOW))
        if abs(flag - allow) > 1e-9:
            assert (prob >= threshold) == (flag > allow)


def test_threshold_of_the_published_table_by_hand() -> None:
    assert optimal_threshold(CostConfig().rewards()) == pytest.approx(9 / 29)
    assert optimal_threshold(CostConfig().rewards(), BLOCK) == pytest.approx(10.5 / 29)


def test_threshold_of_one_sided_tables() -> None:
    assert optimal_threshold(CostConfig(false_positive=2).rewards()) == 0.0  # a flag never hurts
    assert optimal_threshold(CostConfig(true_positive=-11).rewards()) == float(
        "inf"
    )  # it never helps


def test_a_table_that_rewards_mistakes_has_no_threshold() -> None:
    with pytest.raises(ConfigError, match=r"alert gains -1 on a threat and 1 on a benign event"):
        optimal_threshold(CostConfig(true_positive=-11, false_positive=2).rewards())


def test_best_flag_is_restrictive_only_if_that_is_paid_for() -> None:
    assert best_flag(CostConfig().rewards()) == ALERT
    assert best_flag(CostConfig(restrictive=0).rewards()) == ALERT
    assert best_flag(CostConfig(restrictive=0.1).rewards()) == BLOCK


def test_own_values_replace_those_of_the_preset() -> None:
    mine = CostConfig(preset="published-original", false_negative=-60.0).rewards()
    assert mine.tolist() == [[2, -60], [-3, 5], [-3.05, 4.95], [-3.05, 4.95]]


def test_bad_values_are_named() -> None:
    with pytest.raises(ConfigError, match="preset"):
        CostConfig(preset="mine")
    with pytest.raises(ConfigError, match="true_positive"):
        CostConfig(true_positive=float("nan"))
    with pytest.raises(ConfigError, match="alert_relief"):
        SessionCosts(alert_relief=1.5)
    with pytest.raises(ConfigError, match="miss"):
        SessionCosts(miss=-1)


def test_records_earn_what_the_table_says_and_end_at_once() -> None:
    actions = np.array([ALLOW, ALERT, BLOCK, QUARANTINE])
    played = play(
        record_game(np.array([True, False, True, False]), CostConfig().rewards()), actions
    )
    assert played.rewards.tolist() == [-10.0, -8.0, 8.5, -9.5]
    assert played.is_open.all()
    assert played.is_end.all()


def test_a_missing_vote_is_not_an_action() -> None:
    with pytest.raises(ConfigError, match="0 to 3"):
        earned(CostConfig(), [-1, 0], np.array([True, False]))
    with pytest.raises(ConfigError, match="for each event"):
        earned(CostConfig(), [0], np.array([True, False]))


def test_team_term_is_agreement_plus_twice_accuracy() -> None:
    votes = [
        [BLOCK, BLOCK, BLOCK, ALLOW],  # 3 agree, 3 right
        [ALERT, BLOCK, QUARANTINE, ALLOW],  # 1 agrees, 3 flag, 1 is right
        [-1, -1, ALLOW, ALLOW],  # who does not vote is not right about a benign event
        [-1, -1, -1, -1],
    ]
    bonus = team_rewards(0.2, votes, [True, False, False, True])
    assert bonus == pytest.approx([0.2 * 2.25, 0.2 * 0.75, 0.2 * 1.5, 0.0])


def test_description_of_records_has_rewards_and_both_thresholds() -> None:
    rows = describe_records(CostConfig().rewards(), 0.089)
    assert list(rows)[:3] == ["allow-all", "block-all", "perfect, by alerts"]
    assert "85 % accurate, by blocks" in rows
    assert rows["threshold of alert on P(threat)"] == pytest.approx(9 / 29)
    assert rows["threshold of block on P(threat)"] == pytest.approx(10.5 / 29)


def test_an_attack_goes_on_after_its_last_labelled_event() -> None:
    assert game_of("bbaa", "b", "a").has_begun.tolist() == [False, False, True, True, False, True]
    assert game_of("bab").has_begun.tolist() == [False, True, True]
    assert total([ALLOW, ALLOW, BLOCK], "bab") == pytest.approx(-0.1 - 0.7)


@pytest.mark.parametrize(
    ("session", "actions", "expected"),
    [
        ("bbb", [ALLOW, ALLOW, ALLOW], 0),
        ("bbb", [ALLOW, ALERT, ALERT], -0.02),
        ("bbb", [ALLOW, BLOCK, ALLOW], -3),
        ("bbb", [QUARANTINE, ALLOW, ALLOW], -4),
        ("baa", [ALLOW, BLOCK, ALLOW], 0),  # at the onset: nothing passed
        ("baa", [ALLOW, QUARANTINE, ALLOW], -1),
        ("baa", [ALLOW, ALLOW, BLOCK], -0.1 - 0.7),  # one event passed
        ("baa", [ALLOW, ALLOW, QUARANTINE], -0.1 - 1),  # no aftermath
        ("baa", [ALLOW, ALLOW, ALLOW], -0.2 - 20),
        ("baa", [ALLOW, ALERT, ALLOW], -0.2 - 0.01 - 15),  # somebody was looking
        ("baa", [ALLOW, ALLOW, ALERT], -0.2 - 0.01 - 15),  # even at the last event
        ("baa", [ALERT, ALLOW, ALLOW], -0.2 - 0.01 - 20),  # too early to see anything
        ("baa", [BLOCK, ALLOW, ALLOW], -3 - 20),  # stops nothing: the source comes back
        ("baa", [QUARANTINE, ALLOW, ALLOW], -1),  # averts what nobody has seen yet
        ("baa", [ALERT, BLOCK, QUARANTINE], -0.01),  # nothing counts after the end
    ],
)
def test_session_totals_by_hand(session: str, actions: list[int], expected: float) -> None:
    assert total(actions, session) == pytest.approx(expected)


def test_aftermath_never_exceeds_the_harm() -> None:
    late = [ALLOW] * 49 + [BLOCK]
    assert total(late, "a" * 50) == pytest.approx(-4.9 - 20)
    late[0] = ALERT
    assert total(late, "a" * 50) == pytest.approx(-4.9 - 0.01 - 15)


def test_sessions_do_not_leak_into_each_other() -> None:
    sessions = ["baa", "bbb", "a", "b", "aab"]
    rng = np.random.default_rng(3)
    for _ in range(50):
        actions = [rng.integers(0, 4, size=len(session)) for session in sessions]
        together = totals(np.concatenate(actions), *sessions)
        alone = [total(list(one), session) for one, session in zip(actions, sessions, strict=True)]
        assert together == pytest.approx(alone)


def test_a_session_is_open_up_to_and_with_the_restrictive_action() -> None:
    actions = [ALLOW, BLOCK, ALLOW, ALERT, ALERT, QUARANTINE]
    played = play(game_of("bbb", "bb", "a"), actions)
    assert played.is_open.tolist() == [True, True, False, True, True, True]
    assert played.is_end.tolist() == [False, True, True, False, True, True]
    assert played.rewards.tolist() == [0, -3, 0, -0.01, -0.01, -1]


def test_some_sessions_are_taken_with_all_their_events() -> None:
    game = game_of("bbb", "ba", "aab")
    part = game.take(np.array([2, 0, 2]))
    assert part.sessions.lengths.tolist() == [3, 3, 3]
    rows = [5, 6, 7, 0, 1, 2, 5, 6, 7]
    for name in ("rewards", "has_begun", "is_threat"):
        assert np.array_equal(getattr(part, name), getattr(game, name)[rows])


def test_rewards_of_steps_taken_one_by_one_are_those_of_whole_sessions() -> None:
    """An environment steps through the table; whole sessions are played at once."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        length = int(rng.integers(1, 9))
        onset = int(rng.integers(0, 2 * length))
        session = "".join("a" if place >= onset else "b" for place in range(length))
        game = game_of(session)
        actions = rng.choice(4, size=length, p=[0.5, 0.3, 0.1, 0.1])
        earned, has_alerted = 0.0, 0
        for place, action in enumerate(actions):
            earned += game.rewards[place, action, has_alerted]
            has_alerted |= int(action == ALERT and game.has_begun[place])
            if action >= BLOCK:
                break
        assert earned == pytest.approx(total(actions, session))


def test_stop_table_is_the_total_of_stopping_there() -> None:
    sessions = ["bbbb", "bbaaa", "aa", "b", "a"]
    game = game_of(*sessions)
    table = stop_rewards(game)
    for number in range(len(sessions)):
        first, end = game.sessions.starts[number : number + 2]
        for event in range(first, end):
            for action in range(4):
                actions = np.full(len(table), ALLOW)
                actions[event] = action
                wanted = totals(actions, *sessions)[number]
                assert table[event, action] == pytest.approx(wanted)


def test_neither_allowing_all_nor_blocking_at_once_is_good_by_default() -> None:
    """91 % benign, attacks of 15 events that begin after 5, blocked 2 events late."""
    sessions = ["b" * 20] * 91 + ["bbbbb" + "a" * 15] * 9
    costs = SessionCosts()
    rows = describe_sessions(*truth_of(*sessions), costs)
    game = game_of(*sessions, costs=costs)
    table, first = stop_rewards(game), game.sessions.starts[:-1]
    late = np.where(np.arange(100) < 91, 0.0, table[first + 7, BLOCK])
    assert rows["perfect"] == 0.0
    assert rows["block at once"] < rows["allow-all"] < -1
    assert late.mean() > 0.1 * rows["allow-all"]
    alert_once = table[first + 5, ALERT].mean()
    assert alert_once < rows["allow-all"]  # of every session alike: not a way out


def test_quarantine_pays_once_enough_has_passed() -> None:
    table = stop_rewards(game_of("a" * 12, costs=SessionCosts()))
    gain = table[:, QUARANTINE] - table[:, BLOCK]
    assert (gain[:4] < 0).all()
    assert gain[4] == pytest.approx(0)
    assert (gain[5:] > 0).all()


def test_description_of_sessions_by_hand() -> None:
    rows = describe_sessions(*truth_of("bb", "ba"), COSTS)
    assert rows["allow-all"] == pytest.approx(-20.1 / 2)
    assert rows["block at once"] == pytest.approx(-(3 + 23) / 2)
    assert rows["perfect"] == 0.0
    assert rows["85 % accurate"] == pytest.approx(-0.15 * (3 + 20.1) / 2)
    # At a last event alone: alert costs 0.01 and saves 5 of an attack, block 3 and saves 20.1.
    place = "on P(attack), at the last event"
    assert rows[f"threshold of alert {place}"] == pytest.approx(0.01 / 5)
    assert rows[f"threshold of block {place}"] == pytest.approx(3 / 23.1)
