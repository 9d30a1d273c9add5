"""Two one-sided tests say equivalent, different or undecided, and are right about it."""

from typing import Any

import numpy as np
import pytest

from standing_orders.collect.choose import open_collector
from standing_orders.collect.games import GameSpec
from standing_orders.collect.local import BatchCollector
from standing_orders.collect.loop import Actor, Timing
from standing_orders.collect.plan import Plan
from standing_orders.collect.rollout import Rollout, empty_rollout
from standing_orders.config import CollectConfig, GameConfig, SimConfig
from standing_orders.evaluate.both import policy_actor
from standing_orders.evaluate.card import HORIZONS, play_returns
from standing_orders.evaluate.elsewhere import Elsewhere, Sample, play_sample
from standing_orders.evaluate.equivalence import compare_returns, compare_samples
from standing_orders.evaluate.find import find_policy

SPEC = GameSpec(GameConfig())


def normal(seed: int, count: int, shift: float = 0.0) -> Any:
    return np.random.default_rng(seed).normal(shift, 1.0, count)


@pytest.mark.parametrize(
    ("shift", "count", "verdict"),
    [(0.0, 2_000, "equivalent"), (1.0, 200, "different"), (0.0, 10, "undecided")],
)
def test_the_verdict_follows_the_interval(shift: float, count: int, verdict: str) -> None:
    cell = compare_returns("b_line", 30, normal(1, 2_000), normal(2, count, shift))
    assert cell.verdict == verdict
    assert cell.low < cell.difference < cell.high
    assert (cell.p_value < 0.05) == (verdict == "equivalent")


def test_figures_are_those_worked_out_by_hand() -> None:
    own, other = np.array([0.0, 2.0]), np.array([1.0, 3.0])
    cell = compare_returns("b_line", 30, own, other, margin=0.5)
    assert cell.difference == 1.0
    assert cell.margin == pytest.approx(0.5 * np.sqrt(2))
    # Standard error sqrt(2), 2 degrees of freedom: t(0.95) = 2.919986.
    assert cell.high - cell.difference == pytest.approx(2.919986 * np.sqrt(2), rel=1e-5)
    assert cell.z == pytest.approx(1 / np.sqrt(2))
    assert cell.ks_distance == 0.5


def test_the_chance_of_a_wrong_equivalent_is_kept() -> None:
    """Where the difference is just the margin, one in twenty may pass at most."""
    passed = 0
    for seed in range(400):
        own, other = normal(seed, 300), normal(10_000 + seed, 300, 0.25)
        passed += compare_returns("b_line", 30, own, other).verdict == "equivalent"
    assert passed <= 0.05 * 400 + 3 * np.sqrt(400 * 0.05 * 0.95)


def test_returns_that_never_vary_are_equivalent_only_if_equal() -> None:
    zero = np.zeros(5)
    assert compare_returns("sleep", 30, zero, zero).verdict == "equivalent"
    cell = compare_returns("sleep", 30, zero, zero - 1)
    assert (cell.verdict, cell.z) == ("different", None)


def test_compliance_is_compared_where_orders_are_told() -> None:
    tallies = np.zeros((4, 9), dtype=np.int64)
    tallies[:, 2], tallies[:, 3] = [3, 0, 1, 0], [1, 0, 0, 0]
    sample = Sample(np.zeros((4, 3), dtype=np.int64), tallies)
    found = compare_samples("x", {"b_line": (sample, sample)}, seed=0, has_orders=True)
    strict, contested = found.obeying
    assert strict.own.value == pytest.approx(4 / 5)
    assert strict.difference == 0
    assert contested.difference is None
    assert found.is_equivalent
    assert found.to_json()["compliance"][0]["difference"] == 0


def test_a_collector_plays_the_episodes_of_the_score_card() -> None:
    actor = policy_actor("heuristic")
    options: dict[str, Any] = {"horizons": HORIZONS, "num_episodes": 60, "seed": 3}
    wanted = play_returns(find_policy("heuristic"), SimConfig(red="meander"), **options)
    found = play_sample(BatchCollector(SPEC), actor, "meander", orders=(), **options)
    assert np.array_equal(found.returns, wanted)


class Noting:
    """A collector that only notes what it is asked for."""

    def __init__(self) -> None:
        self.spec, self.timing = SPEC, Timing()
        self.plans: list[Plan] = []

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        self.plans.append(plan)
        return empty_rollout(plan.steps, plan.num_episodes, actor.input_size)

    def close(self) -> None:
        """Nothing was started."""


def test_samples_of_other_sizes_are_told_the_same_orders_equally_often() -> None:
    """A policy earns other returns with other orders: a mix of others is no other simulator."""
    told, drawn = [], []
    for num_episodes in (40, 400):
        collector = Noting()
        play_sample(
            collector, policy_actor("sleep"), "meander", horizons=(1,), orders=range(120),
            num_episodes=num_episodes, seed=1, mix=40,
        )  # fmt: skip
        told.append(np.bincount(np.concatenate([p.orders for p in collector.plans])))
        drawn.append(np.concatenate([plan.policy_seeds for plan in collector.plans]))
    assert np.array_equal(10 * told[0], told[1])
    assert len(np.unique(drawn[1])) == 400
    assert np.array_equal(drawn[0], drawn[1][:40])


def test_a_score_from_elsewhere_is_the_same(recwarn: pytest.WarningsRecorder) -> None:
    actor = policy_actor("heuristic")
    options: dict[str, Any] = {"horizons": (30,), "num_episodes": 7, "seed": 3}
    config = SimConfig(red="b_line")
    wanted = play_returns(find_policy("heuristic"), config, **options)
    spec = GameSpec(GameConfig(), horizon=30)
    with open_collector(spec, CollectConfig(collect="sequential")) as collector:
        elsewhere = Elsewhere(collector, actor)
        found = play_returns(actor.policy, config, elsewhere=elsewhere, **options)
    assert np.array_equal(found, wanted)
    assert not recwarn.list
