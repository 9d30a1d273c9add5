"""PPO of Stable-Baselines3 on the batch interface, scored like any other policy.

Needs: pip install "standing-orders[sb3]"
Run: python examples/stable_baselines.py      (--steps 512 only shows that it works)
"""

import numpy as np
import torch
import tyro
from numpy.typing import NDArray
from stable_baselines3 import PPO

from standing_orders import SimConfig, evaluate
from standing_orders.learn.sb3 import Cage2VecEnv


class Defender:
    """What `evaluate` plays with: it sees observations and nothing else."""

    name = "Stable-Baselines3 PPO"

    def __init__(self, model: PPO) -> None:
        self._model = model

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Nothing to forget: it plays the likeliest action, whatever came before."""

    def act(self, observations: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose one action for each environment."""
        return self._model.predict(observations, deterministic=True)[0].astype(np.int64)


def main(steps: int = 500_000, scored: int = 100, seed: int = 0) -> None:
    """Train and score."""
    torch.set_num_threads(1)
    env = Cage2VecEnv(16, SimConfig(red="b_line"))
    model = PPO("MlpPolicy", env, n_steps=min(128, steps // 16), seed=seed, device="cpu")
    model.learn(steps)
    print(evaluate(Defender(model), red="b_line", episodes=scored))


if __name__ == "__main__":
    tyro.cli(main)
