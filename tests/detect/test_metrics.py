"""Metrics of records and sessions against scikit-learn and numbers worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, roc_curve

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.costs import (
    CostConfig,
    Game,
    SessionCosts,
    play,
    record_game,
    session_game,
)
from standing_orders.detect.data.events import Events, Sessions
from standing_orders.detect.metrics import (
    Alarms,
    Confusion,
    Figures,
    action_shares,
    at_false_alarms,
    calibration_figures,
    collapse_of,
    count_decisions,
    delay_curve,
    find_alarms,
    recall_by_attack,
    record_figures,
    session_figures,
    sweep,
    unseen_recall,
)
from standing_orders.errors import ConfigError, NumericsError

REWARDS = CostConfig().rewards()
# (score, is_threat) with many ties and both classes
SCORED = st.lists(
    st.tuples(st.integers(0, 6).map(lambda value: value / 4), st.booleans()), min_size=2
).filter(lambda pairs: len({is_threat for _, is_threat in pairs}) == 2)


def split(pairs) -> tuple[np.ndarray, np.ndarray]:
    scores, is_threat = zip(*pairs, strict=True)
    return np.array(scores), np.array(is_threat)


@given(SCORED)
def test_pr_auc_equals_scikit_learn_ties_included(pairs) -> None:
    scores, is_threat = split(pairs)
    assert sweep(scores, is_threat).pr_auc == pytest.approx(
        average_precision_score(is_threat, scores)
    )


@given(SCORED, st.floats(0, 1))
def test_points_of_the_roc_curve_equal_scikit_learn(pairs, level: float) -> None:
    scores, is_threat = split(pairs)
    fpr, tpr, _ = roc_curve(is_threat, scores, drop_intermediate=False)
    assert sweep(scores, is_threat).recall_at_fpr(level) == pytest.approx(tpr[fpr <= level].max())
    assert sweep(scores, is_threat).fpr_at_recall(level) == pytest.approx(fpr[tpr >= level].min())


@settings(deadline=None)  # a busy machine is no fault
@given(SCORED)
def test_best_f1_threshold_is_best(pairs) -> None:
    scores, is_threat = split(pairs)
    threshold = sweep(scores, is_threat).best_f1_threshold()
    every = [f1_score(is_threat, scores >= one, zero_division=0) for one in np.unique(scores)]
    assert count_decisions(scores >= threshold, is_threat).f1 == pytest.approx(max(every))


@given(SCORED, st.integers(0, 2**31))
def test_order_of_events_does_not_matter(pairs, seed: int) -> None:
    scores, is_threat = split(pairs)
    order = np.random.default_rng(seed).permutation(len(scores))
    assert sweep(scores[order], is_threat[order]).pr_auc == pytest.approx(
        sweep(scores, is_threat).pr_auc
    )


def test_constant_scores_get_the_prevalence() -> None:
    is_threat = np.arange(50) < 5
    assert sweep(np.zeros(50), is_threat).pr_auc == pytest.approx(0.1)
    assert sweep(np.zeros(50), is_threat).recall_at_fpr() == 0.0
    assert sweep(np.zeros(50), is_threat).fpr_at_recall() == 1.0


def test_levels_are_met_exactly() -> None:
    """7 of 700 benign events are 1 %, though 0.01 * 700 is not 7 to a computer."""
    scores = np.concatenate([np.linspace(2, 3, 7), [1.0], np.zeros(693)])
    is_threat = np.arange(701) == 7
    assert sweep(scores, is_threat).recall_at_fpr(0.01) == 1.0
    assert sweep(scores, is_threat).recall_at_fpr(0.0099) == 0.0
    scores, is_threat = np.arange(40)[::-1], np.arange(40) != 18  # found after 18 of 39 threats
    assert sweep(scores, is_threat).fpr_at_recall(18 / 39) == 0.0
    assert sweep(scores, is_threat).fpr_at_recall(19 / 39) == 1.0


def test_without_threats_or_benign_events_figures_are_not_numbers() -> None:
    scores = np.array([0.2, 0.7])
    none, every = np.array([False, False]), np.array([True, True])
    assert math.isnan(sweep(scores, none).pr_auc)
    assert sweep(scores, every).pr_auc == 1.0
    for is_threat in (none, every):
        assert math.isnan(sweep(scores, is_threat).recall_at_fpr())
        assert math.isnan(sweep(scores, is_threat).fpr_at_recall())
    assert math.isnan(count_decisions(scores > 0.5, none).recall)
    assert count_decisions(scores > 0.5, none).f1 == 0.0
    assert math.isnan(count_decisions(scores > 0.9, none).f1)
    assert math.isnan(count_decisions(scores > 0.9, none).precision)
    assert math.isnan(count_decisions(scores > 0.5, every).alarms_per_1000_benign)
    with pytest.raises(ConfigError, match="none there"):
        sweep(scores, none).best_f1_threshold()


def test_no_events_at_all() -> None:
    points = sweep([], [])
    assert points.thresholds.tolist() == [np.inf]
    assert math.isnan(sweep([], []).pr_auc)
    assert math.isnan(points.best_cost(REWARDS))


def test_sweep_puts_equal_scores_together() -> None:
    points = sweep([0.5, 0.9, 0.5, 0.1], [True, True, False, False])
    assert points.thresholds.tolist() == [np.inf, 0.9, 0.5, 0.1]
    assert points.true_positives.tolist() == [0, 1, 2, 2]
    assert points.false_positives.tolist() == [0, 0, 1, 2]


def test_scores_must_be_finite_and_fit() -> None:
    with pytest.raises(NumericsError, match="finite"):
        sweep([0.1, np.nan], [True, False])
    with pytest.raises(ConfigError, match=r"shape \(3,\) does not fit \(2,\)"):
        sweep([0.1, 0.2, 0.3], [True, False])


def test_confusion_by_hand() -> None:
    counts = count_decisions([1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 1, 0, 0, 0])
    assert counts == Confusion(2, 1, 3, 1)
    assert counts.recall == counts.precision == counts.f1 == pytest.approx(2 / 3)
    assert counts.false_positive_rate == 0.25
    assert counts.alarms_per_1000_benign == 250


def test_metrics_are_over_all_steps_not_the_last_few() -> None:
    """Published defect: figures of the last 100 steps were reported as those of the run."""
    rng = np.random.default_rng(0)
    is_threat = rng.random(5_000) < 0.2
    flagged = ~is_threat  # always wrong ...
    flagged[-100:] = is_threat[-100:]  # ... but for the end
    whole = count_decisions(flagged, is_threat)
    assert whole.f1 < 0.02
    assert count_decisions(flagged[-100:], is_threat[-100:]).f1 == 1.0
    with pytest.raises(ConfigError, match="over all events"):
        count_decisions(flagged[-100:], is_threat)


def test_best_cost_by_hand() -> None:
    points = sweep([0.9, 0.6, 0.4, 0.1], [True, False, True, False])
    # alerting from 0.4 on: 10 - 8 + 10 + 1; from 0.9 on: 10 + 1 - 10 + 1
    assert points.best_cost(REWARDS) == pytest.approx(-13 / 4)


@given(SCORED)
def test_best_cost_is_that_of_the_best_threshold(pairs) -> None:
    scores, is_threat = split(pairs)
    for table, flag in ((REWARDS, ALERT), (CostConfig(restrictive=1).rewards(), BLOCK)):
        game = record_game(is_threat, table)
        every = [
            -play(game, np.where(scores >= one, flag, ALLOW)).rewards.mean()
            for one in [*np.unique(scores), np.inf]
        ]
        assert sweep(scores, is_threat).best_cost(table) == pytest.approx(min(every))


def test_recall_by_attack_most_frequent_first() -> None:
    attacks = np.array([-1, 2, 2, 2, 0, -1, 0])
    flagged = np.array([1, 1, 0, 1, 0, 0, 1])
    recalls = recall_by_attack(flagged, attacks, ("probe", "absent", "worm"), seen=[0, 1])
    assert [(one["attack"], one["count"], one["is_unseen"]) for one in recalls] == [
        ("worm", 3, True),
        ("probe", 2, False),
    ]
    assert [one["recall"] for one in recalls] == pytest.approx([2 / 3, 1 / 2])
    assert unseen_recall(recalls) == pytest.approx(2 / 3)
    assert math.isnan(unseen_recall(recalls[1:]))


def test_unseen_recall_weighs_attacks_by_their_events() -> None:
    attacks = np.array([0, 1, 1, 1])
    recalls = recall_by_attack([1, 0, 0, 0], attacks, ("a", "b"), seen=[])
    assert unseen_recall(recalls) == 0.25


def test_figures_of_records_put_it_all_together() -> None:
    attacks = np.array([0, -1, 1, -1])
    events = Events(
        features=np.zeros((4, 1), dtype=np.float32),
        columns=("x",),
        sources=("x",),
        attacks=attacks,
        attack_names=("old", "new"),
        starts=np.arange(5),
    )
    found = record_figures(
        events,
        np.array([0.9, 0.6, 0.4, 0.1]),
        np.array([BLOCK, ALERT, ALLOW, ALLOW]),
        record_game(events.is_threat, REWARDS),
        rewards=REWARDS,
        f1_threshold=0.4,
        seen=[0],
    )
    assert (found["num_events"], found["prevalence"]) == (4, 0.5)
    assert found["pr_auc"] == pytest.approx(5 / 6)
    assert (found["f1_at_threshold"], found["f1_threshold"]) == (0.8, 0.4)  # of the scores
    assert (found["f1"], found["recall"], found["precision"]) == (0.5, 0.5, 0.5)  # of the actions
    assert (found["recall_at_1_percent_fpr"], found["fpr_at_95_percent_recall"]) == (0.5, 0.5)
    assert found["cost"] == pytest.approx(-(8.5 - 8 - 10 + 1) / 4)
    assert found["cost_gap"] == pytest.approx(found["cost"] + 13 / 4)
    assert found["alarms_per_1000_benign"] == 500
    assert found["unseen_recall"] == 0.0


# ------------------------------------------------------------------------------------ sessions
COSTS = SessionCosts(
    alert=0.01, delay=0.1, false_block=3, quarantine=1, aftermath=0.7, miss=20, alert_relief=0.25
)
SESSIONS = ("bbb", "bb", "baaa", "aa", "bba")


def events_of(*sessions: str) -> Events:
    """Sessions written as one letter an event: b = benign, a = attack."""
    is_threat = np.array([letter == "a" for session in sessions for letter in session])
    return Events(
        features=np.zeros((len(is_threat), 1), dtype=np.float32),
        columns=("x",),
        sources=("x",),
        attacks=np.where(is_threat, 0, -1),
        attack_names=("attack",),
        starts=np.concatenate([[0], np.cumsum([len(session) for session in sessions])]),
    )


def game_of(*sessions: str) -> Game:
    is_threat = np.array([letter == "a" for session in sessions for letter in session])
    return session_game(is_threat, Sessions.of_lengths(list(map(len, sessions))), COSTS)


def figures_of(events: Events, actions: list[int], seen: list[int] | None = None) -> Figures:
    """With a score that knows nothing."""
    game = session_game(events.is_threat, events.sessions, COSTS)
    scores = np.zeros(events.num_events)
    return session_figures(events, scores, np.array(actions), game, seen=seen or [])


ACTIONS = [
    *(ALLOW, ALERT, BLOCK),  # false alarm, false block
    *(ALLOW, ALLOW),
    *(ALERT, ALLOW, ALERT, ALLOW),  # false alarm before the onset, then one attack event late
    *(ALLOW, ALLOW),  # missed
    *(QUARANTINE, ALERT, BLOCK),  # ended before the onset: what follows does not count
]
SCORES = np.array([*(0, 0.5, 0.2), *(0, 0), *(0.6, 0.1, 0.7, 0), *(0, 0.5)])  # of the first four


def test_alarms_by_hand() -> None:
    game = game_of(*SESSIONS)
    is_open = play(game, ACTIONS).is_open
    alarms = find_alarms((np.array(ACTIONS) != ALLOW) & is_open, game)
    assert alarms.has_attack.tolist() == [False, False, True, True, True]
    assert alarms.has_false_alarm.tolist() == [True, False, True, False, True]
    assert alarms.is_detected.tolist() == [False, False, True, False, False]
    assert alarms.delays.tolist() == [0, 0, 1, 2, 1]
    assert alarms.false_alarm_rate == 0.5  # of benign sessions
    assert alarms.detection_rate == pytest.approx(1 / 3)
    assert alarms.mean_delay == pytest.approx(4 / 3)


def test_figures_of_sessions_by_hand() -> None:
    found = figures_of(events_of(*SESSIONS), ACTIONS)
    costs = [0.01 + 3, 0, 0.01 + 0.3 + 0.01 + 15, 0.2 + 20, 1]
    assert found["mean_cost"] == pytest.approx(sum(costs) / 5)
    assert found["mean_events_seen"] == pytest.approx((3 + 2 + 4 + 2 + 1) / 5)
    assert found["mean_attack_events_seen"] == pytest.approx(7 / 3)
    assert (found["num_sessions"], found["prevalence"]) == (5, 0.6)
    assert found["early_stop_rate"] == pytest.approx(1 / 3)
    # 7 events seen, none under way
    assert found["false_alarms_per_1000"] == pytest.approx(4000 / 7)
    assert (found["false_alarm_rate"], found["detection_rate"]) == (0.5, pytest.approx(1 / 3))
    assert found["mean_delay"] == pytest.approx(4 / 3)
    assert found["pr_auc_event"] == found["prevalence_event"] == pytest.approx(6 / 14)


def test_detection_by_attack_is_that_of_open_sessions() -> None:
    events = events_of(*SESSIONS, "ba", "ab")
    events = replace(
        events,
        attacks=np.array([-1] * 5 + [-1, 1, 1, 1, 0, 1, -1, -1, 2, -1, 0, 0, -1]),
        attack_names=("worm", "probe", "late", "absent"),
    )
    found = figures_of(events, [*ACTIONS, ALLOW, ALERT, BLOCK, ALLOW], seen=[0, 3])
    # A session is of the attack that comes first; the one that was ended before it detects nothing.
    named = ("attack", "count", "recall", "is_unseen")
    assert [tuple(one[name] for name in named) for one in found["attacks"]] == [
        ("worm", 3, pytest.approx(2 / 3), False),
        ("probe", 1, 1.0, True),
        ("late", 1, 0.0, True),
    ]
    assert found["unseen_detection"] == 0.5


def test_no_attacks_or_nothing_else_leaves_figures_that_are_not_numbers() -> None:
    benign = figures_of(events_of("bb", "b"), [ALLOW] * 3)
    assert math.isnan(benign["detection_rate"])
    assert math.isnan(benign["mean_delay"])
    assert (benign["false_alarm_rate"], benign["mean_cost"]) == (0.0, 0.0)
    attacks = figures_of(events_of("aa"), [BLOCK, ALLOW])
    assert math.isnan(attacks["false_alarm_rate"])
    assert math.isnan(attacks["false_alarms_per_1000"])
    assert (attacks["detection_rate"], attacks["mean_delay"]) == (1.0, 0.0)


def test_every_event_counts_once() -> None:
    with pytest.raises(ConfigError, match="for each event"):
        figures_of(events_of("bb", "b"), [ALLOW] * 2)
    with pytest.raises(ConfigError, match="over all events"):
        delay_curve(np.zeros(2), game_of("bb", "b"))
    with pytest.raises(NumericsError, match="finite"):
        delay_curve(np.array([0.0, np.inf, 0.0]), game_of("bb", "b"))


def rates(curve: list[tuple[float, Alarms]], name: str) -> list[float]:
    return [getattr(alarms, name) for _, alarms in curve]


def test_delay_curve_by_hand() -> None:
    curve = delay_curve(SCORES, game_of(*SESSIONS[:4]))
    assert [threshold for threshold, _ in curve] == [np.inf, 0.7, 0.5, 0]
    assert rates(curve, "false_alarm_rate") == [0, 0, 0.5, 1]
    assert rates(curve, "detection_rate") == [0, 0.5, 1, 1]
    assert rates(curve, "mean_delay") == [2.5, 1.5, 1, 0]


def test_operating_point_is_the_shortest_delay_within_the_false_alarms() -> None:
    curve = delay_curve(SCORES, game_of(*SESSIONS[:4]))
    (strict, few), (loose, more) = at_false_alarms(curve), at_false_alarms(curve, 0.5)
    assert (strict, few.mean_delay, few.detection_rate) == (0.7, 1.5, 0.5)
    assert (loose, more.mean_delay, more.false_alarm_rate) == (0.5, 1.0, 0.5)


def test_constant_scores_have_a_curve_of_two_points() -> None:
    curve = delay_curve(np.zeros(3), game_of("bb", "a"))
    assert rates(curve, "false_alarm_rate") == [0, 1]
    assert rates(curve, "mean_delay") == [1, 0]


def test_curve_without_benign_sessions_has_no_false_alarm_rates() -> None:
    curve = delay_curve(np.arange(2.0), game_of("aa"))
    assert np.isnan(rates(curve, "false_alarm_rate")).all()
    assert at_false_alarms(curve)[0] == np.inf


def test_curve_of_many_sessions_is_monotone_and_has_as_many_points_as_asked() -> None:
    rng = np.random.default_rng(0)
    game = game_of(*["bbbb"] * 300, *["bbaa"] * 300)
    curve = delay_curve(rng.random(2_400), game, num_points=21)
    assert len(curve) == 22
    assert (np.diff([threshold for threshold, _ in curve]) < 0).all()
    assert (np.diff(rates(curve, "false_alarm_rate")) >= 0).all()
    assert (np.diff(rates(curve, "mean_delay")) <= 0).all()


def test_decisions_that_are_nearly_all_the_same_are_called_a_collapse() -> None:
    everything = action_shares(np.full(100, 2))
    assert "100.0 % of all decisions are block" in (collapse_of(everything, 1.0) or "")
    nothing = action_shares(np.zeros(100, dtype=np.int64))
    assert "0 % of the threats are flagged" in (collapse_of(nothing, 0.0) or "")
    assert collapse_of(nothing, None) is not None
    rare = action_shares(np.array([0] * 97 + [1] * 3))
    assert collapse_of(rare, 0.9) is None  # threats are as rare as that
    assert collapse_of(action_shares(np.array([0] * 95 + [1] * 5)), 0.0) is None


def test_the_curve_of_precision_and_recall_rises_to_all_threats() -> None:
    rng = np.random.default_rng(0)
    is_threat = rng.random(2_000) < 0.2
    found = sweep(rng.normal(size=2_000) + is_threat, is_threat)
    curve = found.curve()
    assert curve["recall"] == sorted(curve["recall"])
    assert curve["recall"][-1] == 1
    area = np.sum(np.diff(curve["recall"], prepend=0) * curve["precision"])
    assert area == pytest.approx(found.pr_auc, abs=0.02)
    assert sweep(np.zeros(3), np.zeros(3, dtype=bool)).curve() == {"recall": [], "precision": []}


def test_calibration_figures_by_hand() -> None:
    is_threat = np.arange(100) % 4 == 0
    honest = calibration_figures(np.full(100, 0.25), is_threat)
    assert honest["brier"] == pytest.approx(0.25 * 0.75)
    assert honest["calibration_error"] < 0.06  # bins of ten hold two or three threats
    boastful = calibration_figures(np.full(100, 0.75), is_threat)
    assert boastful["calibration_error"] == pytest.approx(0.5, abs=0.06)
