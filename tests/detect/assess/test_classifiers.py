"""Baselines of records: what they fit, where they flag, what they refuse."""

import numpy as np
import pytest
from sklearn.metrics import log_loss as reference_log_loss

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK
from standing_orders.detect.assess import classifiers
from standing_orders.detect.assess.classifiers import (
    RecordRule,
    boosted_probability,
    fit_boosting,
    fit_logistic,
    log_loss,
    record_baselines,
)
from standing_orders.detect.assess.metrics import pr_auc
from standing_orders.detect.costs import PRESETS, CostTable, optimal_threshold, record_rewards
from standing_orders.detect.data.events import Events
from standing_orders.errors import DataError

TABLE = PRESETS["published"]


def make_records(seed: int, num_events: int = 1_500) -> Events:
    """Threats where x is high (log-odds 2 x - 2.5); y is noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(num_events, 2)).astype(np.float32)
    is_threat = rng.random(num_events) < 1 / (1 + np.exp(2.5 - 2 * features[:, 0]))
    return Events(
        features=features,
        columns=("x", "y"),
        sources=("x", "y"),
        is_threat=is_threat,
        attacks=np.where(is_threat, 0, -1),
        attack_names=("attack",),
        starts=np.arange(num_events + 1),
    )


TRAIN, VALIDATION, TEST = (make_records(seed) for seed in range(3))


def test_all_baselines_fit_the_same_way_and_give_scores_and_actions() -> None:
    fits = record_baselines(TABLE)
    assert list(fits) == ["allow-all", "block-all", "logistic regression", "gradient boosting"]
    earned = {}
    for name, fit in fits.items():
        fitted = fit(TRAIN, VALIDATION, 0)
        scores, actions = fitted.scores(TEST), fitted.actions(TEST)
        assert scores.shape == actions.shape == (TEST.num_events,)
        assert ((scores >= 0) & (scores <= 1)).all()
        earned[name] = record_rewards(TABLE, actions, TEST.is_threat).mean()
    assert earned["block-all"] < earned["allow-all"] < earned["gradient boosting"]
    assert earned["allow-all"] < earned["logistic regression"]


def test_constants_do_one_thing() -> None:
    fits = record_baselines(TABLE)
    allow, block = (fits[name](TRAIN, VALIDATION, 0) for name in ("allow-all", "block-all"))
    assert set(allow.actions(TEST)) == {ALLOW}
    assert set(block.actions(TEST)) == {BLOCK}
    assert set(allow.scores(TEST)) == {0.0}
    assert set(block.scores(TEST)) == {1.0}


def test_a_rule_flags_from_its_threshold_on() -> None:
    rule = RecordRule(lambda features: features[:, 0].astype(np.float64), 0.5, ALERT)
    features = np.array([[0.4, 0], [0.5, 0], [0.6, 0]], dtype=np.float32)
    three = TEST.take_sessions([0, 1, 2])
    events = Events(
        features, three.columns, three.sources, three.is_threat, three.attacks, ("attack",),
        three.starts,
    )  # fmt: skip
    assert rule.actions(events).tolist() == [ALLOW, ALERT, ALERT]


def test_classifiers_flag_at_the_optimal_threshold_with_the_better_flag() -> None:
    for fit in (fit_logistic, fit_boosting):
        rule = fit(TRAIN, VALIDATION, 0, table=TABLE)
        assert (rule.threshold, rule.action) == (optimal_threshold(TABLE), ALERT)
    paid = CostTable(restrictive=1)
    rule = fit_logistic(TRAIN, VALIDATION, 0, table=paid)
    assert (rule.threshold, rule.action) == (optimal_threshold(paid, BLOCK), BLOCK)


def test_classifiers_learn_what_can_be_learned() -> None:
    best = pr_auc(TEST.features[:, 0], TEST.is_threat)
    for fit in (fit_logistic, fit_boosting):
        found = pr_auc(fit(TRAIN, VALIDATION, 0, table=TABLE).scores(TEST), TEST.is_threat)
        assert found > best - 0.1 > TEST.prevalence + 0.2


def test_same_seed_same_scores() -> None:
    first, second = (fit_boosting(TRAIN, VALIDATION, 7, table=TABLE).scores(TEST) for _ in "ab")
    assert np.array_equal(first, second)


def test_number_of_trees_is_chosen_on_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with all its trees is too sure of itself."""

    def loss_of(probability) -> float:
        return reference_log_loss(TEST.is_threat, probability(TEST.features))

    parts = (TRAIN.features, TRAIN.is_threat)
    checked = boosted_probability(*parts, VALIDATION.features, VALIDATION.is_threat, seed=0)
    blind = boosted_probability(*parts, VALIDATION.features[:0], VALIDATION.is_threat[:0], seed=0)
    assert loss_of(checked) < 0.8 * loss_of(blind)

    rounds = []
    original = classifiers._boosting
    monkeypatch.setattr(
        classifiers, "_boosting", lambda num, seed: rounds.append(num) or original(num, seed)
    )
    boosted_probability(*parts, VALIDATION.features, VALIDATION.is_threat, seed=0, max_rounds=40)
    full = original(40, 0).fit(*parts)
    losses = [
        reference_log_loss(VALIDATION.is_threat, stage[:, 1])
        for stage in full.staged_predict_proba(VALIDATION.features)
    ]
    assert rounds == [40, int(np.argmin(losses)) + 1]


def test_log_loss_equals_scikit_learn() -> None:
    log_odds = np.linspace(-3, 3, 20)
    is_threat = np.arange(20) % 3 == 0
    expected = reference_log_loss(is_threat, 1 / (1 + np.exp(-log_odds)))
    assert log_loss(log_odds, is_threat) == pytest.approx(expected)
    assert log_loss(np.array([-2000.0, 2000.0]), np.array([False, True])) == 0.0


@pytest.mark.parametrize("fit", [fit_logistic, fit_boosting])
@pytest.mark.parametrize(("only", "name"), [(True, "threats"), (False, "benign events")])
def test_one_class_is_refused(fit, only: bool, name: str) -> None:
    one_class = TRAIN.take_sessions(np.flatnonzero(TRAIN.is_threat == only))
    with pytest.raises(DataError, match=f"nothing but {name}"):
        fit(one_class, VALIDATION, 0, table=TABLE)
