"""Prices that are learned: hand-computed updates, and a toy team that learns to keep a rule."""

import json
import math

import numpy as np
import pytest

from standing_orders.detect.rules import RuleBook, Streams
from standing_orders.errors import CheckpointError
from standing_orders.rules.prices import Multiplier
from tests.detect.rules.toys import column, rule_of

ANSWER = "threat -> flagged"


def priced(**options: object) -> RuleBook:
    return RuleBook([rule_of(ANSWER, mode="lagrange", **options)])


def streams_with(violation_rate: float, num_events: int = 100) -> Streams:
    actions = np.arange(num_events) >= round(violation_rate * num_events)
    return Streams(column(list(actions)), np.ones((num_events, 1), dtype=bool))


def test_the_price_rises_while_the_rule_is_broken_and_falls_when_it_is_kept() -> None:
    book = priced(price=0.5, price_rate=2.0)
    prices = []
    for violation_rate in (0.3, 0.3, 0.05, 0.0, 0.0):
        prices.append(book.price(book.rules[0]))
        book.learn_prices(book.judge(streams_with(violation_rate)))
    assert prices == pytest.approx([0.5, 1.0, 1.5, 1.5, 1.4])


def test_the_records_are_the_curves() -> None:
    book = priced(price=0.5, price_rate=2.0)
    (first,) = book.learn_prices(book.judge(streams_with(0.3)))
    (second,) = book.learn_prices(book.judge(streams_with(0.0)))
    assert first == {
        "rule": "rule",
        "update": 1,
        "violation_rate": 0.3,
        "allowed": pytest.approx(0.05),
        "price": 0.5,
        "next_price": pytest.approx(1.0),
    }
    assert second["price"] == first["next_price"]
    assert second["update"] == 2
    json.dumps(second, allow_nan=False)


def test_the_price_stays_between_nothing_and_its_limit() -> None:
    config = rule_of(ANSWER, mode="lagrange", price=1.0, price_rate=100.0, max_price=3.0)
    assert Multiplier.begin(config).update(1.0).price == 3.0
    assert Multiplier.begin(config).update(0.0).price == 0.0


def test_without_an_obligation_the_price_stays() -> None:
    book = priced(price=0.7)
    before = book.prices.to_json()
    quiet = Streams(column([0, 0]), column([0, 0], bool))
    (record,) = book.learn_prices(book.judge(quiet))
    assert record["violation_rate"] is None
    assert book.prices.to_json() == before


def test_a_violation_is_charged_at_the_learned_price() -> None:
    book = priced(price=0.0)
    broken = streams_with(1.0, num_events=3)
    assert book.price(book.rules[0]) == 0
    book.learn_prices(book.judge(broken))
    assert book.judge(broken).metrics["rule"]["price"] == pytest.approx(0.95)


def test_only_lagrange_rules_learn() -> None:
    modes = ("watch", "fine", "shield")
    book = RuleBook([rule_of("flagged", name=mode, mode=mode) for mode in modes])
    assert book.learn_prices(book.judge(streams_with(0.5))) == []
    assert book.prices.to_json() == {}


def toy_team(book: RuleBook, updates: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A bandit: flagging a threat costs 2, and the policy is the softmax best answer to rewards.

    Returns:
        Violation rate and price after each update.
    """
    rng = np.random.default_rng(seed)
    cost, temperature = 2.0, 0.5
    threat = np.ones((200, 4), dtype=bool)
    mean_penalty = 0.0  # of not flagging, as the critic has learned it
    curve = []
    for _ in range(updates):
        flag_prob = 1 / (1 + math.exp((cost + mean_penalty) / temperature))
        actions = (rng.random(threat.shape) < flag_prob).astype(np.int64)
        judgement = book.judge(Streams(actions, threat))
        missed = -book.price(book.rules[0]) * judgement.verdicts["rule"].is_violated[actions == 0]
        mean_penalty += 0.5 * (float(missed.mean()) - mean_penalty) if missed.size else 0.0
        book.learn_prices(judgement)
        curve.append((judgement.metrics["rule"]["violation_rate"], book.price(book.rules[0])))
    rates, prices = np.array(curve, dtype=float).T
    return rates, prices


@pytest.mark.parametrize("seed", range(3))
def test_a_toy_team_learns_to_keep_the_target(seed: int) -> None:
    free, _ = toy_team(RuleBook([rule_of(ANSWER)]), 50, seed)
    assert free.mean() > 0.95  # unconstrained it hardly flags
    rates, prices = toy_team(priced(price=0.0, price_rate=0.5), 300, seed)
    assert np.all(np.diff(prices[:5]) > 0)
    assert np.any(np.diff(prices) < 0)
    # The price at which the best answer misses just 5 %: cost + temperature * log(0.95 / 0.05).
    assert prices[-100:].mean() == pytest.approx(2 + 0.5 * math.log(19), abs=0.1)
    assert rates[-100:].mean() == pytest.approx(0.05, abs=0.01)


def test_a_checkpoint_goes_on_with_the_same_price() -> None:
    book, other = priced(price=0.1), priced(price=0.1)
    book.learn_prices(book.judge(streams_with(0.37)))
    other.prices.load_json(json.loads(json.dumps(book.prices.to_json())))
    for violation_rate in (0.21, 0.4):
        assert book.learn_prices(book.judge(streams_with(violation_rate))) == other.learn_prices(
            other.judge(streams_with(violation_rate))
        )
    assert book.prices.to_json() == other.prices.to_json() == {
        "rule": {"price": book.price(book.rules[0]), "num_updates": 3}
    }  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"other": {"price": 1.0, "num_updates": 1}},
        {"rule": None},
        {"rule": {"price": 1.0}},
        {"rule": {"price": "dear", "num_updates": 1}},
        {"rule": {"price": -1.0, "num_updates": 1}},
        {"rule": {"price": float("nan"), "num_updates": 1}},
        {"rule": {"price": float("inf"), "num_updates": 1}},
        {"rule": {"price": 1.0, "num_updates": -1}},
        {"rule": {"price": 1.0, "num_updates": 1.5}},
        {"rule": {"price": 1.0, "num_updates": True}},
    ],
)
def test_a_bad_checkpoint_is_refused_and_changes_nothing(data: object) -> None:
    book = priced(price=0.1)
    with pytest.raises(CheckpointError, match=r"price"):
        book.prices.load_json(data)
    assert book.price(book.rules[0]) == 0.1


def test_a_checkpoint_may_hold_no_price_and_no_update() -> None:
    book = priced(price=0.1)
    book.prices.load_json({"rule": {"price": 0.0, "num_updates": 0}})
    assert book.price(book.rules[0]) == 0.0
