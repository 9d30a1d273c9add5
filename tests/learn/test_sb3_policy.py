"""Models that Stable-Baselines3 has saved play as policies."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError, DataError
from standing_orders.evaluate.find import find_policy
from standing_orders.learn.sb3 import Cage2VecEnv
from standing_orders.rules.lawful import LawfulPolicy

sb3 = pytest.importorskip("stable_baselines3")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Stable-Baselines3 itself
SMALL: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 8, "batch_size": 16, "n_epochs": 1},
    "A2C": {"n_steps": 8},
    "DQN": {"learning_starts": 4, "buffer_size": 100},
}


@pytest.mark.parametrize("algorithm", SMALL)
def test_a_saved_model_plays_as_it_did_before(algorithm: str, tmp_path: Path) -> None:
    env = Cage2VecEnv(2, SimConfig(horizon=10))
    small = {"policy_kwargs": {"net_arch": [8]}, "seed": 1, **SMALL[algorithm]}
    model = getattr(sb3, algorithm)("MlpPolicy", env, **small).learn(32)
    path = tmp_path / "mine.zip"
    model.save(path)
    policy = find_policy(str(path))
    assert policy.name == "mine.zip"
    policy.reset(np.arange(3, dtype=np.uint64))
    batch = Cage2Batch(3, SimConfig(horizon=10))
    observations = batch.reset(5)
    for _ in range(10):
        actions = policy.act(observations)
        assert np.array_equal(actions, model.predict(observations, deterministic=True)[0])
        observations, _ = batch.step(actions)


def test_a_saved_model_is_held_to_an_order(tmp_path: Path) -> None:
    path = tmp_path / "mine.zip"
    env = Cage2VecEnv(2, SimConfig(horizon=10))
    sb3.A2C("MlpPolicy", env, policy_kwargs={"net_arch": [8]}, seed=1).save(path)
    policy = find_policy(str(path), order="7")
    assert isinstance(policy, LawfulPolicy)
    assert (policy.name, policy.orders) == ("lawful mine.zip", (7,))
    with pytest.raises(ConfigError, match="order 'first'"):
        find_policy(str(path), order="first")


def test_a_model_of_another_game_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    sb3.A2C("MlpPolicy", "CartPole-v1").save(path)
    with pytest.raises(ConfigError, match=r"shape \(4,\) and 2 actions: must be \(52,\) and 145"):
        find_policy(str(path))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.zip"
    with pytest.raises(DataError, match=r"none\.zip: not a model"):
        find_policy(str(path))
    path.write_bytes(b"not a zip file")
    with pytest.raises(DataError, match="not a model"):
        find_policy(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("something", "else")
    with pytest.raises(DataError, match="not a model"):
        find_policy(str(path))
    with pytest.raises(DataError, match="not a model"):
        find_policy(str(path), order="7")
