from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.learn.sb3 import Cage2VecEnv


def test_steps_are_those_of_the_batch() -> None:
    env = Cage2VecEnv(4, SimConfig(red="meander"))
    env.seed(3)
    batch = Cage2Batch(4, SimConfig(red="meander"))
    assert (env.reset() == batch.reset(3)).all()
    for actions in np.random.default_rng(0).integers(145, size=(60, 4)):
        observations, rewards, *_ = env.step(actions)
        expected, tenths = batch.step(actions)
        assert (observations == expected).all()
        assert rewards == pytest.approx(tenths / 10)


def test_the_last_observation_comes_with_the_truncation() -> None:
    env = Cage2VecEnv(2, SimConfig(red="b_line", horizon=9))
    env.seed(0)
    env.reset()
    batch = Cage2Batch(2, SimConfig(red="b_line", horizon=9))
    batch.reset(0)
    for _ in range(9):
        observations, _, is_over, infos = env.step(np.zeros(2, dtype=np.int64))
        last, _ = batch.step(np.zeros(2, dtype=np.int64))
    assert is_over.all()
    assert not observations.any()
    assert last.any()
    for i in range(2):
        assert infos[i]["TimeLimit.truncated"]
        assert (infos[i]["terminal_observation"] == last[i]).all()


def test_the_true_state_is_in_info_when_asked_for() -> None:
    env = Cage2VecEnv(2, with_true_state=True)
    env.reset()
    *_, infos = env.step(np.zeros(2, dtype=np.int64))
    assert infos[1]["red_access"].tolist()[8] == 2


def test_ppo_learns_to_leave_restore_alone_when_nobody_attacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))  # else a folder in /tmp stays
    torch.set_num_threads(1)  # more of them only wait for each other
    env = Cage2VecEnv(8, SimConfig(red="sleep", horizon=20))
    env.seed(0)
    model = PPO("MlpPolicy", env, n_steps=64, batch_size=128, seed=0, device="cpu")
    model.learn(8 * 64 * 12)
    observations, returns = env.reset(), np.zeros(8)
    for _ in range(20):
        actions, _ = model.predict(observations, deterministic=False)
        observations, rewards, *_ = env.step(actions)
        returns += rewards
    assert returns.mean() > -1.0  # a uniform choice pays 20 * 13 / 145 = 1.8


@pytest.mark.parametrize(
    "call",
    [lambda env: env.set_attr("horizon", 3), lambda env: env.env_method("render")],
)
def test_what_a_batch_cannot_do_is_refused(call: object) -> None:
    with pytest.raises(ConfigError, match="batch"):
        call(Cage2VecEnv(2))
