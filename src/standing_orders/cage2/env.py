"""Gymnasium environment: a batch of one."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiBinary
from numpy.typing import NDArray

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.info import true_state
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import OBSERVATION_SIZE
from standing_orders.config import ObservationStyle, RedAgent, RuleSet, SimConfig
from standing_orders.errors import ConfigError


class Cage2Env(gymnasium.Env[NDArray[np.int8], np.int64]):
    """CAGE Challenge 2 for one defender, `standing_orders/Cage2-v1`.

    The observation is 52 bits, the action an index below 145: see `observe.describe` and
    `actions.describe`. An episode is never terminated and is truncated at the horizon. `info`
    holds the true state (see `info.true_state`), which a policy must not see when it is scored.

    Args:
        red: "b_line", "meander" or "sleep".
        rules: "head" or "leaderboard-2022".
        observation: "corrected" or "stock".
        horizon: steps of an episode.
        head_start: steps that red plays before blue may act.
        red_tempo: red actions per step.

    Raises:
        ConfigError: an option is not acceptable.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (the attribute is Gymnasium's)

    def __init__(
        self,
        red: RedAgent = "b_line",
        rules: RuleSet = "head",
        observation: ObservationStyle = "corrected",
        horizon: int = 100,
        head_start: int = 0,
        red_tempo: int = 1,
    ) -> None:
        self.config = SimConfig(
            red=red, rules=rules, observation=observation, horizon=horizon, head_start=head_start,
            red_tempo=red_tempo,
        )  # fmt: skip
        self.observation_space = MultiBinary(OBSERVATION_SIZE)
        self.action_space = Discrete(NUM_ACTIONS)
        self.render_mode = None
        self._batch = Cage2Batch(1, self.config)
        self._action = np.zeros(1, dtype=np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Begin an episode; without a seed, the next one of the seed given before."""
        super().reset(seed=seed)
        if options:
            raise ConfigError(f"reset options {sorted(options)}: there are none")
        observations = self._batch.reset(seed)
        return observations[0].copy(), self._info()

    def step(
        self, action: np.int64 | int
    ) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Play one step.

        Raises:
            ConfigError: the action is not a whole number from 0 to 144.
            SimulationError: no reset before, or the episode is over.
        """
        self._action[0] = _check_action(action)
        observations, rewards = self._batch.step(self._action)
        is_over = bool(self._batch.states["step"][0] >= self.config.horizon)
        reward = int(rewards[0]) / TENTHS_PER_POINT
        return observations[0].copy(), reward, False, is_over, self._info()

    def _info(self) -> dict[str, Any]:
        return {name: values[0] for name, values in true_state(self._batch.states).items()}


def _check_action(action: Any) -> int:
    is_integer = isinstance(action, int | np.integer) and not isinstance(action, bool)
    if isinstance(action, np.ndarray):  # of no dimension: what many policies return
        is_integer = action.shape == () and action.dtype.kind in "iu"
    if not is_integer:
        raise ConfigError(f"action {action!r}: must be a whole number")
    if not 0 <= action < NUM_ACTIONS:
        raise ConfigError(f"action {action}: must be between 0 and {NUM_ACTIONS - 1}")
    return int(action)
