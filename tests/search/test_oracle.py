"""The restore oracle against one in plain Python that reads the states of a batch."""

import numpy as np
import pytest

from standing_orders.cage2.actions import encode
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.scenario import HOSTS
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import Order
from standing_orders.search.oracle import oracle_returns
from standing_orders.seeding import child_seed, environment_seeds

PREFIX = {
    "defender": "Defender",
    "enterprise": "Enterprise",
    "op_server": "Op_Server",
    "op_host": "Op_Host",
    "user": "User",
}


def plain_action(held: int, order: int) -> int:
    names = [name for index, name in enumerate(HOSTS) if held >> index & 1]
    for unit_type in str(Order(order)).split(">"):
        for name in names:
            if name.startswith(PREFIX[unit_type]):
                return encode("Restore", name)
    return encode("Sleep")


def plain_returns(config: SimConfig, order: int, num_episodes: int, seed: int) -> list[int]:
    batch = Cage2Batch(num_episodes, config)
    batch.reset(environment_seeds(child_seed(seed, "oracle", config.red), num_episodes))
    total = np.zeros(num_episodes, dtype=np.int64)
    for _ in range(config.horizon):
        _, rewards = batch.step([plain_action(int(h), order) for h in batch.states["held"]])
        total += rewards
    return total.tolist()


@pytest.mark.parametrize(
    "config",
    [
        SimConfig(),
        SimConfig(head_start=20),
        SimConfig(red="meander", head_start=30, red_tempo=2),
        SimConfig(red="meander", rules="leaderboard-2022", red_tempo=3, horizon=60),
    ],
)
def test_the_oracle_plays_as_one_in_plain_python(config: SimConfig) -> None:
    returns = oracle_returns(config, 6, 11)
    for order in (0, 5, 38, 71, 99, 117, 119):
        assert returns[order].tolist() == plain_returns(config, order, 6, 11)


def test_an_episode_depends_on_seed_and_number_alone() -> None:
    config = SimConfig(head_start=20)
    assert np.array_equal(oracle_returns(config, 20, 0)[:, :5], oracle_returns(config, 5, 0))
    assert not np.array_equal(oracle_returns(config, 5, 1), oracle_returns(config, 5, 0))


def test_orders_matter_when_blue_comes_late_and_not_otherwise() -> None:
    late = oracle_returns(SimConfig(head_start=20), 200, 0).mean(axis=1) / 10
    assert -58 < late.max() < -56
    assert -90 < late.min() < -86
    assert (late == late.max()).sum() == 20
    assert late[Order.parse("critical_first").index] == late.max()
    standard = oracle_returns(SimConfig(), 200, 0).mean(axis=1) / 10
    assert standard.max() == standard.min() == pytest.approx(-52.2, abs=0.5)


def test_it_takes_at_least_one_episode() -> None:
    with pytest.raises(ConfigError, match="episodes = 0"):
        oracle_returns(SimConfig(), 0, 0)
