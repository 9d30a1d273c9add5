"""Judging whole streams: margins, violations, fines, targets of the constraint head."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standing_orders.detect.rules import (
    Rule,
    RuleBook,
    RuleJudge,
    Streams,
    default_rules,
)
from standing_orders.rules.stl import robustness
from tests.detect.rules.toys import column, random_streams, rule_of, traces_of
from tests.effort import effort

FORMULAS = (
    "threat -> eventually[0,3] flagged",
    "always (changed -> always[1,2] not changed)",
    "num_threats > 1 -> detection_rate >= 0.6",
    "false_alarm_rate <= 0.5 or blocked_share < 0.2",
    "suspected -> not allow until[1,4] block",
    "(flagged since[1,3] threat) <-> once[2,5] alert",
    "eventually[2,4] suspicion * severity > 1.5",
)
formulas = st.sampled_from(FORMULAS)
scopes = st.sampled_from(["session", "stream"])


def own_robustness(formula, streams: Streams, book: RuleBook, scope: str) -> np.ndarray:
    """Robustness of each trace by itself, by the library."""
    traces, found = RuleJudge(streams).signals(book.rules[0])
    signals = {name: traces.put(found[name]) for name in book.rules[0].names}
    values = np.zeros(streams.shape)
    for trace in traces_of(streams, scope):
        index = tuple(map(list, zip(*trace, strict=True)))
        values[index] = robustness(formula, {name: s[index] for name, s in signals.items()})
    return values


@settings(max_examples=effort(40, 15), deadline=None)
@given(seed=st.integers(0, 10**6), formula=formulas, scope=scopes)
def test_margins_are_the_robustness_of_each_trace_by_itself(
    seed: int, formula: str, scope: str
) -> None:
    streams = random_streams(seed)
    config = rule_of(formula, scope=scope)
    book = RuleBook([config], check=False)
    verdicts = book.judge(streams).verdicts["rule"]
    exact = own_robustness(config.body, streams, book, scope)
    np.testing.assert_array_equal(verdicts.margins, exact)
    np.testing.assert_array_equal(verdicts.is_violated, exact < 0)
    assert not (verdicts.is_violated & ~verdicts.is_obliged).any()


@settings(max_examples=effort(40, 15), deadline=None)
@given(seed=st.integers(0, 10**6), formula=formulas, scope=scopes)
def test_the_head_learns_the_real_margin(seed: int, formula: str, scope: str) -> None:
    streams = random_streams(seed)
    config = rule_of(formula, scope=scope)
    book = RuleBook([config], check=False)
    (targets,) = book.margin_targets(streams)
    exact = own_robustness(f"always[0,10] ({config.body})", streams, book, scope)
    np.testing.assert_array_equal(targets, np.clip(exact, -1, 1))


@pytest.mark.parametrize("task", ["records", "sessions"])
def test_the_target_of_the_head_is_not_a_constant(task: str) -> None:
    """Regression: the published constraint head learned one number."""
    streams = random_streams(3, steps=400, num_streams=8)
    targets = RuleBook(default_rules(task)).margin_targets(streams)
    assert targets.shape == (5, 400, 8)
    for values in targets[:, streams.valid]:
        assert values.std() > 0.01
        assert -1 <= values.min() < values.max() <= 1


def fined(formula: str, **options: object) -> RuleBook:
    return RuleBook([rule_of(formula, mode="fine", **{"price": 2.5, **options})])


def broken(book: RuleBook, streams: Streams) -> list[list[int]]:
    """Where the obligations are that the streams break, 0 or 1."""
    return book.judge(streams).verdicts["rule"].is_violated.astype(int).tolist()


def test_an_obligation_is_broken_where_it_arose() -> None:
    book = fined("threat -> eventually[0,2] flagged")
    threats = column([1, 0, 0, 1, 1, 0, 0, 1], bool)
    actions = column([0, 0, 0, 0, 0, 1, 0, 0])
    judgement = book.judge(Streams(actions, threats))
    verdicts = judgement.verdicts["rule"]
    assert verdicts.is_obliged[:, 0].tolist() == threats[:, 0].tolist()
    assert verdicts.is_violated[:, 0].tolist() == [True] + [False] * 6 + [True]
    assert judgement.metrics["rule"] == {
        "obligations": 4,
        "violations": 2,
        "violation_rate": 0.5,
        "margin_mean": 0.0,
        "margin_min": -0.5,
        "price": 2.5,
    }


def test_a_rule_about_the_past_is_judged_at_once() -> None:
    book = fined("blocked_share <= 0.25", window=4)
    streams = Streams(column([2, 2, 0, 0, 0, 3]), column([0] * 6, bool))
    assert broken(book, streams) == [[0], [1], [1], [1], [0], [0]]


def test_only_fined_and_priced_rules_have_a_price() -> None:
    rules = [
        rule_of("flagged", name="a", mode="fine", price=1.0),
        rule_of("threat -> restrictive", name="b", mode="lagrange", price=10.0),
        rule_of("not alert", name="c", mode="watch", price=100.0),
        rule_of("not alert", name="d", mode="shield", price=100.0),
    ]
    book = RuleBook(rules)
    assert [book.price(rule) for rule in book.rules] == [1, 10, 0, 0]
    judgement = book.judge(Streams(column([0, 1, 0, 2]), column([0, 1, 1, 1], bool)))
    assert [judgement.metrics[name].get("price") for name in "abcd"] == [1, 10, None, None]
    assert [judgement.verdicts[name].num_violations for name in "abcd"] == [2, 2, 1, 1]


def test_sessions_are_judged_apart_and_streams_as_one() -> None:
    """Padding is no event: a session that ends unanswered is not answered by the next."""
    threats = column([1, 1, 0, 0, 0], bool)
    actions = column([0, 0, 0, 1, 1])
    valid = column([1, 1, 1, 0, 1], bool)
    last = column([0, 1, 0, 0, 0], bool)
    streams = Streams(actions, threats, valid, last)
    for scope, within, wanted in (("session", 3, [1, 1]), ("stream", 3, [0, 0]),
                                  ("stream", 2, [1, 0])):  # fmt: skip
        book = fined(f"threat -> eventually[0,{within}] flagged", scope=scope)
        assert broken(book, streams) == [[one] for one in (*wanted, 0, 0, 0)]


def test_sessions_of_different_lengths_are_judged_to_their_own_ends() -> None:
    threats = np.ones((4, 2), dtype=bool)
    valid = np.array([[1, 1], [1, 1], [1, 0], [1, 0]], dtype=bool)
    actions = np.array([[0, 0], [0, 0], [0, 3], [1, 3]])
    book, streams = fined("threat -> eventually[0,3] flagged"), Streams(actions, threats, valid)
    assert broken(book, streams) == [[0, 1], [0, 1], [0, 0], [0, 0]]
    assert book.judge(streams).metrics["rule"]["obligations"] == 6


def test_what_is_cut_off_gets_no_verdict() -> None:
    threats = column([1, 0, 1, 1], bool)
    book = fined("threat -> eventually[0,1] flagged")
    streams = Streams(column([0] * 4), threats, is_over=False)
    assert book.judge(streams).metrics["rule"]["obligations"] == 2
    assert broken(book, streams) == [[1], [0], [1], [0]]
    is_last = column([0, 0, 0, 1], bool)
    streams = Streams(column([0] * 4), threats, is_last=is_last, is_over=False)
    assert broken(book, streams) == [[1], [0], [1], [1]]


def test_the_violation_rate_is_of_the_obligations_not_of_all_events() -> None:
    """Else a rule about rare threats could never be broken often."""
    threats = column([1] + [0] * 99, bool)
    metrics = RuleBook([rule_of("threat -> flagged")]).judge(Streams(column([0] * 100), threats))
    assert metrics.metrics["rule"]["violation_rate"] == 1.0


def test_without_an_obligation_there_is_no_rate() -> None:
    streams = Streams(column([0, 0]), column([0, 0], bool))
    judgement = RuleBook([rule_of("threat -> flagged")]).judge(streams)
    assert judgement.metrics["rule"] == {
        "obligations": 0,
        "violations": 0,
        "violation_rate": None,
        "margin_mean": None,
        "margin_min": None,
    }


def test_batches_without_an_event_or_a_rule_are_judged() -> None:
    nothing = np.zeros((3, 2), dtype=bool)
    streams = Streams(np.zeros((3, 2), int), nothing, nothing)
    book = RuleBook(default_rules())
    assert not any(v.num_violations for v in book.judge(streams).verdicts.values())
    assert book.margin_targets(streams).shape == (5, 3, 2)
    empty = RuleBook([])
    assert empty.judge(streams).verdicts == {}


def test_metrics_are_plain_and_finite() -> None:
    book = RuleBook([rule_of("eventually[1,2] flagged")])  # -inf at the last event
    metrics = book.judge(Streams(column([1, 1]), column([0, 0], bool))).metrics
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics
    assert metrics["rule"]["margin_min"] == -1_000


def test_windows_are_each_rules_own() -> None:
    rules = [
        Rule(name=f"w{window}", formula="num_changes <= 1", window=window) for window in (2, 4)
    ]
    streams = Streams(column([0, 1, 1, 0, 0]), column([0] * 5, bool))
    judge = RuleJudge(streams)
    changes = [judge.signals(rule)[1]["num_changes"].tolist() for rule in rules]
    assert changes == [[0, 1, 1, 1, 1], [0, 1, 1, 2, 2]]


def test_on_the_border_nothing_is_asked_and_nothing_broken() -> None:
    """`num_threats >= 1` has margin 0 with one threat: such an event could never be a violation."""
    streams = Streams(column([0, 0]), column([1, 1], bool))
    verdicts = RuleBook([rule_of("num_threats >= 1 -> flagged")]).judge(streams).verdicts["rule"]
    assert verdicts.is_obliged[:, 0].tolist() == [False, True]
    assert verdicts.is_violated[:, 0].tolist() == [False, True]
    exact = RuleBook([rule_of("blocked_share <= 0.2", window=5)]).judge(
        Streams(column([2, 0]), column([0, 0], bool))
    )
    assert exact.metrics["rule"]["margin_min"] == 0
    assert exact.metrics["rule"]["violations"] == 0
