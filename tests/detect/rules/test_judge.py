"""Smooth margins, and what actions are worth to rules: the derivative of what breaking costs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from standing_orders.detect.rules import Rule, RuleBook, Streams
from standing_orders.detect.rules.judge import (
    action_worths,
    smooth_trace_robustness,
    trace_robustness,
)
from standing_orders.detect.rules.signals import compute_signals, shares_of, signals_of
from standing_orders.detect.rules.streams import lay_out
from standing_orders.rules.stl import parse, smoothing_error
from standing_orders.rules.stl.obligation import trigger_of
from tests.detect.rules.toys import column, random_streams

FORMULAS = (
    "threat -> eventually[0,3] flagged",
    "num_threats > 1 -> detection_rate >= 0.75",
    "false_alarm_rate <= 0.25",
    "num_changes <= 2",
    "flagged until[0,4] restrictive",
    "blocked -> historically[0,2] (severity < 2.5)",
)


def random_probs(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(4), shape)


def rule_of(formula: str, **options: object) -> Rule:
    return Rule(name="rule", formula=formula, window=5, **options)


@pytest.mark.parametrize("scope", ["session", "stream"])
def test_signals_of_certain_decisions_are_the_signals_of_the_decisions(scope: str) -> None:
    streams = random_streams(1)
    traces = lay_out(streams, scope)
    exact = compute_signals(streams, traces, window=5)
    soft = signals_of(
        torch.from_numpy(shares_of(traces.take(streams.actions))),
        torch.from_numpy(traces.take(streams.is_threat).astype(float)),
        torch.from_numpy(traces.take(streams.suspicion)),
        traces,
        window=5,
    )
    assert exact.keys() == soft.keys()
    for name, values in exact.items():
        np.testing.assert_allclose(soft[name].numpy(), values, atol=1e-12, err_msg=name)


def test_signals_of_probabilities_are_what_is_expected_of_draws() -> None:
    rng = np.random.default_rng(0)
    probs = random_probs((6, 1), 2)
    threat = column([1, 0, 1, 1, 0, 1], bool)
    draws = (rng.random((6, 40_000, 1)) > probs.cumsum(-1)).sum(-1)
    many = Streams(draws, np.repeat(threat, draws.shape[1], axis=1))
    traces = lay_out(many, "stream")
    drawn = compute_signals(many, traces, window=4)
    one = lay_out(Streams(draws[:, :1], threat), "stream")
    soft = signals_of(probs[:, 0], threat[:, 0].astype(float), np.zeros(6), one, window=4)
    for name, values in soft.items():
        found = traces.put(drawn[name]).mean(axis=1)
        np.testing.assert_allclose(found, values, atol=0.02, err_msg=name)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("scope", ["session", "stream"])
@pytest.mark.parametrize("temperature", [0.05, 1e-4])
def test_smooth_margins_of_traces_are_close_to_the_exact_ones(
    formula: str, scope: str, temperature: float
) -> None:
    streams = random_streams(3)
    traces = lay_out(streams, scope)
    signals = compute_signals(streams, traces, window=5)
    exact = trace_robustness(parse(formula), signals, traces)
    soft = {name: torch.from_numpy(values) for name, values in signals.items()}
    found = smooth_trace_robustness(parse(formula), soft, traces, temperature=temperature).numpy()
    longest = int(traces.place.max()) + 1
    below, above = smoothing_error(formula, longest, temperature=temperature)
    assert (found >= exact - below - 1e-9).all()
    assert (found <= exact + above + 1e-9).all()


def cost_of(rule: Rule, streams: Streams, probs: np.ndarray) -> float:
    """3 a violation: the definition, in numpy, for rules whose condition is out of our hands."""
    traces = lay_out(streams, rule.scope)
    signals = signals_of(
        probs[traces.rows, traces.columns], traces.take(streams.is_threat).astype(float),
        traces.take(streams.suspicion), traces, window=rule.window,
    )  # fmt: skip
    tensors = {name: torch.from_numpy(np.asarray(values)) for name, values in signals.items()}
    goal, where = (rule.body.right, rule.body.left) if trigger_of(rule.body) else (rule.body, None)
    margins = smooth_trace_robustness(goal, tensors, traces, temperature=0.02).numpy()
    if where is not None:
        margins = margins[trace_robustness(where, signals, traces) > 0]
    return 3.0 * float((0.5 * np.log1p(np.exp(-margins / 0.5))).sum())


@pytest.mark.parametrize("formula", FORMULAS[:5])
def test_a_worth_is_what_more_of_an_action_saves(formula: str) -> None:
    streams = random_streams(4, steps=12, num_streams=2)
    probs = random_probs(streams.shape, 5)
    rule = rule_of(formula)
    worths = action_worths(rule, 3.0, streams, probs)
    assert (worths[~streams.valid] == 0).all()
    assert np.abs(worths).max() > 0.1
    step = 1e-5
    for index in np.ndindex(*probs.shape):
        more, less = probs.copy(), probs.copy()
        more[index] += step
        less[index] -= step
        saved = (cost_of(rule, streams, less) - cost_of(rule, streams, more)) / (2 * step)
        assert worths[index] == pytest.approx(saved, abs=1e-5), index


def test_one_missed_threat_is_worth_an_answer_and_a_kept_rule_less() -> None:
    threat = column([1, 0], bool)
    streams = Streams(column([0, 0]), threat)
    rule = rule_of("threat -> flagged")
    missed = action_worths(rule, 1.0, streams, shares_of(column([0, 0])))
    kept = action_worths(rule, 1.0, streams, shares_of(column([1, 0])))
    missed, kept = (worths - worths[..., :1] for worths in (missed, kept))  # over allow
    assert missed[0, 0].tolist() == pytest.approx([0, *[1 / (1 + np.exp(-1))] * 3])
    assert kept[0, 0].tolist() == pytest.approx([0, *[1 / (1 + np.exp(1))] * 3])
    assert not missed[1].any()  # nothing is asked about the benign event
    assert not kept[1].any()


def test_every_event_of_a_window_shares_in_what_it_costs() -> None:
    threat = np.ones((4, 1), dtype=bool)
    rule = rule_of("detection_rate >= 0.9", scope="stream")
    worths = action_worths(rule, 1.0, Streams(column([0] * 4), threat), shares_of(column([0] * 4)))
    gain = worths[:, 0, 1] - worths[:, 0, 0]
    assert (np.diff(gain) < 0).all()  # the first threat is in all four windows
    assert gain[-1] == pytest.approx(0.25 / (1 + np.exp(-0.9 / 0.5)), rel=1e-6)


def test_rules_that_are_only_watched_are_worth_nothing_and_prices_scale() -> None:
    streams = random_streams(6)
    probs = random_probs(streams.shape, 7)
    rules = {mode: Rule(name="calm", formula="not blocked", mode=mode) for mode in
             ("watch", "fine")}  # fmt: skip
    assert not RuleBook([rules["watch"]]).action_worths(streams, probs).any()
    one = RuleBook([rules["fine"]]).action_worths(streams, probs)
    dear = RuleBook([replace(rules["fine"], price=5.0)])
    np.testing.assert_allclose(dear.action_worths(streams, probs), 5 * one)
    assert one[streams.valid][:, 2:].max() < 0 <= one[streams.valid][:, :2].min()


def test_without_any_event_nothing_is_worth_anything() -> None:
    empty = Streams(column([0]), column([0], bool), is_valid=column([0], bool))
    assert not action_worths(rule_of("flagged"), 1.0, empty, random_probs((1, 1), 0)).any()
