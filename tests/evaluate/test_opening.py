"""Decoys that are planned for the first steps."""

from typing import Any

import numpy as np
import pytest

from standing_orders.api import policies
from standing_orders.api.policies import keep_rules, load_policy
from standing_orders.cage2.actions import encode
from standing_orders.config import GameConfig, SimConfig
from standing_orders.errors import ConfigError
from standing_orders.evaluate import opening
from standing_orders.learn import opening as search
from standing_orders.learn.policy import LearnedDefender
from standing_orders.report.record import record

GOOD = encode("DecoyApache", "User2")
BAD = encode("Restore", "Op_Server0")


def _defender(name: str = "zoo/leaderboard") -> LearnedDefender:
    policy: Any = load_policy(name)
    return policy.defender


def _plan(policy: LearnedDefender, steps: int = 1, **options: Any) -> LearnedDefender:
    game = GameConfig(rules="leaderboard-2022", observation="stock")
    reds = ("b_line", "sleep")
    return opening.plan_opening(policy, game, reds=reds, num_steps=steps, seed=1, **options)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_ROUNDS", ((1, 100),))
    monkeypatch.setattr(search, "_CHECK_EPISODES", 300)


def test_an_opening_is_played_first_and_remembered() -> None:
    config = SimConfig(rules="leaderboard-2022", observation="stock", horizon=12)
    own = _defender()
    other = own.opening_with((GOOD, GOOD))
    played = [record(one, config, range(8)).actions for one in (own, other)]
    assert (played[1][:2] == GOOD).all()
    assert not (played[0][:2] == GOOD).all()
    seeds = np.arange(1, dtype=np.uint64)
    other.reset(seeds)
    for _ in range(3):
        other.act(np.zeros((1, 52), np.int8))
    assert other._encoder._memories.sum() == 2  # decoys that its network sees
    assert own.opening == ()


@pytest.mark.usefixtures("few")
def test_a_decoy_that_is_clearly_better_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "useful_decoys", lambda: [BAD, GOOD])
    told: list[str] = []
    planned = _plan(_defender(), report=told.append)
    assert [line[-6:] for line in told] == [" ahead", ": kept"]
    assert planned.opening == (GOOD,)
    assert planned.name.endswith("opening DecoyApache User2")


@pytest.mark.usefixtures("few")
def test_what_is_not_better_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "useful_decoys", lambda: [BAD])
    own = _defender()
    assert _plan(own, steps=3) is own


def test_policies_that_cannot_be_planned_are_refused() -> None:
    with pytest.raises(ConfigError, match="needs a trained policy"):
        policies.plan_opening(load_policy("sleep"), 1)
    calm = keep_rules(load_policy("zoo/leaderboard"), ["calm = always (restores_10 <= 2)"])
    with pytest.raises(ConfigError, match="keeps rules"):
        policies.plan_opening(calm, 1)
