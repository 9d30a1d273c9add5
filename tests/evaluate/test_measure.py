"""The one measurement: same episodes, same figures, whoever asks."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.collect.local import BatchCollector
from standing_orders.config import GateConfig, SimConfig, TrainConfig
from standing_orders.evaluate.measure import (
    MAX_BATCH,
    Measured,
    fresh_seeds,
    late_start,
    measure,
    play,
)
from standing_orders.learn.build import _batches, game_of, make_network, measure_network
from standing_orders.learn.rollout import collect
from standing_orders.rules.compliance import count_with_late
from standing_orders.rules.orders import Order
from standing_orders.seeding import environment_seeds
from standing_orders.stats import pooled_ratio

GAME = SimConfig(red="meander", horizon=20)


def batch(num_envs: int) -> Cage2Batch:
    return Cage2Batch(num_envs, GAME)


def restorer() -> ScriptedDefender:
    return ScriptedDefender("react_restore")


def test_a_network_is_measured_in_the_episodes_that_a_rollout_plays() -> None:
    config = TrainConfig(order="7", red="mixed", ppo={"hidden": (4,)}, head_start=20)
    network = make_network(config)
    found = measure_network(network, config, environment_seeds(5, 30))
    rollout = collect(BatchCollector(game_of(config)), network, np.full(30, 7), seed=5)
    assert found.kept == rollout.counts
    assert found.mean_return == pytest.approx(rollout.mean_return)
    groups = [rollout.rewards.sum(axis=0)[red::3] for red in range(3)]
    variance = sum(10 * group.var(ddof=1) for group in groups)
    assert found.std_error == pytest.approx(np.sqrt(variance) / 30)


def test_the_foothold_counts_if_asked_for() -> None:
    config = TrainConfig(
        order="7", ppo={"hidden": (4,), "belief": False}, alignment={"count_foothold": True},
        certainty="none", gate={"kind": "strict"},
    )  # fmt: skip
    network = make_network(config)
    found = measure_network(network, config, environment_seeds(5, 10))
    rollout = collect(
        BatchCollector(game_of(config)), network, np.full(10, 7), seed=5, count_foothold=True
    )
    assert found.kept == rollout.counts
    assert found.kept.held_steps == 10 * 100


def test_where_the_gate_is_contested_half_of_the_episodes_start_late() -> None:
    """Each half is a rollout of its own seeds; only contested fixes of the second count."""
    config = TrainConfig(order="7", ppo={"hidden": (4,)}, certainty="none")
    network, seeds = make_network(config), environment_seeds(5, 21)
    found = measure_network(network, config, seeds)
    first, late = (
        collect(BatchCollector(game_of(game)), network, np.full(count, 7), seed=seed)
        for game, count, seed in (
            (config, 11, 5),
            (config.model_copy(update={"head_start": 20}), 10, 16),
        )
    )
    assert found.mean_return == pytest.approx(first.mean_return)
    assert found.kept == count_with_late(first.tallies, late.tallies)
    assert found.kept.contested > first.counts.contested
    assert found.kept.judged == first.counts.judged


@pytest.mark.parametrize(
    ("gate", "head_start", "late"),
    [({}, 0, 20), ({"contested_starts": 7}, 0, 7), ({}, 3, 0), ({"kind": "strict"}, 0, 0)],
)
def test_episodes_start_late_only_where_the_game_has_no_head_start(
    gate: dict[str, Any], head_start: int, late: int
) -> None:
    assert late_start(SimConfig(head_start=head_start), GateConfig(**gate)) == late


def test_episodes_beyond_one_batch_are_those_of_their_seeds() -> None:
    seeds = fresh_seeds(3, MAX_BATCH + 30)
    parts = _batches(seeds[MAX_BATCH - 20 :])
    assert [part.tolist() for part in parts] == [
        seeds[MAX_BATCH - 20 : MAX_BATCH].tolist(), seeds[MAX_BATCH:].tolist(),
    ]  # fmt: skip
    assert [len(part) for part in _batches(environment_seeds(0, MAX_BATCH + 1))] == [MAX_BATCH, 1]


def test_an_episode_does_not_depend_on_how_many_are_played_with_it() -> None:
    seeds = environment_seeds(3, MAX_BATCH + 20)
    many = play(restorer(), batch, seeds, judged_by=[0, 119])
    few = play(restorer(), batch, seeds[-15:], judged_by=[0, 119])
    assert np.array_equal(many.returns[-15:], few.returns)
    assert np.array_equal(many.tallies[:, -15:], few.tallies)


def test_each_judge_judges_the_same_episodes() -> None:
    seeds = environment_seeds(3, 50)
    both = play(restorer(), batch, seeds, judged_by=[4, 90])
    for row, judge in enumerate((4, 90)):
        alone = play(restorer(), batch, seeds, judged_by=[judge])
        assert np.array_equal(both.tallies[row], alone.tallies[0])
    assert not np.array_equal(both.tallies[0], both.tallies[1])


def test_returns_are_noted_at_every_horizon() -> None:
    seeds = environment_seeds(3, 10)
    noted = play(restorer(), batch, seeds, horizons=(5, 20)).returns
    short = SimConfig(red="meander", horizon=5)
    assert np.array_equal(
        noted[:, 0], play(restorer(), partial(Cage2Batch, config=short), seeds).returns[:, 0]
    )
    assert np.array_equal(noted[:, 1], play(restorer(), batch, seeds).returns[:, 0])


def test_progress_adds_up() -> None:
    counts: list[int] = []
    play(restorer(), batch, environment_seeds(0, MAX_BATCH + 5), advance=counts.append)
    assert counts == [MAX_BATCH, 5]


def test_fresh_seeds_are_all_different_and_repeat() -> None:
    seeds = fresh_seeds(9, 2 * MAX_BATCH + 7)
    assert len(set(seeds.tolist())) == 2 * MAX_BATCH + 7
    assert np.array_equal(seeds[: MAX_BATCH + 1], fresh_seeds(9, MAX_BATCH + 1))
    assert not set(seeds.tolist()) & set(fresh_seeds(10, 100).tolist())


@pytest.fixture
def measured() -> Callable[..., Measured]:
    def make(**gate: Any) -> Measured:
        order = Order.parse("least_critical_first").index
        return measure(
            restorer(), batch, environment_seeds(1, 40), order=order, gate=GateConfig(**gate)
        )

    return make


def test_the_gate_is_part_of_it(measured: Callable[..., Measured]) -> None:
    strict = measured().strict.value
    assert strict is not None
    easy = {"kind": "strict", "min_judged": 10}
    assert measured(**easy, threshold=strict).gate.verdict == "passed"
    assert measured(**easy, threshold=strict + 0.01).gate.verdict == "failed"
    assert measured(min_judged=10**6).gate.verdict == "untested"
    assert measured(min_judged=10, threshold=strict).gate.verdict == "untested"  # few contested


def test_it_survives_the_journal(measured: Callable[..., Measured]) -> None:
    found = measured()
    assert Measured.from_json(found.to_json()) == found
    assert found.strict != pooled_ratio(np.array([1]), np.array([2]))
