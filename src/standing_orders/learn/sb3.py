"""Adapter for Stable-Baselines3: the batch interface as a `VecEnv` (extra `sb3`)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import Wrapper
from gymnasium.spaces import Discrete, MultiBinary
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.batch import Cage2Batch, check_actions
from standing_orders.cage2.info import true_state
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import OBSERVATION_SIZE
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError

Indices = int | Iterable[int] | None


class Cage2VecEnv(VecEnv):
    """Many CAGE-2 environments for Stable-Baselines3.

    An environment that reaches its horizon begins its next episode at once; its last observation
    is in `info["terminal_observation"]` with `info["TimeLimit.truncated"]`, so that the learner
    bootstraps. The true state is kept out of `info` unless asked for: a dictionary for each
    environment costs more than the simulation.

    Args:
        num_envs: how many.
        config: which game; the standard one if left out.
        num_threads: threads that share the batch.
        with_true_state: put the true state (see `cage2.info.true_state`) into every `info`.

    Example:
        >>> env = Cage2VecEnv(2)
        >>> env.seed(0)
        [0, 1]
        >>> env.reset().shape
        (2, 52)
    """

    def __init__(
        self,
        num_envs: int,
        config: SimConfig | None = None,
        *,
        num_threads: int = 1,
        with_true_state: bool = False,
    ) -> None:
        self.batch = Cage2Batch(num_envs, config, num_threads=num_threads)
        self.with_true_state = with_true_state
        self.render_mode = None
        self._actions = np.zeros(num_envs, dtype=np.int64)
        super().__init__(num_envs, MultiBinary(OBSERVATION_SIZE), Discrete(NUM_ACTIONS))

    def reset(self) -> NDArray[np.int8]:
        """Begin an episode in all environments, with the seeds of `seed` if it was called."""
        seeds = self._seeds
        self.batch.reset(None if None in seeds else np.array(seeds))
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = self._infos()
        return self.batch.observations.copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions; they are played by `step_wait`."""
        self._actions = check_actions(actions, self.num_envs)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the actions taken."""
        observations, tenths = self.batch.step(self._actions)
        rewards = (tenths / TENTHS_PER_POINT).astype(np.float32)
        is_over = self.batch.truncated
        infos = self._infos()
        if is_over.any():
            for i in np.flatnonzero(is_over):
                infos[i]["terminal_observation"] = observations[i].copy()
                infos[i]["TimeLimit.truncated"] = True
            observations = self.batch.reset(chosen=is_over)
        return observations.copy(), rewards, is_over, infos

    def close(self) -> None:
        """Stop the threads."""
        self.batch.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """The batch's attribute, once for each index."""
        source = self if hasattr(self, attr_name) else self.batch
        return [getattr(source, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Refuse: environments of a batch share their options, which are fixed."""
        raise ConfigError(f"cannot set {attr_name!r} of a batch: make another one")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Refuse: there is no object for a single environment."""
        raise ConfigError(f"cannot call {method_name!r} of single environments of a batch")

    def env_is_wrapped(
        self, wrapper_class: type[Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        """No environment of a batch is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def _infos(self) -> list[dict[str, Any]]:
        if not self.with_true_state:
            return [{} for _ in range(self.num_envs)]
        columns = true_state(self.batch.states)
        return [{name: values[i] for name, values in columns.items()} for i in range(self.num_envs)]
