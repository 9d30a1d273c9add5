"""The detection team as a PettingZoo environment: each agent sees its view, all of them vote.

An episode of *records* is a row of events, each judged by
itself: every agent earns what its own action is worth and the team term, and nobody's action
changes what comes next. An episode of *sessions* is one session: the vote decides, all agents earn
what its outcome is worth, and a block or a quarantine ends it.
"""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from standing_orders.detect.actions import ALERT, BLOCK, NUM_ACTIONS
from standing_orders.detect.config import DetectConfig, check_team
from standing_orders.detect.costs import team_rewards
from standing_orders.detect.data.events import DataSet
from standing_orders.detect.engine import count_votes
from standing_orders.detect.team import prepare
from standing_orders.detect.views import split_views
from standing_orders.errors import ConfigError, SimulationError

Observations = dict[str, NDArray[np.float32]]
RECORDS_EPISODE = 256  # events


class DetectionEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """Events of a data set for a team of agents, as PettingZoo's parallel API.

    Args:
        data: the events; the training part is played.
        config: team, costs and views.
        horizon: events of an episode of records; sessions end by themselves.

    Raises:
        VotingError: too few agents for the faulty ones that the vote must tolerate.
        ConfigError: the team's vote needs probabilities, which actions do not have.

    Example:
        >>> from standing_orders.detect.data.synthetic import make_sessions
        >>> env = DetectionEnv(make_sessions(0, num_sessions=60), DetectConfig())
        >>> observations, infos = env.reset(seed=1)
        >>> step = env.step({agent: 0 for agent in env.agents})
    """

    metadata = {"name": "standing_orders_detection_v1", "render_modes": []}  # noqa: RUF012

    def __init__(
        self, data: DataSet, config: DetectConfig, *, horizon: int = RECORDS_EPISODE
    ) -> None:
        config = config.settled(data.task)
        check_team(config.team)
        if config.team.vote == "average":
            raise ConfigError("team.vote = 'average': an environment has votes, no probabilities")
        self.render_mode = None
        self.possible_agents = [f"agent_{i}" for i in range(config.team.agents)]
        self.agents: list[str] = []
        self._task, self._config, self._horizon = data.task, config, horizon
        self._events = prepare(data.train, config)
        self._views = split_views(self._events, config.team)
        self.observation_spaces = {
            agent: spaces.Box(-np.inf, np.inf, shape=(len(view),), dtype=np.float32)
            for agent, view in zip(self.possible_agents, self._views, strict=True)
        }
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self._game = config.game_of(data.train, data.task)
        self._rng = np.random.Generator(np.random.Philox(config.seed))
        self._event: int | None = None  # the present one; None once the episode is over
        self._has_alerted = 0  # since the attack of the session began
        self._num_steps = 0

    def observation_space(self, agent: str) -> spaces.Box:
        """The features that an agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Allow, alert, block, quarantine."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, dict[str, Any]]]:
        """Begin an episode with a session, or a record, drawn at random."""
        del options
        if seed is not None:
            self._rng = np.random.Generator(np.random.Philox(seed))
        self.agents = list(self.possible_agents)
        self._num_steps = 0
        self._next_session()
        return self._observe(), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        Observations,
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Vote about the present event.

        Raises:
            SimulationError: there is no episode, or not exactly one action of each agent.
        """
        if self._event is None or not self.agents:
            raise SimulationError("step: the episode is over: call reset first")
        votes = self._votes(actions)
        self._num_steps += 1
        event, game = self._event, self._game
        chosen = np.eye(NUM_ACTIONS)[votes.T]
        decided = int(count_votes(votes, chosen, self._config.team).actions[0])
        rewards = self._rewards(votes, event, decided)
        is_over = is_cut = False
        if self._task == "sessions":
            is_over = decided >= BLOCK or bool(game.sessions.is_last[event])
            self._has_alerted |= int(decided == ALERT and game.has_begun[event])
            self._event = event if is_over else event + 1
        else:
            is_cut = self._num_steps >= self._horizon
            self._next_session()
        observations = self._observe()
        told = {"decision": decided, "is_threat": bool(game.is_threat[event])}
        infos = {agent: dict(told) for agent in self.agents}
        over, cut = dict.fromkeys(self.agents, is_over), dict.fromkeys(self.agents, is_cut)
        if is_over or is_cut:
            self.agents = []
        return observations, rewards, over, cut, infos

    def _votes(self, actions: dict[str, int]) -> NDArray[np.int8]:  # (1, num_agents)
        """What the agents chose."""
        if not isinstance(actions, Mapping):
            raise SimulationError(f"step: {actions!r}: must be a dict of each agent's action")
        if missing := [agent for agent in self.agents if agent not in actions]:
            raise SimulationError(f"step: no action of {', '.join(missing)}")
        if unknown := [agent for agent in actions if agent not in self.agents]:
            raise SimulationError(f"step: no agent is called {unknown[0]!r}")
        votes = [_whole(actions[agent]) for agent in self.agents]
        for agent, vote in zip(self.agents, votes, strict=True):
            if vote not in range(NUM_ACTIONS):
                raise SimulationError(
                    f"step: {agent}: {actions[agent]!r}: must be a whole number from 0 to "
                    f"{NUM_ACTIONS - 1}"
                )
        return np.array([votes], dtype=np.int8)

    def _rewards(self, votes: NDArray[np.int8], event: int, decided: int) -> dict[str, float]:
        table = self._game.rewards[event]
        if self._task == "sessions":
            return dict.fromkeys(self.agents, float(table[decided, self._has_alerted]))
        threat = self._game.is_threat[event : event + 1]
        own = table[votes[0], 0] + float(team_rewards(self._config.costs.team, votes, threat)[0])
        return {agent: float(one) for agent, one in zip(self.agents, own, strict=True)}

    def _next_session(self) -> None:
        session = int(self._rng.integers(self._game.sessions.num_sessions))
        self._event, self._has_alerted = int(self._game.sessions.starts[session]), 0

    def _observe(self) -> Observations:
        row = self._events.features[self._event]
        views = zip(self.possible_agents, self._views, strict=True)
        return {agent: row[view] for agent, view in views if agent in self.agents}

    def render(self) -> None:
        """Nothing to see."""

    def close(self) -> None:
        """Nothing to close."""


def _whole(action: Any) -> int | None:
    """A whole number of any type; None for anything else."""
    try:
        return operator.index(action)
    except TypeError:
        return None
