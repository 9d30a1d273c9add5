"""Baselines of records and sessions: what they fit, where they act, what they refuse."""

from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss as reference_log_loss

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK, QUARANTINE
from standing_orders.detect.assess import baselines as module
from standing_orders.detect.assess.baselines import (
    Baselines,
    StoppingRule,
    _of_cusum,
    _of_prefix,
    boosted_probability,
    cusum,
    first_crossings,
    log_odds,
    prefix_events,
    prefix_for,
    prefix_grid,
    tune,
)
from standing_orders.detect.config import DetectConfig
from standing_orders.detect.costs import (
    CostConfig,
    SessionCosts,
    optimal_threshold,
    play,
    record_game,
    session_game,
)
from standing_orders.detect.data.events import DataSet, Events, Sessions
from standing_orders.detect.metrics import sweep
from standing_orders.detect.trees import boost as fit
from standing_orders.detect.trees import log_loss
from standing_orders.errors import ConfigError, DataError

REWARDS = CostConfig().rewards()
COSTS = SessionCosts()


def make_events(features: np.ndarray, is_threat: np.ndarray, lengths: list[int]) -> Events:
    return Events(
        features=features.astype(np.float32),
        columns=tuple(f"x{number}" for number in range(features.shape[1])),
        sources=tuple(f"x{number}" for number in range(features.shape[1])),
        attacks=np.where(is_threat, 0, -1),
        attack_names=("attack",),
        starts=np.concatenate([[0], np.cumsum(lengths)]),
    )


def make_records(seed: int, num_events: int = 1_500) -> Events:
    """Threats where x is high (log-odds 2 x - 2.5); y is noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(num_events, 2)).astype(np.float32)
    is_threat = rng.random(num_events) < 1 / (1 + np.exp(2.5 - 2 * features[:, 0]))
    return make_events(features, is_threat, [1] * num_events)


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


RECORDS = DataSet("records", "records", *(make_records(seed) for seed in range(3)), {})
SESSIONS = DataSet("sessions", "sessions", *(make_sessions(seed) for seed in range(3)), {})


@cache
def fitted(name: str, task: str = "sessions") -> StoppingRule:
    return Baselines(RECORDS if task == "records" else SESSIONS, DetectConfig()).fit(name)


def feature(events: Events) -> np.ndarray:
    return events.features[:, 0].astype(np.float64)


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def tuned(events: Events, costs: SessionCosts = COSTS) -> StoppingRule:
    game = session_game(events.is_threat, events.sessions, costs)
    return tune(feature, feature(events), game)


# ------------------------------------------------------------------------------------- records
def test_baselines_of_records_give_scores_and_actions() -> None:
    names = Baselines(RECORDS, DetectConfig()).names
    assert names == ("allow-all", "block-all", "logistic regression", "gradient boosting")
    earned = {}
    for name in names:
        found = fitted(name, "records").judge(RECORDS.test)
        assert found.scores.shape == found.actions.shape == (RECORDS.test.num_events,)
        assert ((found.scores >= 0) & (found.scores <= 1)).all()
        game = record_game(RECORDS.test.is_threat, REWARDS)
        earned[name] = play(game, found.actions).rewards.mean()
    assert earned["block-all"] < earned["allow-all"] < earned["gradient boosting"]
    assert earned["allow-all"] < earned["logistic regression"]


@pytest.mark.parametrize(
    ("name", "action", "score"), [("allow-all", ALLOW, 0), ("block-all", BLOCK, 1)]
)
def test_constants_do_one_thing(name: str, action: int, score: float) -> None:
    found = fitted(name, "records").judge(RECORDS.test)
    assert set(found.actions) == {action}
    assert set(found.scores) == {score}


def test_classifiers_flag_at_the_optimal_threshold_with_the_better_flag() -> None:
    for name in ("logistic regression", "gradient boosting"):
        rule = fitted(name, "records")
        assert (rule.threshold, rule.action) == (optimal_threshold(REWARDS), ALERT)
    paid = CostConfig(restrictive=1.0)
    rule = Baselines(RECORDS, DetectConfig(costs=paid)).fit("logistic regression")
    wanted = optimal_threshold(paid.rewards(), BLOCK)
    assert (rule.threshold, rule.action) == (wanted, BLOCK)


def test_classifiers_learn_what_can_be_learned() -> None:
    test = RECORDS.test
    best = sweep(test.features[:, 0], test.is_threat).pr_auc
    for name in ("logistic regression", "gradient boosting"):
        found = sweep(fitted(name, "records").judge(test).scores, test.is_threat).pr_auc
        assert found > best - 0.1 > test.prevalence + 0.2


def test_same_seed_same_scores() -> None:
    again = Baselines(RECORDS, DetectConfig()).fit("gradient boosting")
    first, second = (
        fitted("gradient boosting", "records").judge(RECORDS.test),
        again.judge(RECORDS.test),
    )
    assert np.array_equal(first.scores, second.scores)


def test_number_of_trees_is_chosen_on_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with all its trees is too sure of itself."""
    train, validation, test = RECORDS.train, RECORDS.validation, RECORDS.test

    def loss_of(probability: Any) -> float:
        return reference_log_loss(test.is_threat, probability(test.features))

    boost = partial(boosted_probability, train.features, train.is_threat, seed=0)
    checked = boost(validation.features, validation.is_threat, max_rounds=200)
    blind = boost(validation.features[:0], validation.is_threat[:0], max_rounds=200)
    assert loss_of(checked) < 0.8 * loss_of(blind)

    fitted_rounds: list[int] = []

    def counting(*given: Any, rounds: int, seed: int) -> Any:
        fitted_rounds.append(rounds)
        return fit(*given, rounds=rounds, seed=seed)

    monkeypatch.setattr(module, "boost", counting)
    boost(validation.features, validation.is_threat, max_rounds=40)
    full = fit(train.features, train.is_threat, rounds=40, seed=0)
    losses = [
        reference_log_loss(validation.is_threat, stage[:, 1])
        for stage in full.staged_predict_proba(validation.features)
    ]
    assert fitted_rounds == [40, int(np.argmin(losses)) + 1]


def test_log_loss_equals_scikit_learn() -> None:
    log_odds = np.linspace(-3, 3, 20)
    is_threat = np.arange(20) % 3 == 0
    expected = reference_log_loss(is_threat, 1 / (1 + np.exp(-log_odds)))
    assert log_loss(log_odds, is_threat) == pytest.approx(expected)
    assert log_loss(np.array([-2000.0, 2000.0]), np.array([False, True])) == 0.0


@pytest.mark.parametrize("name", ["logistic regression", "gradient boosting"])
@pytest.mark.parametrize(("only", "kind"), [(True, "a threat"), (False, "benign")])
def test_one_class_is_refused(name: str, only: bool, kind: str) -> None:
    one_class = RECORDS.train.take_sessions(np.flatnonzero(RECORDS.train.is_threat == only))
    data = DataSet("one", "records", one_class, RECORDS.validation, RECORDS.test, {})
    with pytest.raises(DataError, match=f"training part: one class only, .* is {kind}"):
        Baselines(data, DetectConfig()).fit(name)


# ------------------------------------------------------------------------------------ sessions
def test_cusum_by_hand() -> None:
    increments = np.array([1, -3, 2, 2, -1, -5, 4, 0.5])
    assert cusum(increments, Sessions.of_lengths([6, 2])).tolist() == [1, 0, 2, 4, 3, 0, 4, 4.5]


def test_log_odds_stay_finite() -> None:
    assert log_odds(np.array([0.5, 0.75])) == pytest.approx([0, np.log(3)])
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()


def test_cusum_statistic_adds_up_evidence_beyond_its_drift() -> None:
    events = make_events(column(0.5, 0.75, 0.75), np.zeros(3, dtype=bool), [3])
    found = _of_cusum(feature, 0.1, events)
    assert found == pytest.approx([0, np.log(3) - 0.1, 2 * (np.log(3) - 0.1)])


def test_first_crossings_and_actions_of_a_rule() -> None:
    events = make_events(column(1, 5, 7, 2, 3, 5), np.zeros(6, dtype=bool), [3, 2, 1])
    assert first_crossings(feature(events), events.sessions, 5).tolist() == [1, 6, 5]
    rule = StoppingRule(feature, 5.0, QUARANTINE)
    assert rule.judge(events).actions.tolist() == [
        ALLOW,
        QUARANTINE,
        ALLOW,
        ALLOW,
        ALLOW,
        QUARANTINE,
    ]
    assert rule.judge(events).scores.tolist() == [1, 5, 7, 2, 3, 5]
    assert set(StoppingRule(feature, np.inf, BLOCK).judge(events).actions) == {ALLOW}


def mean_so_far(rows: np.ndarray) -> np.ndarray:
    return rows[:, 1].astype(np.float64)


def test_prefix_decides_at_its_event_and_leaves_shorter_sessions_alone() -> None:
    events = make_events(column(1, 3, 9, 5, 7), np.zeros(5, dtype=bool), [3, 1, 1])
    assert prefix_events(events, 2, is_told_end=False).tolist() == [1]
    assert prefix_events(events, 3, is_told_end=False).tolist() == [2]
    assert _of_prefix(mean_so_far, 2, False, events).tolist() == [0, 2, 2, 0, 0]
    assert _of_prefix(mean_so_far, 4, False, events).tolist() == [0] * 5


def test_prefix_told_the_end_judges_shorter_sessions_there() -> None:
    events = make_events(column(1, 3, 9, 5, 7), np.zeros(5, dtype=bool), [3, 1, 1])
    assert prefix_events(events, 2, is_told_end=True).tolist() == [1, 3, 4]
    assert _of_prefix(mean_so_far, 2, True, events).tolist() == [0, 2, 2, 5, 7]


def test_being_told_the_end_is_worth_something() -> None:
    baselines = Baselines(SESSIONS, DetectConfig())
    told = baselines.fixed_prefix(mean_events=15.0, is_told_end=True)
    blind = baselines.fixed_prefix(mean_events=15.0)
    assert told.validation_cost < blind.validation_cost
    best = fitted("fixed prefix, told the end")
    assert best.validation_cost <= told.validation_cost


def test_statistics_do_not_see_the_future() -> None:
    rng, test = np.random.default_rng(1), SESSIONS.test
    changed = test.features.copy()
    later = test.sessions.place > 5
    changed[later] = rng.normal(size=(int(later.sum()), 2))
    other = make_events(changed, test.is_threat, list(test.sessions.lengths))
    cut = make_events(test.features[~later], test.is_threat[~later], [6] * test.num_sessions)
    for name in (
        "logistic regression", "event boosting", "history boosting", "sequential test",
        "fixed prefix",
    ):  # fmt: skip
        rule = fitted(name)
        scores = rule.judge(test).scores[~later]
        assert np.array_equal(scores, rule.judge(other).scores[~later])
        assert np.array_equal(scores, rule.judge(cut).scores)


def test_tuning_finds_threshold_and_action_with_the_lowest_cost() -> None:
    """Attacks score 3 at their onset and benign sessions up to 2: a block at 3 costs nothing."""
    features = column(0, 0, 0, 2, 0, 3, 3, 1)
    is_threat = np.array([0, 0, 0, 0, 0, 1, 1, 0], dtype=bool)
    events = make_events(features, is_threat, [2, 2, 3, 1])
    rule = tuned(events)
    assert (rule.threshold, rule.action, rule.validation_cost) == (3.0, BLOCK, 0.0)


def test_of_thresholds_that_cost_the_same_the_highest_is_taken() -> None:
    events = make_events(column(3, 2, 0), np.array([True, True, False]), [2, 1])
    assert tuned(events).threshold == 3.0


def test_tuning_prefers_quarantine_or_alert_where_they_are_cheaper() -> None:
    late = make_events(column(*[0] * 9, 1, 0), np.array([True] * 10 + [False]), [10, 1])
    rule = tuned(late)
    assert (rule.threshold, rule.action) == (1.0, QUARANTINE)
    assert rule.validation_cost == pytest.approx((9 * 0.2 + 1) / 2)
    dear = SessionCosts(false_block=1000)
    mixed = make_events(column(1, 1, 0), np.array([True, False, False]), [1, 1, 1])
    rule = tuned(mixed, dear)
    assert (rule.threshold, rule.action) == (1.0, ALERT)
    assert rule.validation_cost == pytest.approx((0.5 + 0.2 + 7 + 0.5) / 3)


def test_tuning_leaves_sessions_alone_if_nothing_helps() -> None:
    benign = make_events(column(1, 2, 3), np.zeros(3, dtype=bool), [1, 2])
    rule = tuned(benign)
    assert (rule.threshold, rule.validation_cost) == (np.inf, 0.0)
    assert set(rule.judge(benign).actions) == {ALLOW}


def cost_of(name: str, events: Events) -> float:
    """Mean cost a session."""
    game = session_game(events.is_threat, events.sessions, COSTS)
    return (
        -float(play(game, fitted(name).judge(events).actions).rewards.sum()) / events.num_sessions
    )


def test_validation_cost_is_what_the_rule_costs_there() -> None:
    """One implementation: tuning by look-up and scoring of actions agree."""
    for name in Baselines(SESSIONS, DetectConfig()).names[2:]:
        cost = fitted(name).validation_cost
        assert cost_of(name, SESSIONS.validation) == pytest.approx(cost), name


def test_baselines_beat_doing_nothing_and_evidence_adds_up() -> None:
    names = Baselines(SESSIONS, DetectConfig()).names
    cost = {name: cost_of(name, SESSIONS.test) for name in names}
    assert cost["allow-all"] < cost["block-all"]
    for name in ("logistic regression", "history boosting", "sequential test", "fixed prefix"):
        assert cost[name] < 0.8 * cost["allow-all"], name
    assert cost["sequential test"] < cost["event boosting"]


def test_baselines_share_their_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    original = boosted_probability
    monkeypatch.setattr(
        module,
        "boosted_probability",
        lambda *args, **kwargs: fits.append(1) or original(*args, **kwargs),
    )
    baselines = Baselines(SESSIONS, DetectConfig())
    for name in ("event boosting", "history boosting", "sequential test"):
        baselines.fit(name)
    assert len(fits) == 2
    Baselines(SESSIONS, DetectConfig(seed=1)).fit("event boosting")
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
    test = SESSIONS.test
    rule = Baselines(SESSIONS, DetectConfig()).fixed_prefix(mean_events=8.0)
    actions = rule.judge(test).actions
    assert set(test.sessions.place[actions != ALLOW]) == {7}
    best = fitted("fixed prefix")
    assert best.validation_cost <= rule.validation_cost + 0.05


def test_prefix_too_short_to_show_anything_leaves_sessions_alone() -> None:
    features = np.zeros((40, 1))
    is_threat = np.tile([False, True], 20)
    events = make_events(features, is_threat, [2] * 20)
    cheap = SessionCosts(miss=0.1, delay=0.0)
    data = DataSet("short", "sessions", events, events, events, {})
    config = DetectConfig(session_costs=cheap)
    rule = Baselines(data, config).fixed_prefix(mean_events=1.0)
    assert set(rule.judge(events).actions) == {ALLOW}
