"""A defender of the user's own, given as module:attribute."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2 import actions
from standing_orders.cage2.actions import NUM_ACTIONS
from standing_orders.cage2.batch import check_actions
from standing_orders.cage2.policy import Policy
from standing_orders.errors import ConfigError
from standing_orders.plugins import load_attribute


def load_policy(name: str) -> Policy:
    """A policy from module:attribute.

    It may name a class or an object with `act(observations)` and, if it remembers anything,
    `reset(seeds)` or `reset()`; a plain function of the observations; or an agent of CybORG, with
    `get_action(observation, action_space)`, that takes the 52 bits of the challenge's wrapper.

    Raises:
        ConfigError: there is no such thing, or it is none of these.
    """
    found = load_attribute(name, "policy")
    is_agent = callable(getattr(found, "get_action", None))
    if inspect.isclass(found) and not is_agent:
        try:
            found = found()
        except Exception as err:
            raise ConfigError(f"policy {name!r}: {type(err).__name__}: {err}") from err
    if callable(getattr(found, "act", None)):
        return OwnPolicy(name, found.act, getattr(found, "reset", None))
    if is_agent:
        return AgentPolicy(name, found)
    if callable(found):
        return OwnPolicy(name, found, None)
    raise ConfigError(
        f"policy {name!r}: must have act(observations) or get_action(observation, action_space), "
        "or be a function of the observations"
    )


class OwnPolicy:
    """A policy of the user's own; what it answers is checked.

    Args:
        name: for tables.
        act: observations, shape (num_envs, 52), to actions, shape (num_envs,).
        reset: called before each batch of episodes, with the seeds if it takes an argument.
    """

    def __init__(
        self, name: str, act: Callable[[Any], Any], reset: Callable[..., Any] | None
    ) -> None:
        self.name = name
        self._act = act
        self._reset = reset
        self._takes_seeds = reset is not None and bool(inspect.signature(reset).parameters)

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        if self._reset is not None:
            self._reset(*([seeds] if self._takes_seeds else []))

    def act(self, observations: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose one action for each environment.

        Raises:
            ConfigError: the answer is not one action for each.
        """
        try:
            return check_actions(self._act(observations), len(observations))
        except ConfigError as err:
            raise ConfigError(f"policy {self.name}: {err}") from err


class AgentPolicy:
    """An agent of CybORG as a policy: a copy of it for each environment.

    Args:
        name: for tables.
        agent: a subclass of CybORG's `BaseAgent`, or an object of one.
    """

    def __init__(self, name: str, agent: Any) -> None:
        self.name = name
        self._agent = agent
        self._agents: list[Any] = []

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        while len(self._agents) < len(seeds):
            is_class = inspect.isclass(self._agent)
            agent = self._agent() if is_class else copy.deepcopy(self._agent)
            agent.set_initial_values(NUM_ACTIONS, np.zeros(4 * 13, dtype=np.int64))
            self._agents.append(agent)
        for agent in self._agents:
            agent.end_episode()

    def act(self, observations: NDArray[np.int8]) -> NDArray[np.int64]:
        """Choose one action for each environment.

        Raises:
            ConfigError: an answer is no action.
        """
        chosen = np.zeros(len(observations), dtype=np.int64)
        for i, row in enumerate(observations):
            try:
                chosen[i] = _action_index(self._agents[i].get_action(row.astype(int), NUM_ACTIONS))
            except Exception as err:
                raise ConfigError(
                    f"policy {self.name}: get_action raised {type(err).__name__}: {err}; an agent "
                    "is given the 52 bits of the challenge's wrapper, not raw observations"
                ) from err
        return check_actions(chosen, len(observations))


def _action_index(answer: Any) -> int:
    """An index as it is; an action object of CybORG by its class and host."""
    if isinstance(answer, int | np.integer) or hasattr(answer, "__index__"):
        return int(answer)
    return actions.encode(type(answer).__name__, getattr(answer, "hostname", None))
