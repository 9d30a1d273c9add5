"""Training with temporal rules: kept by construction, or for a price that is learned."""

from typing import Any

import pytest

from standing_orders.errors import ConfigError
from standing_orders.learn.build import layout_of
from standing_orders.learn.trainer import Trainer
from tests.learn.test_trainer import config, same_arrays, train

CALM = "calm = restore -> not once[1,1] restore"
RATION = "ration = restores_10 <= 1"
ANSWER = "answer = user -> eventually[0,3] not user"


def trained(**options: Any) -> tuple[Trainer, list[dict[str, Any]]]:
    trainer = Trainer(config(**options))
    return trainer, train(trainer)


def test_rules_about_blues_own_actions_are_kept_from_the_first_episode_on() -> None:
    free = trained(rule=())[1]
    assert "rules" not in free[0]
    _, records = trained(rule=(CALM, RATION))
    assert [record["rules"] for record in records] == [
        {"calm": {"broken": 0.0}, "ration": {"broken": 0.0}}
    ] * 3


def test_a_mask_adds_inputs_and_a_price_adds_none() -> None:
    sizes = [layout_of(config(rule=rule)).size for rule in ((), (ANSWER,), (CALM, ANSWER))]
    assert sizes[1] == sizes[0]
    assert sizes[2] == sizes[0] + 5


def test_the_price_rises_while_the_rule_is_broken_too_often() -> None:
    _, records = trained(rule=(ANSWER,), prices={"price": 2.0, "price_rate": 1.0, "target": 0.9})
    prices = [record["rules"]["answer"]["next_price"] for record in records]
    assert records[0]["rules"]["answer"]["price"] == 2.0
    assert prices == sorted(prices)
    assert prices[-1] > 2.5
    assert records[0]["reward"]["rules"] <= -0.5 * records[0]["rules"]["answer"]["broken"]
    assert records[0]["reward"]["total"] == records[0]["reward"]["environment"]  # never mixed


def test_a_run_with_prices_resumes_to_the_same_bits() -> None:
    whole, records = trained(rule=(CALM, ANSWER), episodes=80)
    first = Trainer(config(rule=(CALM, ANSWER), episodes=80))
    train(first, updates=2)
    second = Trainer(config(rule=(CALM, ANSWER), episodes=80))
    second.restore(first.to_arrays(), first.to_json())
    assert train(second) == records[2:]
    assert same_arrays(whole, second)
    assert second.progress.price_episodes == 4 * whole.config.prices.episodes


def test_a_wrong_rule_is_refused_before_anything_is_played() -> None:
    with pytest.raises(ConfigError, match="no signal is called `castle`"):
        Trainer(config(rule=("castle -> fix",)))
