"""PPO on tasks with a known answer.

Settings and bounds hold with room on seeds 11 and 12; the seeds here had no part in choosing them.
"""

from typing import Any

import pytest

from standing_orders.config import TrainConfig
from standing_orders.learn.trainer import Trainer


def train(**options: Any) -> list[dict[str, Any]]:
    trainer = Trainer(TrainConfig(**options))
    records = []
    while not trainer.is_done:
        records.append(trainer.step())
    return records


def returns(records: list[dict[str, Any]]) -> list[float]:
    return [record["reward"]["environment"] for record in records]


@pytest.mark.parametrize("advantages", ["gae", "monte-carlo"])
def test_against_an_attacker_that_sleeps_it_learns_not_to_restore(advantages: str) -> None:
    """The optimum is 0; an untrained policy pays 1 for each of about nine restores."""
    ppo = {"hidden": (16,), "learning_rate": 1e-2, "entropy": 0.0, "advantages": advantages}
    found = returns(
        train(order="none", red="sleep", episodes=400, update_episodes=20, ppo=ppo, seed=101)
    )
    assert found[0] < -6
    assert found[-1] > -0.5


def test_against_b_line_five_hundred_episodes_help() -> None:
    ppo = {"hidden": (32,), "learning_rate": 1e-2, "entropy": 0.002}
    found = returns(train(order="none", episodes=490, update_episodes=35, ppo=ppo, seed=102))
    assert found[0] < -300
    assert sum(found[-5:]) / 5 > -230


@pytest.mark.slow
def test_against_b_line_sixteen_hundred_episodes_help_a_lot() -> None:
    ppo = {"hidden": (32,), "learning_rate": 5e-3, "entropy": 0.002}
    found = returns(train(order="none", episodes=1_600, update_episodes=50, ppo=ppo, seed=102))
    assert found[0] < -300
    assert sum(found[-5:]) / 5 > -120


def test_an_order_is_kept_from_the_first_update_to_the_last() -> None:
    """User before enterprise is the hard one."""
    records = train(
        order="user_priority", episodes=300, update_episodes=50, ppo={"hidden": (32,)}, seed=103
    )
    for record in records:
        assert record["compliance"]["strict"] > 0.93
        assert record["compliance"]["contested"] > 0.85
