"""The collector of this process: all episodes at once, or some, or one after the other."""

from itertools import pairwise, starmap
from typing import Protocol

import numpy as np

from standing_orders.collect.games import Games, GameSpec
from standing_orders.collect.loop import Actor, Timing, play_episodes
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
    """Episodes in lock step.

    Args:
        spec: the game.
        at_once: episodes played together; all of a plan if left out.
    """

    def __init__(self, spec: GameSpec, *, at_once: int | None = None) -> None:
        self.spec = spec
        self.timing = Timing()
        self._at_once = at_once
        self._games = Games(spec)

    def play(self, actor: Actor, plan: Plan) -> Rollout:
        """Play the episodes of a plan."""
        num_episodes = plan.num_episodes
        at_once = self._at_once or num_episodes
        if num_episodes <= at_once:
            return play_episodes(self._games.of(num_episodes), actor, plan, self.timing)
        rollout = empty_rollout(plan.steps, num_episodes, actor.input_size)
        num_parts = -(-num_episodes // at_once)
        bounds = np.linspace(0, num_episodes, num_parts + 1).astype(int).tolist()
        for rows in starmap(slice, pairwise(bounds)):  # evenly: a last part of one would be dear
            game = self._games.of(rows.stop - rows.start)
            rollout.put(rows, play_episodes(game, actor, plan.part(rows), self.timing))
        return rollout

    def close(self) -> None:
        """Nothing was started."""
