"""Metrics of records against scikit-learn and numbers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score, roc_curve

from standing_orders.detect.actions import ALERT, ALLOW, BLOCK
from standing_orders.detect.assess.metrics import (
    Confusion,
    best_f1_threshold,
    cost_gap,
    count_decisions,
    fpr_at_recall,
    pr_auc,
    recall_at_fpr,
    recall_by_attack,
    record_metrics,
    sweep,
    unseen_recall,
)
from standing_orders.detect.assess.uncertainty import mean_interval, seed_interval, session_interval
from standing_orders.detect.costs import PRESETS, CostTable, record_rewards
from standing_orders.detect.data.events import Events
from standing_orders.errors import ConfigError, NumericsError

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
    assert pr_auc(scores, is_threat) == pytest.approx(average_precision_score(is_threat, scores))


@given(SCORED, st.floats(0, 1))
def test_points_of_the_roc_curve_equal_scikit_learn(pairs, level: float) -> None:
    scores, is_threat = split(pairs)
    fpr, tpr, _ = roc_curve(is_threat, scores, drop_intermediate=False)
    assert recall_at_fpr(scores, is_threat, level) == pytest.approx(tpr[fpr <= level].max())
    assert fpr_at_recall(scores, is_threat, level) == pytest.approx(fpr[tpr >= level].min())


@given(SCORED)
def test_best_f1_threshold_is_best(pairs) -> None:
    scores, is_threat = split(pairs)
    threshold = best_f1_threshold(scores, is_threat)
    every = [f1_score(is_threat, scores >= one, zero_division=0) for one in np.unique(scores)]
    assert count_decisions(scores >= threshold, is_threat).f1 == pytest.approx(max(every))


@given(SCORED, st.integers(0, 2**31))
def test_order_of_events_does_not_matter(pairs, seed: int) -> None:
    scores, is_threat = split(pairs)
    order = np.random.default_rng(seed).permutation(len(scores))
    assert pr_auc(scores[order], is_threat[order]) == pytest.approx(pr_auc(scores, is_threat))


def test_constant_scores_get_the_prevalence() -> None:
    is_threat = np.arange(50) < 5
    assert pr_auc(np.zeros(50), is_threat) == pytest.approx(0.1)
    assert recall_at_fpr(np.zeros(50), is_threat) == 0.0
    assert fpr_at_recall(np.zeros(50), is_threat) == 1.0


def test_levels_are_met_exactly() -> None:
    """7 of 700 benign events are 1 %, though 0.01 * 700 is not 7 to a computer."""
    scores = np.concatenate([np.linspace(2, 3, 7), [1.0], np.zeros(693)])
    is_threat = np.arange(701) == 7
    assert recall_at_fpr(scores, is_threat, 0.01) == 1.0
    assert recall_at_fpr(scores, is_threat, 0.0099) == 0.0
    scores, is_threat = np.arange(40)[::-1], np.arange(40) != 18  # found after 18 of 39 threats
    assert fpr_at_recall(scores, is_threat, 18 / 39) == 0.0
    assert fpr_at_recall(scores, is_threat, 19 / 39) == 1.0


def test_without_threats_or_benign_events_figures_are_not_numbers() -> None:
    scores = np.array([0.2, 0.7])
    none, every = np.array([False, False]), np.array([True, True])
    assert math.isnan(pr_auc(scores, none))
    assert pr_auc(scores, every) == 1.0
    for is_threat in (none, every):
        assert math.isnan(recall_at_fpr(scores, is_threat))
        assert math.isnan(fpr_at_recall(scores, is_threat))
    assert math.isnan(count_decisions(scores > 0.5, none).recall)
    assert count_decisions(scores > 0.5, none).f1 == 0.0
    assert math.isnan(count_decisions(scores > 0.9, none).f1)
    assert math.isnan(count_decisions(scores > 0.9, none).precision)
    assert math.isnan(count_decisions(scores > 0.5, every).alarms_per_1000_benign)
    with pytest.raises(ConfigError, match="there are none"):
        best_f1_threshold(scores, none)


def test_no_events_at_all() -> None:
    points = sweep([], [])
    assert points.thresholds.tolist() == [np.inf]
    assert math.isnan(pr_auc([], []))
    assert math.isnan(cost_gap(CostTable(), [], [], []).cost)


def test_sweep_puts_equal_scores_together() -> None:
    points = sweep([0.5, 0.9, 0.5, 0.1], [True, True, False, False])
    assert points.thresholds.tolist() == [np.inf, 0.9, 0.5, 0.1]
    assert points.true_positives.tolist() == [0, 1, 2, 2]
    assert points.false_positives.tolist() == [0, 0, 1, 2]


def test_scores_must_be_finite_and_fit() -> None:
    with pytest.raises(NumericsError, match="finite"):
        pr_auc([0.1, np.nan], [True, False])
    with pytest.raises(ConfigError, match=r"shape \(3,\) does not fit \(2,\)"):
        pr_auc([0.1, 0.2, 0.3], [True, False])


def test_confusion_by_hand() -> None:
    counts = count_decisions([1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 1, 0, 0, 0])
    assert counts == Confusion(2, 1, 3, 1)
    assert counts.recall == counts.precision == counts.f1 == pytest.approx(2 / 3)
    assert counts.false_positive_rate == 0.25
    assert counts.alarms_per_1000_benign == 250
    assert counts.accuracy == pytest.approx(5 / 7)


def test_metrics_are_over_all_steps_not_the_last_few() -> None:
    """Published defect: figures of the last 100 steps were reported as those of the run."""
    rng = np.random.default_rng(0)
    is_threat = rng.random(5_000) < 0.2
    flagged = ~is_threat  # always wrong ...
    flagged[-100:] = is_threat[-100:]  # ... but for the end
    whole = count_decisions(flagged, is_threat)
    assert whole.accuracy == pytest.approx(0.02)
    assert whole.f1 < 0.02
    batches = [
        count_decisions(flagged[start : start + 128], is_threat[start : start + 128])
        for start in range(0, 5_000, 128)
    ]
    assert sum(batches, Confusion()) == whole
    assert batches[-1].f1 == 1.0
    with pytest.raises(ConfigError, match="over all events"):
        count_decisions(flagged[-100:], is_threat)


def test_cost_gap_by_hand() -> None:
    scores, is_threat = [0.9, 0.6, 0.4, 0.1], [True, False, True, False]
    gap = cost_gap(PRESETS["published"], [ALLOW, ALLOW, ALLOW, ALLOW], scores, is_threat)
    # alerting from 0.4 on: 10 - 8 + 10 + 1; from 0.9 on: 10 + 1 - 10 + 1
    assert gap.cost == pytest.approx(18 / 4)
    assert gap.best_cost == pytest.approx(-13 / 4)
    assert gap.best_threshold == 0.4
    assert gap.gap == pytest.approx(31 / 4)


@given(SCORED, st.integers(0, 2**31))
def test_best_cost_is_that_of_the_best_threshold(pairs, seed: int) -> None:
    scores, is_threat = split(pairs)
    actions = np.random.default_rng(seed).integers(0, 4, size=len(scores))
    for table, flag in ((PRESETS["published"], ALERT), (CostTable(restrictive=1), BLOCK)):
        gap = cost_gap(table, actions, scores, is_threat)
        every = [
            -record_rewards(table, np.where(scores >= one, flag, ALLOW), is_threat).mean()
            for one in [*np.unique(scores), np.inf]
        ]
        assert gap.best_cost == pytest.approx(min(every))
        assert gap.cost == pytest.approx(-record_rewards(table, actions, is_threat).mean())


def test_recall_by_attack_most_frequent_first() -> None:
    attacks = np.array([-1, 2, 2, 2, 0, -1, 0])
    flagged = np.array([1, 1, 0, 1, 0, 0, 1])
    recalls = recall_by_attack(flagged, attacks, ("probe", "absent", "worm"), seen=[0, 1])
    assert [(one.attack, one.count, one.is_unseen) for one in recalls] == [
        ("worm", 3, True),
        ("probe", 2, False),
    ]
    assert [one.recall for one in recalls] == pytest.approx([2 / 3, 1 / 2])
    assert unseen_recall(recalls) == pytest.approx(2 / 3)
    assert math.isnan(unseen_recall(recalls[1:]))


def test_unseen_recall_weighs_attacks_by_their_events() -> None:
    attacks = np.array([0, 1, 1, 1])
    recalls = recall_by_attack([1, 0, 0, 0], attacks, ("a", "b"), seen=[])
    assert unseen_recall(recalls) == 0.25


def test_record_metrics_put_it_all_together() -> None:
    attacks = np.array([0, -1, 1, -1])
    events = Events(
        features=np.zeros((4, 1), dtype=np.float32),
        columns=("x",),
        sources=("x",),
        is_threat=attacks >= 0,
        attacks=attacks,
        attack_names=("old", "new"),
        starts=np.arange(5),
    )
    found = record_metrics(
        events,
        [0.9, 0.6, 0.4, 0.1],
        [BLOCK, ALERT, ALLOW, ALLOW],
        table=PRESETS["published"],
        f1_threshold=0.4,
        seen=[0],
    )
    assert (found.num_events, found.prevalence) == (4, 0.5)
    assert found.pr_auc == pytest.approx(5 / 6)
    assert (found.f1, found.f1_threshold) == (0.8, 0.4)  # of the scores, not of the actions
    assert found.decisions == Confusion(1, 1, 1, 1)
    assert (found.recall_at_fpr, found.fpr_at_recall) == (0.5, 0.5)
    assert found.cost.cost == pytest.approx(-(8.5 - 8 - 10 + 1) / 4)
    assert found.unseen_recall == 0.0


def test_interval_over_five_seeds_by_hand() -> None:
    """t(0.975, 4) = 2.776445; standard deviation of 1..5 is sqrt(2.5)."""
    interval = seed_interval([1, 2, 3, 4, 5])
    half = 2.776445 * math.sqrt(2.5 / 5)
    assert interval.mean == 3
    assert interval.high - 3 == pytest.approx(half, rel=1e-6)
    assert 3 - interval.low == pytest.approx(half, rel=1e-6)
    assert interval.num == 5


def test_one_seed_has_no_interval_and_none_is_refused() -> None:
    alone = seed_interval([0.7])
    assert (alone.mean, alone.num) == (0.7, 1)
    assert math.isnan(alone.low)
    assert math.isnan(alone.high)
    with pytest.raises(ConfigError, match="not empty"):
        seed_interval([])


def test_bootstrap_of_a_mean_is_near_the_normal_interval_and_repeats() -> None:
    values = np.random.default_rng(2).normal(size=400)
    interval = mean_interval(values, seed=1)
    half = 1.96 * values.std() / 20
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.15 * half)
    assert mean_interval(values, seed=1) == interval
    assert mean_interval(values, seed=2) != interval


def test_bootstrap_resamples_sessions_and_leaves_out_samples_without_a_figure() -> None:
    has_attack = np.array([True, False, False])

    def share(sessions: np.ndarray) -> float:
        return 1.0 if has_attack[sessions].any() else math.nan

    interval = session_interval(share, 3, seed=0, num_resamples=50)
    assert (interval.mean, interval.low, interval.high, interval.num) == (1.0, 1.0, 1.0, 3)
    nothing = session_interval(lambda _: math.nan, 3, seed=0, num_resamples=5)
    assert math.isnan(nothing.low)
    with pytest.raises(ConfigError, match="at least 1"):
        session_interval(share, 0, seed=0)
