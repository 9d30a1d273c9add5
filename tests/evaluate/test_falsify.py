"""The falsifier finds what it is asked for, and what it finds can be met again."""

import numpy as np
import pytest

from standing_orders.cage2.attacks import random_attacks
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate.falsify import Target, breed, falsify
from standing_orders.rules.orders import Order
from standing_orders.rules.temporal import TemporalRule
from standing_orders.tables import to_text

GAME = SimConfig(red="meander", horizon=30)
ORDER = Order.parse("critical_first").index


def target(**options: object) -> Target:
    values = {"policy": ScriptedDefender("react_remove"), "game": GAME, "aim": "return"} | options
    return Target(**values)  # type: ignore[arg-type]


def test_the_attack_found_is_worse_than_random_ones_and_repeats() -> None:
    found = falsify(target(), budget=2_000, seed=1)
    assert found.worst.reward < found.worst_random.reward < found.mean.reward
    assert target().play(found.attack[None]).outcome(0) == found.worst
    again = falsify(target(), budget=2_000, seed=1)
    assert (again.attack == found.attack).all()


def test_an_order_is_broken_more_often_than_by_chance() -> None:
    found = falsify(target(aim="order", order=ORDER), budget=1_500, seed=1)
    assert found.worst.violations is not None
    assert found.worst_random.violations is not None
    assert found.worst.violations >= found.worst_random.violations > 0
    assert "worst of 1,500 searched" in to_text(found.tables())


def test_a_rule_is_broken_where_it_can_be() -> None:
    rule = TemporalRule.read("always (user -> eventually[0,6] not user)")
    found = falsify(target(aim="rule", rule=rule), budget=500, seed=1)
    assert found.worst.margin == -0.5
    assert found.to_json()["worst"]["margin"] == -0.5


def test_children_are_made_of_their_parents_and_of_fresh_draws() -> None:
    generator = np.random.default_rng(0)
    elite = random_attacks(generator, 5, 40)
    children = breed(elite, 200, generator)
    from_parents = (children[:, None] == elite).any(axis=1)
    assert 0.6 < from_parents.mean() < 0.95
    assert len(np.unique(children, axis=0)) > 150


def test_what_cannot_be_sought_is_refused() -> None:
    with pytest.raises(ConfigError, match="name the order"):
        target(aim="order")
    with pytest.raises(ConfigError, match="name the rule"):
        target(aim="rule")
    with pytest.raises(ConfigError, match="at least 50"):
        falsify(target(), budget=10, seed=0)
