"""The baselines that learn do learn, and the price of a violation follows its share."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from standing_orders.compare.config import CompareConfig
from standing_orders.compare.lagrangian import LagrangianTrainer
from standing_orders.compare.run import compare
from standing_orders.compare.sac import Replay, Sac, SacSettings, soft_value
from standing_orders.compare.summary import summarise
from standing_orders.config import SimConfig, TrainConfig


def test_the_soft_value_of_hand_made_numbers() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.5], [1.0, 1e-30]]))
    values = torch.tensor([[1.0, 3.0], [4.0, 0.0]])
    found = soft_value(logits, values, torch.tensor(2.0))
    assert found.tolist() == pytest.approx([2 + 2 * math.log(2), 4.0])


def test_the_oldest_transitions_are_replaced() -> None:
    replay = Replay(3, 1)
    for i in range(5):
        one = np.full((1, 1), i, np.int8)
        replay.add(one, np.array([i]), np.array([float(i)], np.float32), one)
    assert len(replay) == 3
    assert sorted(replay.actions.tolist()) == [2, 3, 4]


def test_sac_is_repeatable_and_its_weights_move() -> None:
    settings = SacSettings(num_envs=5, warm_up=100, hidden=(8,))
    nets = []
    for _ in range(2):
        learner = Sac(SimConfig(horizon=30), seed=4, settings=settings)
        before = learner.network.actor[0].weight.detach().clone()
        assert learner.train(10) == 10
        assert not torch.equal(before, learner.network.actor[0].weight)
        nets.append(learner.network.actor[0].weight.detach())
    assert torch.equal(*nets)


@pytest.mark.slow
def test_sac_defends_much_better_than_chance(tmp_path: Path) -> None:
    config = CompareConfig(
        contestants=("random", "sac"), reds=("b_line",), seeds=1, episodes=100, train_episodes=1_500
    )
    chance, learned = summarise(compare(config, tmp_path / "c")).rows
    assert learned.returns["b_line"].value > 0.5 * chance.returns["b_line"].value


def test_the_price_of_a_violation_is_learned_while_training() -> None:
    config = TrainConfig(
        order="balanced", episodes=60, update_episodes=20, certainty="none", ppo={"hidden": (8,)}
    )
    trainer = LagrangianTrainer(config)
    records = [trainer.step()]
    broken = 1 - records[0]["compliance"]["strict"]
    assert trainer.price == pytest.approx(5.0 * (broken - (1 - config.gate.threshold)))
    assert trainer.price > 0
    records.append(trainer.step())
    assert records[0]["reward"]["alignment"] == 0.0
    assert records[1]["reward"]["alignment"] < 0.0


def test_a_lawful_contestant_keeps_its_order(tmp_path: Path) -> None:
    config = CompareConfig(
        contestants=("heuristic@reverse", "lawful:heuristic@reverse"), reds=("b_line",), seeds=1,
        episodes=30, head_start=20,
    )  # fmt: skip
    plain, lawful = summarise(compare(config, tmp_path / "c")).rows
    assert lawful.figures["contested"] is not None
    assert plain.figures["contested"] is not None
    assert lawful.figures["contested"] > 0.9 > plain.figures["contested"]
