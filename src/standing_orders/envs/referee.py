"""What is known beside the game itself: whether blue keeps its order, and what it can know."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.belief import Belief
from standing_orders.config import SimConfig
from standing_orders.rules.compliance import (
    NO_FIX,
    NUM_TALLIES,
    VIOLATION,
    OrderCompliance,
    count_episodes,
    judge_all,
    look_all,
)
from standing_orders.rules.temporal import RuleWatch, TemporalRule


class Referee:
    """Watches environments in lock step; it changes nothing in them.

    Args:
        config: the game that is played.
        num_envs: how many environments.
        order: that fixes are judged by, 0 to 119; None: none is judged.
        has_belief: also carry what blue can know.
        rules: that are watched in the first environment.

    Attributes:
        belief: what blue can know; None without it.
        verdicts: (num_envs,), on the last action of each.
    """

    def __init__(
        self,
        config: SimConfig,
        num_envs: int,
        *,
        order: int | None,
        has_belief: bool,
        rules: Sequence[TemporalRule] = (),
    ) -> None:
        self.order = order
        self.belief = Belief(config, num_envs) if has_belief else None
        self.verdicts = np.full(num_envs, NO_FIX, dtype=np.int8)
        self._tallies = np.zeros((num_envs, NUM_TALLIES), dtype=np.int64)
        self._top, self._num_held = (np.zeros(num_envs, dtype=np.int8) for _ in range(2))
        self._held_hosts = np.zeros(num_envs, dtype=np.int16)
        self._rules = tuple(rules)
        self._held_first = 0
        self.watches = [RuleWatch(rule) for rule in rules]

    @property
    def kept(self) -> OrderCompliance:
        """Counts of the episodes that are being played, pooled."""
        return count_episodes(self._tallies)

    def begin(self, observations: NDArray[np.int8], chosen: NDArray[np.bool_]) -> None:
        """An episode begins in the chosen environments."""
        self._tallies[chosen] = 0
        self.verdicts[chosen] = NO_FIX
        self.watches = [RuleWatch(rule) for rule in self._rules]
        if self.belief is not None:
            self.belief.reset(observations, chosen=chosen)

    def look(self, states: NDArray[np.void]) -> None:  # (num_envs,)
        """See what red holds before blue acts, which is what fixes are judged by."""
        self._held_first = int(states["held"][0])
        if self.order is not None:
            orders = np.full(len(states), self.order)
            look_all(states, orders, False, self._top, self._num_held, self._held_hosts)

    def see(
        self,
        actions: NDArray[np.int64],  # (num_envs,)
        observations: NDArray[np.int8],  # (num_envs, 52)
        chosen: NDArray[np.bool_],  # (num_envs,)
        reward: float = 0.0,
    ) -> None:
        """Judge what the chosen environments have played, and take in what blue saw then."""
        self.verdicts[:] = NO_FIX
        for watch in self.watches:
            watch.see(self._held_first, int(actions[0]), reward)
        if self.order is not None:
            self._judge(actions, np.flatnonzero(chosen))
        if self.belief is not None:
            self.belief.update(actions, observations, chosen=chosen)

    def _judge(self, actions: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        verdicts, tallies = self.verdicts[rows], self._tallies[rows]
        top, num_held, held = self._top[rows], self._num_held[rows], self._held_hosts[rows]
        judge_all(actions[rows], top, num_held, held, verdicts, tallies)
        self.verdicts[rows], self._tallies[rows] = verdicts, tallies

    def info(self) -> dict[str, NDArray[Any]]:
        """For info dictionaries, as fresh arrays over the environments.

        `cost` (num_envs,): 1 where the fix just made breaks the order, else 0. With a belief also
        `belief_held` and `belief_privileged` (num_envs, 13), `belief_types` (num_envs, 5): the
        probability that red holds each, the foothold aside; and `belief_surprise` (num_envs,).
        """
        found: dict[str, NDArray[Any]] = {"cost": (self.verdicts == VIOLATION).astype(np.float64)}
        if self.belief is not None:
            found |= {
                "belief_held": self.belief.held.copy(),
                "belief_privileged": self.belief.privileged.copy(),
                "belief_types": self.belief.types,
                "belief_surprise": self.belief.surprise,
            }
        return found
