"""Baselines of sessions: statistics, tuning and the rules that come out."""

from functools import cache

import numpy as np
import pytest

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.assess import stopping
from standing_orders.detect.assess.classifiers import Fitted
from standing_orders.detect.assess.session_metrics import session_metrics
from standing_orders.detect.assess.stopping import (
    Cusum,
    PrefixProbability,
    StoppingRule,
    cusum,
    first_crossings,
    fit_fixed_prefix,
    log_odds,
    prefix_events,
    prefix_for,
    prefix_grid,
    session_baselines,
    tune,
)
from standing_orders.detect.data.events import Events
from standing_orders.detect.session_costs import SessionCosts, session_context, session_rewards
from standing_orders.errors import ConfigError

COSTS = SessionCosts()


def make_events(features: np.ndarray, is_threat: np.ndarray, lengths: list[int]) -> Events:
    return Events(
        features=features.astype(np.float32),
        columns=tuple(f"x{number}" for number in range(features.shape[1])),
        sources=tuple(f"x{number}" for number in range(features.shape[1])),
        is_threat=is_threat,
        attacks=np.where(is_threat, 0, -1),
        attack_names=("attack",),
        starts=np.concatenate([[0], np.cumsum(lengths)]),
    )


def make_sessions(seed: int, num_sessions: int = 250) -> Events:
    """12 to 24 events; from the onset in a fifth of the sessions the mean of x rises by 1.2."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(12, 25, size=num_sessions)
    onsets = np.where(rng.random(num_sessions) < 0.2, rng.integers(0, 8, num_sessions), 99)
    places = np.concatenate([np.arange(length) for length in lengths])
    is_threat = places >= np.repeat(onsets, lengths)
    features = rng.normal(size=(len(places), 2))
    features[:, 0] += 1.2 * is_threat
    return make_events(features, is_threat, list(lengths))


TRAIN, VALIDATION, TEST = (make_sessions(seed) for seed in range(3))


@cache
def fitted(name: str) -> Fitted:
    return session_baselines(COSTS)[name](TRAIN, VALIDATION, 0)


def feature(events: Events) -> np.ndarray:
    return events.features[:, 0].astype(np.float64)


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def test_cusum_by_hand() -> None:
    increments = np.array([1, -3, 2, 2, -1, -5, 4, 0.5])
    assert cusum(increments, np.array([0, 6, 8])).tolist() == [1, 0, 2, 4, 3, 0, 4, 4.5]


def test_log_odds_stay_finite() -> None:
    assert log_odds(np.array([0.5, 0.75])) == pytest.approx([0, np.log(3)])
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()


def test_cusum_statistic_adds_up_evidence_beyond_its_drift() -> None:
    events = make_events(column(0.5, 0.75, 0.75), np.zeros(3, dtype=bool), [3])
    found = Cusum(feature, drift=0.1)(events)
    assert found == pytest.approx([0, np.log(3) - 0.1, 2 * (np.log(3) - 0.1)])


def test_first_crossings_and_actions_of_a_rule() -> None:
    events = make_events(column(1, 5, 7, 2, 3, 5), np.zeros(6, dtype=bool), [3, 2, 1])
    assert first_crossings(feature(events), events.starts, 5).tolist() == [1, 6, 5]
    rule = StoppingRule(feature, 5.0, QUARANTINE, 0.0)
    assert rule.actions(events).tolist() == [ALLOW, QUARANTINE, ALLOW, ALLOW, ALLOW, QUARANTINE]
    assert rule.scores(events).tolist() == [1, 5, 7, 2, 3, 5]
    assert set(StoppingRule(feature, np.inf, BLOCK, 0.0).actions(events)) == {ALLOW}


def test_prefix_decides_at_its_event_and_leaves_shorter_sessions_alone() -> None:
    events = make_events(column(1, 3, 9, 5, 7), np.zeros(5, dtype=bool), [3, 1, 1])
    assert prefix_events(events, 2, is_told_end=False).tolist() == [1]
    assert prefix_events(events, 3, is_told_end=False).tolist() == [2]
    statistic = PrefixProbability(lambda rows: rows[:, 1].astype(np.float64), 2)  # the mean
    assert statistic(events).tolist() == [0, 2, 2, 0, 0]
    assert PrefixProbability(statistic.probability, 4)(events).tolist() == [0] * 5


def test_prefix_told_the_end_judges_shorter_sessions_there() -> None:
    events = make_events(column(1, 3, 9, 5, 7), np.zeros(5, dtype=bool), [3, 1, 1])
    assert prefix_events(events, 2, is_told_end=True).tolist() == [1, 3, 4]
    statistic = PrefixProbability(lambda rows: rows[:, 1].astype(np.float64), 2, is_told_end=True)
    assert statistic(events).tolist() == [0, 2, 2, 5, 7]


def test_being_told_the_end_is_worth_something() -> None:
    told = fit_fixed_prefix(TRAIN, VALIDATION, 0, costs=COSTS, mean_events=15.0, is_told_end=True)
    blind = fit_fixed_prefix(TRAIN, VALIDATION, 0, costs=COSTS, mean_events=15.0)
    assert told.validation_cost < blind.validation_cost
    best = fitted("fixed prefix, told the end")
    assert isinstance(best, StoppingRule)
    assert best.validation_cost <= told.validation_cost


def test_statistics_do_not_see_the_future() -> None:
    rng = np.random.default_rng(1)
    changed = TEST.features.copy()
    later = TEST.sessions.place > 5
    changed[later] = rng.normal(size=(int(later.sum()), 2))
    other = make_events(changed, TEST.is_threat, list(TEST.lengths))
    cut = make_events(TEST.features[~later], TEST.is_threat[~later], [6] * TEST.num_sessions)
    for name in (
        "logistic regression", "event boosting", "history boosting", "sequential test",
        "fixed prefix",
    ):  # fmt: skip
        rule = fitted(name)
        assert np.array_equal(rule.scores(TEST)[~later], rule.scores(other)[~later])
        assert np.array_equal(rule.scores(TEST)[~later], rule.scores(cut))


def test_tuning_finds_threshold_and_action_with_the_lowest_cost() -> None:
    """Attacks score 3 at their onset and benign sessions up to 2: a block at 3 costs nothing."""
    features = column(0, 0, 0, 2, 0, 3, 3, 1)
    is_threat = np.array([0, 0, 0, 0, 0, 1, 1, 0], dtype=bool)
    events = make_events(features, is_threat, [2, 2, 3, 1])
    rule = tune(feature, events, COSTS)
    assert (rule.threshold, rule.action, rule.validation_cost) == (3.0, BLOCK, 0.0)


def test_of_thresholds_that_cost_the_same_the_highest_is_taken() -> None:
    events = make_events(column(3, 2, 0), np.array([True, True, False]), [2, 1])
    assert tune(feature, events, COSTS).threshold == 3.0


def test_tuning_prefers_quarantine_or_alert_where_they_are_cheaper() -> None:
    late = make_events(column(*[0] * 9, 1, 0), np.array([True] * 10 + [False]), [10, 1])
    rule = tune(feature, late, COSTS)
    assert (rule.threshold, rule.action) == (1.0, QUARANTINE)
    assert rule.validation_cost == pytest.approx((9 * 0.2 + 1) / 2)
    dear = SessionCosts(false_block=1000)
    mixed = make_events(column(1, 1, 0), np.array([True, False, False]), [1, 1, 1])
    rule = tune(feature, mixed, dear)
    assert (rule.threshold, rule.action) == (1.0, ALERT)
    assert rule.validation_cost == pytest.approx((0.5 + 0.2 + 7 + 0.5) / 3)


def test_tuning_leaves_sessions_alone_if_nothing_helps() -> None:
    benign = make_events(column(1, 2, 3), np.zeros(3, dtype=bool), [1, 2])
    rule = tune(feature, benign, COSTS)
    assert (rule.threshold, rule.validation_cost) == (np.inf, 0.0)
    assert set(rule.actions(benign)) == {ALLOW}


def test_validation_cost_is_what_the_rule_costs_there() -> None:
    """One implementation: tuning by look-up and scoring of actions agree."""
    context = session_context(VALIDATION.is_threat, VALIDATION.starts)
    for name in session_baselines(COSTS):
        rule = fitted(name)
        if isinstance(rule, StoppingRule):
            earned = session_rewards(COSTS, rule.actions(VALIDATION), context).totals.mean()
            assert -earned == pytest.approx(rule.validation_cost), name


def test_baselines_beat_doing_nothing_and_evidence_adds_up() -> None:
    cost = {
        name: session_metrics(TEST, fitted(name).actions(TEST), COSTS).mean_cost
        for name in session_baselines(COSTS)
    }
    assert cost["allow-all"] < cost["block-all"]
    for name in ("logistic regression", "history boosting", "sequential test", "fixed prefix"):
        assert cost[name] < 0.8 * cost["allow-all"], name
    assert cost["sequential test"] < cost["event boosting"]


def test_baselines_share_their_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    original = stopping.boosted_probability
    monkeypatch.setattr(
        stopping,
        "boosted_probability",
        lambda *args, **kwargs: fits.append(1) or original(*args, **kwargs),
    )
    baselines = session_baselines(COSTS)
    for name in ("event boosting", "history boosting", "sequential test"):
        baselines[name](TRAIN, VALIDATION, 0)
    assert len(fits) == 2
    baselines["event boosting"](TRAIN, VALIDATION, 1)
    assert len(fits) == 3


def test_prefix_grid_grows_to_the_longest_session() -> None:
    assert prefix_grid(np.array([1, 1])) == (1,)
    assert prefix_grid(np.array([3, 20])) == (1, 2, 3, 4, 6, 9, 13, 19, 20)


def test_prefix_for_a_mean_number_of_events() -> None:
    lengths = np.array([2, 4, 6])  # means of min(k, length): 1, 2, 8/3, 10/3, 11/3, 4
    wanted = {1.0: 1, 1.4: 1, 1.6: 2, 2.6: 3, 3.4: 4, 4.0: 6, 99.0: 6}
    assert {mean: prefix_for(lengths, mean) for mean in wanted} == wanted
    with pytest.raises(ConfigError, match="at least 1"):
        prefix_for(lengths, 0.5)
    with pytest.raises(ConfigError, match="at least 1"):
        prefix_for(lengths, float("nan"))


def test_fixed_prefix_at_a_given_mean_number_of_events() -> None:
    rule = fit_fixed_prefix(TRAIN, VALIDATION, 0, costs=COSTS, mean_events=8.0)
    actions = rule.actions(TEST)
    assert set(TEST.sessions.place[actions != ALLOW]) == {7}
    best = fitted("fixed prefix")
    assert isinstance(best, StoppingRule)
    assert best.validation_cost <= rule.validation_cost + 0.05


def test_prefix_too_short_to_show_anything_leaves_sessions_alone() -> None:
    features = np.zeros((40, 1))
    is_threat = np.tile([False, True], 20)
    events = make_events(features, is_threat, [2] * 20)
    cheap = SessionCosts(miss=0.1, delay=0.0)
    rule = fit_fixed_prefix(events, events, 0, costs=cheap, mean_events=1.0)
    assert set(rule.actions(events)) == {ALLOW}
