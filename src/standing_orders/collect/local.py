"""Collectors of this process: all episodes at once, or one after the other."""

from typing import Protocol

from standing_orders.collect.games import GameSpec
from standing_orders.collect.loop import Actor, Game, Timing, play_episodes
from standing_orders.collect.plan import Plan
from standing_orders.collect.rollout import Rollout, empty_rollout


class Collector(Protocol):
    """Plays whole episodes."""

    spec: GameSpec
    timing: Timing  # of all episodes so far

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        """Play the episodes of a plan."""
        ...

    def close(self) -> None:
        """End everything that was started."""
        ...


class BatchCollector:
    """All episodes at once, in lock step.

    Args:
        spec: the game.
    """

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.timing = Timing()
        self._games: dict[int, Game] = {}

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        """Play the episodes of a plan."""
        num_envs = plan.num_episodes
        if num_envs not in self._games:
            self._games[num_envs] = self.spec.make(num_envs)
        return play_episodes(self._games[num_envs], actor, plan, self.timing)

    def close(self) -> None:
        """Nothing was started."""


class SequentialCollector:
    """One environment, one episode after the other.

    Args:
        spec: the game.
    """

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.timing = Timing()
        self._game: Game | None = None

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        """Play the episodes of a plan."""
        self._game = self._game or self.spec.make(1)
        rollout = empty_rollout(plan.steps, plan.num_episodes, actor.input_size)
        for i in range(plan.num_episodes):
            row = slice(i, i + 1)
            rollout.put(row, play_episodes(self._game, actor, plan.part(row), self.timing))
        return rollout

    def close(self) -> None:
        """Nothing was started."""
