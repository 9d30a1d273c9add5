"""Every collector plays the same episodes in a real CybORG; skipped where it is not installed."""

from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.cyborg import CyborgSource
from standing_orders.collect.choose import open_collector
from standing_orders.collect.games import Games, GameSpec
from standing_orders.collect.local import BatchCollector
from standing_orders.collect.plan import deal_reds, make_plan
from standing_orders.config import CollectConfig, GameConfig, RuleSet
from tests.collect.conftest import make_actor

pytestmark = pytest.mark.cyborg


@pytest.fixture
def spec(source: CyborgSource, rules: RuleSet) -> GameSpec:
    """A short game against all red agents."""
    return GameSpec(GameConfig(rules=rules), "mixed", horizon=12, cyborg=source)


@pytest.mark.parametrize("name", ["batch", "lockstep", "episodes"])
def test_every_collector_plays_the_same_episodes(spec: GameSpec, name: Any) -> None:
    orders = np.arange(7) * 11
    plan = make_plan(orders, reds=deal_reds("mixed", 7), steps=spec.horizon, seed=5)
    wanted = BatchCollector(spec, at_once=1).play(make_actor(), plan)
    config = CollectConfig(collect=name, workers=2)
    with open_collector(spec, config, report=pytest.fail) as collector:
        for _ in range(2):
            found = collector.play(make_actor(), plan)
            for part in vars(wanted):
                assert np.array_equal(getattr(found, part), getattr(wanted, part)), part
    assert wanted.held_hosts.any()


def test_simulations_are_built_once_for_all_numbers_of_them(spec: GameSpec) -> None:
    games = Games(spec)
    three: Any = games.of(3)
    two: Any = games.of(2)
    assert two.envs == three.envs[:2]
    assert games.of(3) is three
