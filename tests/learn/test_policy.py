"""A learned defender plays what its network says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import SimConfig
from standing_orders.learn.policy import LearnedDefender
from standing_orders.learn.rollout import collect
from standing_orders.seeding import environment_seeds

Make = Callable[..., Any]
GAME = SimConfig(red="meander", horizon=40)
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"has_order": False},
    {"has_memory": True},
    {"has_belief": True, "has_memory": True, "certainty": 0.95},
]


def play(defender: LearnedDefender, seed: int, num_envs: int, steps: int = 40) -> np.ndarray:
    batch = Cage2Batch(num_envs, SimConfig(red="meander", horizon=steps))
    defender.reset(environment_seeds(seed, num_envs))
    observations = batch.reset(seed)
    actions = []
    for _ in range(steps):
        actions.append(defender.act(observations).copy())
        observations, _ = batch.step(actions[-1])
    return np.array(actions)


def sharp(net: Any, factor: float = 200.0) -> Any:
    """Away from uniform, so that actions depend on what is seen."""
    with torch.no_grad():
        net.actor[-1].weight.mul_(factor)
    return net


@pytest.mark.parametrize("layout", LAYOUTS)
def test_greedily_it_does_what_a_greedy_rollout_does(network: Make, layout: Any) -> None:
    net = sharp(network(**layout))
    batch = Cage2Batch(8, GAME)
    rollout = collect(batch, net, np.full(8, 33), seed=4, is_greedy=True)
    defender = LearnedDefender(net, name="it", game=GAME, orders=(33,), is_greedy=True)
    assert np.array_equal(play(defender, 4, 8), rollout.actions)
    assert len(np.unique(rollout.actions)) > 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_told_an_order_it_draws_what_a_rollout_of_the_same_seed_draws(
    network: Make, layout: Any
) -> None:
    net = sharp(network(**layout), 60.0)
    batch = Cage2Batch(8, GAME)
    rollout = collect(batch, net, np.full(8, 33), seed=4)
    told = LearnedDefender(net, name="it", game=GAME, orders=range(120)).told(33)
    assert np.array_equal(play(told, 4, 8), rollout.actions)
    assert told.orders == (33,)


def test_it_draws_with_the_probabilities_of_the_network(network: Make) -> None:
    net = sharp(network(), 60.0)
    count = 40_000
    defender = LearnedDefender(net, name="it", orders=(7,))
    defender.reset(environment_seeds(1, count))
    observations = np.zeros((count, 52), dtype=np.int8)
    batch = Cage2Batch(1, SimConfig())
    told = collect(batch, net, np.array([7]), seed=0).inputs[0]
    with torch.no_grad():
        probs = torch.softmax(net.logits(net.prepare(told)).double(), dim=1).numpy()[0]
    for _ in range(2):
        seen = np.bincount(defender.act(observations), minlength=145)
        assert stats.chisquare(seen, probs * count).pvalue > 1e-3


def test_draws_of_different_turns_are_independent(network: Make) -> None:
    defender = LearnedDefender(network(), name="it")
    defender.reset(environment_seeds(1, 5000))
    observations = np.zeros((5000, 52), dtype=np.int8)
    first, second = (defender.act(observations).astype(float) for _ in range(2))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.06


@pytest.mark.parametrize("is_greedy", [False, True])
def test_the_same_seed_gives_the_same_actions_whatever_the_batch(
    network: Make, is_greedy: bool
) -> None:
    net = sharp(network(has_memory=True), 30.0)
    defender = LearnedDefender(net, name="it", orders=range(120), is_greedy=is_greedy)
    together = play(defender, 50, 12)
    assert np.array_equal(play(defender, 50, 12), together)
    for i in (0, 5, 11):
        assert np.array_equal(play(defender, 50 + i, 1)[:, 0], together[:, i])


def test_each_environment_is_told_the_order_of_its_seed(network: Make) -> None:
    net = sharp(network(), 2000.0)
    orders = (3, 50, 117)
    alone = {
        order: play(LearnedDefender(net, name="it", orders=(order,), is_greedy=True), 30, 6, 5)
        for order in orders
    }
    mixed = play(LearnedDefender(net, name="it", orders=orders, is_greedy=True), 30, 6, 5)
    for i in range(6):
        assert np.array_equal(mixed[:, i], alone[orders[(30 + i) % 3]][:, i])
    assert len({alone[order].tobytes() for order in orders}) == 3


def test_in_another_game_it_believes_by_the_rules_of_that_game(network: Make) -> None:
    net = sharp(network(has_belief=True, certainty=0.95), 60.0)
    late = SimConfig(red="meander", horizon=40, head_start=20)
    defender = LearnedDefender(net, name="it", game=late, orders=(33,), draws="shared")
    rollout = collect(Cage2Batch(8, GAME), net, np.full(8, 33), seed=4)
    moved = defender.in_game(GAME)
    assert (moved.game, moved.orders, moved.name) == (GAME, (33,), "it")
    assert np.array_equal(play(moved, 4, 8), rollout.actions)
    assert defender.in_game(late) is defender
    assert defender.game == late
