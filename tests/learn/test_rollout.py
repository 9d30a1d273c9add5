"""Complete episodes: what is recorded is what was played."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.scenario import UNIT_TYPE_HOSTS
from standing_orders.collect.plan import Switches
from standing_orders.config import SimConfig
from standing_orders.learn.inputs import InputEncoder
from standing_orders.learn.rollout import Rollout, collect
from standing_orders.rules.compliance import top_held
from standing_orders.rules.orders import ENCODINGS

Make = Callable[..., Any]
TYPE_OF_HOST = np.array([0, 1, 1, 1, 3, 3, 3, 2, 4, 4, 4, 4, 4])


def equal(first: Rollout, second: Rollout) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in vars(first))


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"has_memory": True},
        {"has_belief": True, "certainty": 0.95},
        {"has_belief": True, "has_memory": True, "has_clock": True, "certainty": 0.9},
    ],
)
def test_inputs_and_rewards_are_those_of_the_actions_replayed(
    network: Make, layout: dict[str, Any]
) -> None:
    net = network(**layout)
    game = SimConfig(red="meander", horizon=40)
    batch = Cage2Batch(6, game)
    orders = np.arange(6) * 20
    played = collect(batch, net, orders, seed=9)
    encoder = InputEncoder(net.layout, orders, game)
    observations = batch.reset(9)
    for step in range(40):
        row = encoder.encode(observations, np.zeros((6, net.layout.size), np.int8))
        assert np.array_equal(row, played.inputs[step])
        encoder.note(played.actions[step])
        observations, tenths = batch.step(played.actions[step])
        assert np.array_equal(tenths / 10, played.rewards[step])
    row = encoder.encode(observations, np.zeros((6, net.layout.size), np.int8))
    assert np.array_equal(row, played.inputs[40])
    assert played.mean_return == pytest.approx(played.rewards.sum() / 6)


def test_the_same_seed_gives_the_same_episodes_and_another_does_not(
    network: Make, rollout: Make
) -> None:
    net = network()
    assert equal(rollout(net, seed=1), rollout(net, seed=1))
    assert not np.array_equal(rollout(net, seed=1).actions, rollout(net, seed=2).actions)


def test_a_batch_remembers_nothing_of_earlier_episodes(network: Make) -> None:
    net, batch = network(), Cage2Batch(4, SimConfig())
    orders = np.zeros(4, dtype=np.int64)
    first = collect(batch, net, orders, seed=1)
    collect(batch, net, orders, seed=2)
    assert equal(first, collect(batch, net, orders, seed=1))


def test_greedy_takes_the_likeliest_action(network: Make, rollout: Make) -> None:
    net = network()
    played = rollout(net, is_greedy=True)
    with torch.no_grad():
        for step in range(100):
            logits = net.logits(net.prepare(played.inputs[step])).numpy()
            assert np.array_equal(logits.argmax(axis=1), played.actions[step])


def test_being_judged_by_another_order_changes_the_verdicts_and_nothing_else(
    network: Make, rollout: Make
) -> None:
    net = network()
    told = rollout(net, order=0)
    judged = rollout(net, order=0, judged_by=np.full(16, 119))
    for name in ("inputs", "actions", "rewards", "num_held", "held_hosts"):
        assert np.array_equal(getattr(told, name), getattr(judged, name))
    assert not np.array_equal(told.verdicts, judged.verdicts)
    assert not np.array_equal(told.top, judged.top)


def expected_violations(net: Any, played: Rollout, factor: float) -> tuple[float, float]:
    """Mean and variance of the number of violations, by the odds of every step."""
    with torch.no_grad():
        logits = net.logits(net.prepare(played.inputs[:-1].reshape(-1, 77))).double().numpy()
    top = played.top.ravel()[:, None]
    is_bad = np.zeros((len(logits), 145), dtype=bool)
    for first in (15, 132):
        is_bad[:, first : first + 13] = (top >= 0) & (top != TYPE_OF_HOST)
    odds = np.exp(logits) * np.where(is_bad, factor, 1.0)
    probs = (odds * is_bad).sum(axis=1) / odds.sum(axis=1)
    return float(probs.sum()), float((probs * (1 - probs)).sum())


@pytest.mark.parametrize("factor", [None, 0.1])
def test_a_mask_makes_violations_a_tenth_as_likely_while_playing(
    network: Make, rollout: Make, factor: float | None
) -> None:
    net = network()
    played = rollout(net, num_envs=100, mask_factor=factor)
    mean, variance = expected_violations(net, played, factor or 1.0)
    assert abs(played.counts.violations - mean) < 4 * variance**0.5
    if factor is not None:
        unmasked, _ = expected_violations(net, played, 1.0)
        assert played.counts.violations < 0.2 * unmasked


def test_an_order_that_changes_is_told_and_judged_by_from_its_step_on(network: Make) -> None:
    game = SimConfig(red="meander", head_start=20)
    net, steps = network(), np.array([1, 40, 99, 101])
    first, then = np.full(4, 0), np.full(4, 119)
    played = collect(Cage2Batch(4, game), net, first, seed=3, switches=Switches(steps, then))
    told = played.inputs[:, :, net.layout.blocks["order"]]
    tops = np.zeros((2, *played.top.shape), dtype=np.int64)
    for step, row in np.ndindex(101, 4):
        order = 0 if step < steps[row] else 119
        assert np.array_equal(told[step, row], ENCODINGS[order])
        if step < 100:
            held = int(played.held_hosts[step, row])
            types = sum(1 << t for t, hosts in enumerate(UNIT_TYPE_HOSTS) if held & hosts)
            tops[:, step, row] = top_held(types, order), top_held(types, 0)
    assert np.array_equal(played.top, tops[0])
    assert not np.array_equal(played.top, tops[1])  # so that the change of the judge is seen
