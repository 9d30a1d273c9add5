"""A policy that Stable-Baselines3 has saved (extra `sb3`)."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.scenario import OBSERVATION_SIZE
from standing_orders.errors import ConfigError, DataError

# What only the saved data of an algorithm holds; A2C is what is left.
_MARKS = {"DQN": "exploration_rate", "PPO": "clip_range"}


class Sb3Policy:
    """Plays the likeliest action of a model.

    Args:
        name: for tables.
        model: an algorithm of Stable-Baselines3 with the spaces of `learn.sb3.Cage2VecEnv`.
    """

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Nothing is remembered from step to step."""

    def act(self, observations: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose one action for each environment."""
        actions, _ = self._model.predict(observations, deterministic=True)
        return np.asarray(actions, dtype=np.int64)


def load_sb3_policy(path: Path) -> Sb3Policy:
    """Read a zip file of PPO, A2C or DQN. Such files hold code: load only your own.

    Raises:
        ConfigError: Stable-Baselines3 is not installed, or the model plays another game.
        DataError: the file cannot be read.
    """
    try:
        import stable_baselines3  # noqa: PLC0415
    except ImportError as err:
        raise ConfigError(f"{path}: needs pip install stable-baselines3") from err
    try:
        with zipfile.ZipFile(path) as archive:
            saved = json.loads(archive.read("data"))
        names = [name for name, mark in _MARKS.items() if mark in saved]
        algorithm = getattr(stable_baselines3, names[0] if names else "A2C")
        model = algorithm.load(path, device="cpu")
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as err:
        raise DataError(f"{path}: not a model of Stable-Baselines3: {err}") from err
    shape, actions = model.observation_space.shape, getattr(model.action_space, "n", None)
    if shape != (OBSERVATION_SIZE,) or actions != NUM_ACTIONS:
        raise ConfigError(
            f"{path}: has observations of shape {shape} and {actions} actions: must be "
            f"({OBSERVATION_SIZE},) and {NUM_ACTIONS}"
        )
    return Sb3Policy(path.name, model)
