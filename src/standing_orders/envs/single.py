"""Gymnasium environment: a batch of one."""

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, MultiBinary
from numpy.typing import NDArray

from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.attacks import AttackBatch
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.info import true_state
from standing_orders.cage2.own_red import OwnRedBatch
from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.cage2.scenario import OBSERVATION_SIZE
from standing_orders.config import ObservationStyle, RedAgent, RuleSet, SimConfig
from standing_orders.envs.board import to_text
from standing_orders.envs.frame import Frame, make_frame
from standing_orders.envs.picture import check_pillow, draw
from standing_orders.envs.referee import Referee
from standing_orders.errors import ConfigError, SimulationError
from standing_orders.rules.orders import Order
from standing_orders.rules.temporal import read_rules

RenderMode = Literal["ansi", "rgb_array"]
FPS = 4  # steps a second of a video
_EVERYONE = np.ones(1, dtype=np.bool_)


class Cage2Env(gymnasium.Env[NDArray[np.int8], np.int64]):
    """CAGE Challenge 2 for one defender, `standing_orders/Cage2-v1`.

    The observation is 52 bits, the action an index below 145: see `observe.describe` and
    `actions.describe`. An episode is never terminated and is truncated at the horizon. `info`
    holds the true state (see `info.true_state`), which a policy must not see when it is scored;
    `cost`, 1.0 when the fix just made breaks the order; and, with `belief`, what blue can know.

    Args:
        red: "b_line", "meander" or "sleep".
        rules: "head" or "leaderboard-2022".
        observation: "corrected" or "stock".
        horizon: steps of an episode.
        head_start: steps that red plays before blue may act.
        red_tempo: red actions per step.
        order: that fixes are judged by, in any spelling; without one the cost is 0.
        belief: put the exact belief into `info`: `belief_held`, `belief_privileged` (13 hosts),
            `belief_types` (5 unit types) and `belief_surprise`.
        red_agent: one of your own that attacks instead, module:attribute; see `cage2.own_red`.
        watched: temporal rules, each "name = formula", that `render` shows the keeping of.
        attack: a seed for the start and for each step, instead of that of `reset`; see
            `cage2.attacks`.
        render_mode: "ansi": `render` gives the board of `standing-orders play` as text;
            "rgb_array": the network as the replay draws it, which needs Pillow.

    Raises:
        ConfigError: an option is not acceptable, or Pillow is missing.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": FPS}  # noqa: RUF012 (Gymnasium's)

    def __init__(
        self,
        red: RedAgent = "b_line",
        rules: RuleSet = "head",
        observation: ObservationStyle = "corrected",
        horizon: int = 100,
        head_start: int = 0,
        red_tempo: int = 1,
        *,
        order: str | None = None,
        belief: bool = False,
        red_agent: str | None = None,
        watched: Sequence[str] = (),
        attack: Sequence[int] | None = None,
        render_mode: RenderMode | None = None,
    ) -> None:
        self.config = SimConfig(
            red=red, rules=rules, observation=observation, horizon=horizon, head_start=head_start,
            red_tempo=red_tempo,
        )  # fmt: skip
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"render_mode = {render_mode!r}: must be 'ansi' or 'rgb_array'")
        if render_mode == "rgb_array":
            check_pillow()
        self.observation_space = MultiBinary(OBSERVATION_SIZE)
        self.action_space = Discrete(NUM_ACTIONS)
        self.render_mode = render_mode
        self._batch = Cage2Batch(1, self.config)
        if red_agent is not None:
            self._batch = OwnRedBatch(1, self.config, red=red_agent)
        elif attack is not None:
            self._batch = AttackBatch(self.config, [attack])
        told = None if order is None else Order.parse(order).index
        self._referee = Referee(
            self.config, 1, order=told, has_belief=belief, rules=read_rules(watched)
        )
        self._action = np.zeros(1, dtype=np.int64)
        self._last_action: int | None = None
        self._tenths = 0
        self._is_begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Begin an episode; without a seed, the next one of the seed given before."""
        super().reset(seed=seed)
        if options:
            raise ConfigError(f"reset options {sorted(options)}: there are none")
        observations = self._batch.reset(seed)
        self._referee.begin(observations, _EVERYONE)
        self._last_action, self._tenths, self._is_begun = None, 0, True
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
        self._referee.look(self._batch.states)
        observations, rewards = self._batch.step(self._action)
        reward = int(rewards[0]) / TENTHS_PER_POINT
        self._referee.see(self._action, observations, _EVERYONE, reward)
        self._last_action = int(self._action[0])
        self._tenths += int(rewards[0])
        is_over = bool(self._batch.states["step"][0] >= self.config.horizon)
        return observations[0].copy(), reward, False, is_over, self._info()

    def tell(self, order: int) -> None:
        """Judge by another order, 0 to 119, from now on."""
        self._referee.order = order

    def frame(self) -> Frame:
        """All that there is to see of this moment: what `render` and `play` show.

        Raises:
            SimulationError: no reset before.
        """
        if not self._is_begun:
            raise SimulationError("render before reset: call reset first")
        return make_frame(self._batch, self._referee, self._last_action, self._tenths)

    def render(self) -> Any:
        """The moment as text or as a picture (height, width, 3); nothing without a mode."""
        if self.render_mode is None:
            return None
        frame = self.frame()
        return to_text(frame) if self.render_mode == "ansi" else draw(frame)

    def _info(self) -> dict[str, Any]:
        values = true_state(self._batch.states) | self._referee.info()
        return {name: value[0] for name, value in values.items()}


def _check_action(action: Any) -> int:
    is_integer = isinstance(action, int | np.integer) and not isinstance(action, bool)
    if isinstance(action, np.ndarray):  # of no dimension: what many policies return
        is_integer = action.shape == () and action.dtype.kind in "iu"
    if not is_integer:
        raise ConfigError(f"action {action!r}: must be a whole number")
    if not 0 <= action < NUM_ACTIONS:
        raise ConfigError(f"action {action}: must be between 0 and {NUM_ACTIONS - 1}")
    return int(action)
