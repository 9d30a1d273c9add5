"""Metrics of sessions, against numbers worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.assess.session_metrics import (
    delay_curve,
    detection_by_attack,
    find_alarms,
    session_metrics,
)
from standing_orders.detect.data.events import Events
from standing_orders.detect.session_costs import SessionCosts, session_context
from standing_orders.errors import ConfigError, NumericsError

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
        is_threat=is_threat,
        attacks=np.where(is_threat, 0, -1),
        attack_names=("attack",),
        starts=np.concatenate([[0], np.cumsum([len(session) for session in sessions])]),
    )


def context_of(*sessions: str):
    events = events_of(*sessions)
    return session_context(events.is_threat, events.starts)


ACTIONS = [
    *(ALLOW, ALERT, BLOCK),  # false alarm, false block
    *(ALLOW, ALLOW),
    *(ALERT, ALLOW, ALERT, ALLOW),  # false alarm before the onset, then one attack event late
    *(ALLOW, ALLOW),  # missed
    *(QUARANTINE, ALERT, BLOCK),  # ended before the onset: what follows does not count
]
SCORES = [*(0, 0.5, 0.2), *(0, 0), *(0.6, 0.1, 0.7, 0), *(0, 0.5)]  # of the first four


def test_alarms_by_hand() -> None:
    alarms = find_alarms(ACTIONS, context_of(*SESSIONS))
    assert alarms.has_attack.tolist() == [False, False, True, True, True]
    assert alarms.has_false_alarm.tolist() == [True, False, True, False, True]
    assert alarms.is_detected.tolist() == [False, False, True, False, False]
    assert alarms.delays.tolist() == [0, 0, 1, 2, 1]
    assert alarms.false_alarm_rate == 0.5  # of benign sessions
    assert alarms.detection_rate == pytest.approx(1 / 3)
    assert alarms.mean_delay == pytest.approx(4 / 3)


def test_session_metrics_by_hand() -> None:
    found = session_metrics(events_of(*SESSIONS), ACTIONS, COSTS)
    costs = [0.01 + 3, 0, 0.01 + 0.3 + 0.01 + 15, 0.2 + 20, 1]
    assert found.costs == pytest.approx(costs)
    assert found.mean_cost == pytest.approx(sum(costs) / 5)
    assert found.events_seen.tolist() == [3, 2, 4, 2, 1]
    assert found.mean_events_seen == pytest.approx(12 / 5)
    assert found.mean_attack_events_seen == pytest.approx(7 / 3)
    assert (found.num_sessions, found.prevalence) == (5, 0.6)
    assert found.early_stop_rate == pytest.approx(1 / 3)
    assert found.false_alarms_per_1000 == pytest.approx(4000 / 7)  # 7 events seen, none under way
    assert (found.false_alarm_rate, found.detection_rate) == (0.5, pytest.approx(1 / 3))
    assert found.mean_delay == pytest.approx(4 / 3)


def test_detection_by_attack_is_that_of_open_sessions() -> None:
    events = events_of(*SESSIONS, "ba", "ab")
    events = replace(
        events,
        attacks=np.array([-1] * 5 + [-1, 1, 1, 1, 0, 1, -1, -1, 2, -1, 0, 0, -1]),
        attack_names=("worm", "probe", "late", "absent"),
    )
    found = detection_by_attack(events, [*ACTIONS, ALLOW, ALERT, BLOCK, ALLOW], seen=[0, 3])
    # A session is of the attack that comes first; the one that was ended before it detects nothing.
    assert [(one.attack, one.count, one.recall, one.is_unseen) for one in found] == [
        ("worm", 3, pytest.approx(2 / 3), False),
        ("probe", 1, 1.0, True),
        ("late", 1, 0.0, True),
    ]


def test_no_attacks_or_nothing_else_leaves_figures_that_are_not_numbers() -> None:
    benign = session_metrics(events_of("bb", "b"), [ALLOW] * 3, COSTS)
    assert math.isnan(benign.detection_rate)
    assert math.isnan(benign.mean_delay)
    assert (benign.false_alarm_rate, benign.mean_cost) == (0.0, 0.0)
    attacks = session_metrics(events_of("aa"), [BLOCK, ALLOW], COSTS)
    assert math.isnan(attacks.false_alarm_rate)
    assert math.isnan(attacks.false_alarms_per_1000)
    assert (attacks.detection_rate, attacks.mean_delay) == (1.0, 0.0)


def test_every_event_counts_once() -> None:
    with pytest.raises(ConfigError, match="one an event"):
        session_metrics(events_of("bb", "b"), [ALLOW] * 2, COSTS)
    with pytest.raises(ConfigError, match="one an event"):
        delay_curve(np.zeros(2), context_of("bb", "b"))
    with pytest.raises(NumericsError, match="finite"):
        delay_curve([0.0, np.inf, 0.0], context_of("bb", "b"))


def test_delay_curve_by_hand() -> None:
    curve = delay_curve(SCORES, context_of(*SESSIONS[:4]))
    assert curve.thresholds.tolist() == [np.inf, 0.7, 0.5, 0]
    assert curve.false_alarm_rates.tolist() == [0, 0, 0.5, 1]
    assert curve.detection_rates.tolist() == [0, 0.5, 1, 1]
    assert curve.mean_delays.tolist() == [2.5, 1.5, 1, 0]


def test_operating_point_is_the_shortest_delay_within_the_false_alarms() -> None:
    curve = delay_curve(SCORES, context_of(*SESSIONS[:4]))
    strict, loose = curve.at_false_alarms(), curve.at_false_alarms(0.5)
    assert (strict.threshold, strict.mean_delay, strict.detection_rate) == (0.7, 1.5, 0.5)
    assert (loose.threshold, loose.mean_delay, loose.false_alarm_rate) == (0.5, 1.0, 0.5)


def test_constant_scores_have_a_curve_of_two_points() -> None:
    curve = delay_curve(np.zeros(3), context_of("bb", "a"))
    assert curve.false_alarm_rates.tolist() == [0, 1]
    assert curve.mean_delays.tolist() == [1, 0]


def test_curve_without_benign_sessions_has_no_false_alarm_rates() -> None:
    curve = delay_curve(np.arange(2), context_of("aa"))
    assert np.isnan(curve.false_alarm_rates).all()
    assert curve.at_false_alarms().threshold == np.inf


def test_curve_of_many_sessions_is_monotone_and_has_as_many_points_as_asked() -> None:
    rng = np.random.default_rng(0)
    context = context_of(*["bbbb"] * 300, *["bbaa"] * 300)
    curve = delay_curve(rng.random(2_400), context, num_points=21)
    assert len(curve.thresholds) == 22
    assert (np.diff(curve.thresholds) < 0).all()
    assert (np.diff(curve.false_alarm_rates) >= 0).all()
    assert (np.diff(curve.mean_delays) <= 0).all()
