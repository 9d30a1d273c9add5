"""Reward tables of records and prices of sessions, against numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.costs import (
    PRESETS,
    CostConfig,
    CostTable,
    best_flag,
    best_from,
    describe_records,
    expected_rewards,
    optimal_threshold,
    record_rewards,
    team_rewards,
)
from standing_orders.detect.session_costs import (
    SessionCosts,
    alerted_since_onset,
    describe_sessions,
    last_chance_thresholds,
    running_count,
    session_context,
    session_rewards,
    step_rewards,
    stop_rewards,
)
from standing_orders.errors import ConfigError

# Prices that no sum of others equals, so that a mix-up shows.
COSTS = SessionCosts(
    alert=0.01, delay=0.1, false_block=3, quarantine=1, aftermath=0.7, miss=20, alert_relief=0.25
)


def context_of(*sessions: str):
    """Sessions written as one letter an event: b = benign, a = attack."""
    is_threat = np.array([letter == "a" for session in sessions for letter in session])
    starts = np.concatenate([[0], np.cumsum([len(session) for session in sessions])])
    return session_context(is_threat, starts)


def total(actions: list[int], session: str, costs: SessionCosts = COSTS) -> float:
    return float(session_rewards(costs, actions, context_of(session)).totals[0])


def test_published_table_rewards_each_action_on_benign_and_threat() -> None:
    assert PRESETS["published"].rewards().tolist() == [[1, -10], [-8, 10], [-9.5, 8.5], [-9.5, 8.5]]


def test_original_published_table() -> None:
    table = PRESETS["published-original"]
    assert table.rewards()[:3].tolist() == [[2, -6], [-3, 5], [-3.05, 4.95]]
    assert table.team == 0.2


def test_published_arithmetic_allow_all_earns_2_cents_and_85_percent_loses_1() -> None:
    """The system this grows from claimed +0.99 for the second."""
    rewards = expected_rewards(PRESETS["published"], 0.089)
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
    is_right = rng.random(len(is_threat)) < 0.85
    table = PRESETS["published-original"]
    expected = expected_rewards(table, float(is_threat.mean()), accuracies=(0.85,))
    policies = {
        "allow-all": np.full(len(is_threat), ALLOW),
        "block-all": np.full(len(is_threat), BLOCK),
        "perfect, by alerts": np.where(is_threat, ALERT, ALLOW),
        "85 % accurate, by alerts": np.where(is_threat == is_right, ALERT, ALLOW),
        "perfect, by blocks": np.where(is_threat, BLOCK, ALLOW),
        "85 % accurate, by blocks": np.where(is_threat == is_right, BLOCK, ALLOW),
    }
    assert expected.keys() == policies.keys()
    for name, actions in policies.items():
        earned = record_rewards(table, actions, is_threat).mean()
        assert earned == pytest.approx(expected[name], abs=0.02), name


@given(
    gains=st.tuples(*[st.floats(0.1, 20)] * 4),
    restrictive=st.floats(-3, 3),
    action=st.sampled_from([ALERT, BLOCK, QUARANTINE]),
)
def test_optimal_threshold_equals_brute_force(gains, restrictive: float, action: int) -> None:
    table = CostTable(
        true_positive=gains[0],
        true_negative=gains[1],
        false_positive=-gains[2],
        false_negative=-gains[3],
        restrictive=restrictive,
    )
    threshold = optimal_threshold(table, action)
    rewards = table.rewards()
    for prob in np.linspace(0, 1, 201):
        flag, allow = (np.array([1 - prob, prob]) @ rewards[row] for row in (action, ALLOW))
        if abs(flag - allow) > 1e-9:
            assert (prob >= threshold) == (flag > allow)


def test_threshold_of_the_published_table_by_hand() -> None:
    assert optimal_threshold(PRESETS["published"]) == pytest.approx(9 / 29)
    assert optimal_threshold(PRESETS["published"], BLOCK) == pytest.approx(10.5 / 29)


def test_threshold_of_one_sided_tables() -> None:
    assert optimal_threshold(CostTable(false_positive=2)) == 0.0  # a flag never hurts
    assert optimal_threshold(CostTable(true_positive=-11)) == float("inf")  # it never helps


def test_a_table_that_rewards_mistakes_has_no_threshold() -> None:
    with pytest.raises(ConfigError, match=r"alert gains -1 on a threat and 1 on a benign event"):
        optimal_threshold(CostTable(true_positive=-11, false_positive=2))


def test_best_flag_is_restrictive_only_if_that_is_paid_for() -> None:
    assert best_flag(PRESETS["published"]) == ALERT
    assert best_flag(CostTable(restrictive=0)) == ALERT
    assert best_flag(CostTable(restrictive=0.1)) == BLOCK


def test_own_values_replace_those_of_the_preset() -> None:
    assert CostConfig().table() == PRESETS["published"]
    mine = CostConfig(preset="published-original", false_negative=-60.0, team=0.0).table()
    assert mine == PRESETS["published-original"].model_copy(
        update={"false_negative": -60.0, "team": 0.0}
    )


def test_bad_values_are_named() -> None:
    with pytest.raises(ConfigError, match="preset"):
        CostConfig(preset="mine")
    with pytest.raises(ConfigError, match="true_positive"):
        CostTable(true_positive=float("nan"))
    with pytest.raises(ConfigError, match="alert_relief"):
        SessionCosts(alert_relief=1.5)
    with pytest.raises(ConfigError, match="miss"):
        SessionCosts(miss=-1)


def test_a_missing_vote_is_not_an_action() -> None:
    with pytest.raises(ConfigError, match="0 to 3"):
        record_rewards(CostTable(), [-1, 0], [True, False])
    with pytest.raises(ConfigError, match="for each event"):
        record_rewards(CostTable(), [0], [True, False])


def test_team_term_is_agreement_plus_twice_accuracy() -> None:
    votes = [
        [BLOCK, BLOCK, BLOCK, ALLOW],  # 3 agree, 3 right
        [ALERT, BLOCK, QUARANTINE, ALLOW],  # 1 agrees, 3 flag, 1 is right
        [-1, -1, ALLOW, ALLOW],  # who does not vote is not right about a benign event
        [-1, -1, -1, -1],
    ]
    earned = team_rewards(CostTable(team=0.2), votes, [True, False, False, True])
    assert earned == pytest.approx([0.2 * 2.25, 0.2 * 0.75, 0.2 * 1.5, 0.0])


def test_description_of_records_has_rewards_and_both_thresholds() -> None:
    rows = dict(describe_records(PRESETS["published"], 0.089, (0.7,)))
    assert list(rows)[:3] == ["allow-all", "block-all", "perfect, by alerts"]
    assert "70 % accurate, by blocks" in rows
    assert rows["threshold of alert on P(threat)"] == pytest.approx(9 / 29)
    assert rows["threshold of block on P(threat)"] == pytest.approx(10.5 / 29)


def test_context_of_sessions() -> None:
    context = context_of("bbaa", "b", "a")
    assert context.has_begun.tolist() == [False, False, True, True, False, True]
    assert context.is_coming.tolist() == [True, True, False, False, False, False]
    assert context.num_passed.tolist() == [0, 0, 0, 1, 0, 0]
    assert context.is_last.tolist() == [False, False, False, True, True, True]


def test_an_attack_goes_on_after_its_last_labelled_event() -> None:
    context = context_of("bab")
    assert context.has_begun.tolist() == [False, True, True]
    assert context.num_passed.tolist() == [0, 0, 1]


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
        scores = session_rewards(COSTS, np.concatenate(actions), context_of(*sessions))
        alone = [total(list(one), session) for one, session in zip(actions, sessions, strict=True)]
        assert scores.totals == pytest.approx(alone)


def test_events_seen_end_with_the_restrictive_action() -> None:
    actions = [ALLOW, BLOCK, ALLOW, ALERT, ALERT, QUARANTINE]
    scores = session_rewards(COSTS, actions, context_of("bbb", "bb", "a"))
    assert scores.events_seen.tolist() == [2, 2, 1]
    assert scores.is_stopped.tolist() == [True, False, True]
    assert scores.rewards.tolist() == [0, -3, 0, -0.01, -0.01, -1]


def test_rewards_of_steps_taken_one_by_one_are_those_of_whole_sessions() -> None:
    """An environment steps through sessions; baselines are scored on whole ones."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        length = int(rng.integers(1, 9))
        onset = int(rng.integers(0, 2 * length))
        session = "".join("a" if place >= onset else "b" for place in range(length))
        context = context_of(session)
        actions = rng.choice(4, size=length, p=[0.5, 0.3, 0.1, 0.1])
        earned, has_alerted = 0.0, np.array([False])
        for place in range(length):
            one = actions[place : place + 1]
            where = np.array([place])
            earned += step_rewards(COSTS, one, context, events=where, has_alerted=has_alerted)[0]
            has_alerted = alerted_since_onset(one, context, events=where, has_alerted=has_alerted)
            if one[0] >= BLOCK:
                break
        assert earned == pytest.approx(total(list(actions), session))


def test_stop_table_is_the_total_of_stopping_there() -> None:
    sessions = ["bbbb", "bbaaa", "aa", "b", "a"]
    context = context_of(*sessions)
    table = stop_rewards(COSTS, context)
    for number in range(len(sessions)):
        first, end = context.starts[number : number + 2]
        for event in range(first, end):
            for action in range(4):
                actions = np.full(len(table), ALLOW)
                actions[event] = action
                scores = session_rewards(COSTS, actions, context)
                assert table[event, action] == pytest.approx(scores.totals[number])


def test_neither_allowing_all_nor_blocking_at_once_is_good_by_default() -> None:
    """91 % benign, attacks of 15 events that begin after 5, blocked 2 events late."""
    sessions = ["b" * 20] * 91 + ["bbbbb" + "a" * 15] * 9
    context, costs = context_of(*sessions), SessionCosts()
    rows = dict(describe_sessions(costs, context))
    table = stop_rewards(costs, context)
    late = np.where(np.arange(100) < 91, 0.0, table[context.starts[:-1] + 7, BLOCK])
    assert rows["perfect"] == 0.0
    assert rows["block at once"] < rows["allow-all"] < -1
    assert late.mean() > 0.1 * rows["allow-all"]
    alert_once = table[context.starts[:-1] + 5, ALERT].mean()
    assert alert_once < rows["allow-all"]  # of every session alike: not a way out


def test_quarantine_pays_once_enough_has_passed() -> None:
    table = stop_rewards(SessionCosts(), context_of("a" * 12))
    gain = table[:, QUARANTINE] - table[:, BLOCK]
    assert (gain[:4] < 0).all()
    assert gain[4] == pytest.approx(0)
    assert (gain[5:] > 0).all()


def test_description_of_sessions_by_hand() -> None:
    rows = dict(describe_sessions(COSTS, context_of("bb", "ba"), accuracies=(0.75,)))
    assert rows["allow-all"] == pytest.approx(-20.1 / 2)
    assert rows["block at once"] == pytest.approx(-(3 + 23) / 2)
    assert rows["perfect"] == 0.0
    assert rows["75 % accurate"] == pytest.approx(-0.25 * (3 + 20.1) / 2)
    assert rows["allow is best from P(attack), at the last event"] == 0.0


def test_last_chance_thresholds_are_those_of_all_actions_together() -> None:
    costs = SessionCosts()
    threat, benign = (stop_rewards(costs, context_of(one))[0] for one in "ab")
    thresholds = last_chance_thresholds(costs)
    assert [action for action, _ in thresholds] == [ALLOW, ALERT, BLOCK]
    chances = np.linspace(0, 1, 10_001)[1:-1]
    best = (chances[:, None] * threat + (1 - chances)[:, None] * benign).argmax(axis=1)
    starts = [chance for _, chance in thresholds]
    wanted = np.array([action for action, _ in thresholds])
    assert (best == wanted[np.searchsorted(starts, chances, side="right") - 1]).all()


def test_the_best_action_by_chance_of_a_threat() -> None:
    published = PRESETS["published"].rewards()
    assert best_from(published) == [(ALLOW, 0.0), (ALERT, pytest.approx(9 / 29))]
    free = np.zeros((4, 2))
    assert best_from(free) == [(ALLOW, 0.0)]
    through_one_point = np.array([[0, -2.0], [-1, 0], [-2, 2], [-3, 2]])
    assert best_from(through_one_point) == [(ALLOW, 0.0), (BLOCK, pytest.approx(1 / 3))]


def test_running_count_starts_again_with_each_session() -> None:
    sums = running_count(np.array([1, 2, 3, 4, 5]), np.array([0, 3, 4, 5]))
    assert sums.tolist() == [1, 3, 6, 4, 5]
