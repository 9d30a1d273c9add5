"""Gymnasium vector environment over the batch interface."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiBinary
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.info import true_state
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import OBSERVATION_SIZE
from standing_orders.config import ObservationStyle, RedAgent, RuleSet, SimConfig
from standing_orders.envs.referee import Referee
from standing_orders.errors import ConfigError
from standing_orders.rules.orders import Order

Step = tuple[
    NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
]


class Cage2VectorEnv(VectorEnv[NDArray[np.int8], NDArray[np.int64], NDArray[Any]]):
    """Many CAGE-2 environments; `make_vec("standing_orders/Cage2-v1", num_envs=...)` gives one.

    Args:
        num_envs: how many.
        autoreset_mode: Gymnasium's three modes: the step after the last one resets (default), the
            last step itself resets and puts the old observation into `info["final_obs"]`, or the
            caller resets, with `options={"reset_mask": ...}` if only some.
        num_threads: threads that share the batch; the results do not depend on it.
        red, rules, observation, horizon, head_start, red_tempo, order, belief: as in `Cage2Env`.

    Raises:
        ConfigError: an option is not acceptable.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        red: RedAgent = "b_line",
        rules: RuleSet = "head",
        observation: ObservationStyle = "corrected",
        horizon: int = 100,
        head_start: int = 0,
        red_tempo: int = 1,
        order: str | None = None,
        belief: bool = False,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        num_threads: int = 1,
    ) -> None:
        self.config = SimConfig(
            red=red, rules=rules, observation=observation, horizon=horizon, head_start=head_start,
            red_tempo=red_tempo,
        )  # fmt: skip
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError as err:
            choices = ", ".join(mode.value for mode in AutoresetMode)
            raise ConfigError(f"autoreset_mode = {autoreset_mode!r}: must be of {choices}") from err
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.num_envs = num_envs
        self.single_observation_space = MultiBinary(OBSERVATION_SIZE)
        self.single_action_space = Discrete(NUM_ACTIONS)
        self.batch = Cage2Batch(num_envs, self.config, num_threads=num_threads)
        told = None if order is None else Order.parse(order).index
        self._referee = Referee(self.config, num_envs, order=told, has_belief=belief)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Begin an episode in all environments, or in those of `options["reset_mask"]`.

        Args:
            seed: s gives environment i the seed s + i; a list gives each its own, or None to go
                on to its next episode.
            options: only `reset_mask`, an array of num_envs booleans, is known.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        unknown = set(options or {}) - {"reset_mask"}
        if unknown:
            raise ConfigError(f"reset options {sorted(unknown)}: only reset_mask is known")
        chosen = (options or {}).get("reset_mask", np.ones(self.num_envs, dtype=np.bool_))
        if seed is None or isinstance(seed, int):
            self.batch.reset(seed, chosen=chosen)
        else:
            if len(seed) != self.num_envs:
                raise ConfigError(f"{len(seed)} seeds for {self.num_envs} environments")
            has_seed = np.array([s is not None for s in seed])
            if (chosen & has_seed).any():
                self.batch.reset([s or 0 for s in seed], chosen=chosen & has_seed)
            if (chosen & ~has_seed).any():
                self.batch.reset(chosen=chosen & ~has_seed)
        self._referee.begin(self.batch.observations, chosen)
        return self.batch.observations.copy(), self._info(chosen)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Play one step in every environment; see `autoreset_mode` for what follows the last."""
        batch = self.batch
        if self.autoreset_mode == AutoresetMode.NEXT_STEP and batch.truncated.any():
            was_over = batch.truncated
            rewards = self._play(actions, ~was_over)
            rewards[was_over] = 0.0
            self._begin_again(was_over)
        else:
            rewards = self._play(actions, np.ones(self.num_envs, dtype=np.bool_))
        truncated = batch.truncated
        info = self._info(np.ones(self.num_envs, dtype=np.bool_))
        if self.autoreset_mode == AutoresetMode.SAME_STEP and truncated.any():
            info = self._reset_at_once(truncated, info)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        return batch.observations.copy(), rewards, terminated, truncated, info

    def close_extras(self, **_: Any) -> None:
        """Stop the threads."""
        self.batch.close()

    def _play(self, actions: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        self._referee.look(self.batch.states)
        observations, tenths = self.batch.step(actions, chosen=chosen)
        self._referee.see(np.asarray(actions), observations, chosen)
        return np.asarray(tenths / TENTHS_PER_POINT)

    def _begin_again(self, chosen: NDArray[np.bool_]) -> None:
        self.batch.reset(chosen=chosen)
        self._referee.begin(self.batch.observations, chosen)

    def _reset_at_once(self, truncated: NDArray[np.bool_], info: dict[str, Any]) -> dict[str, Any]:
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(truncated):
            final_obs[i] = self.batch.observations[i].copy()
        final_info = {name: values for name, values in info.items() if not name.startswith("_")}
        final_info |= {f"_{name}": truncated for name in tuple(final_info)}
        cost = info["cost"]  # of the step just played, as the reward is
        self._begin_again(truncated)
        return self._info(np.ones(self.num_envs, dtype=np.bool_)) | {
            "cost": cost,
            "final_obs": final_obs,
            "_final_obs": truncated,
            "final_info": final_info,
            "_final_info": truncated,
        }

    def _info(self, chosen: NDArray[np.bool_]) -> dict[str, Any]:
        """What is known, as arrays over environments, each with Gymnasium's mask beside it."""
        values = true_state(self.batch.states) | self._referee.info()
        return values | {f"_{name}": chosen.copy() for name in values}
