"""Greedy by order: restore a host of the highest-ranked type that is held, or believed to be.

| defender | what it sees |
|---|---|
| greedy | blue's own table of compromised hosts, as any policy |
| oracle | the true state: a yardstick of what perfect knowledge would be worth, never a score |
"""

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import SLEEP, encode
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.scenario import DEFENDER, HOSTS, NUM_HOSTS, UNIT_TYPE_HOSTS
from standing_orders.compiled import jit, nth_bit
from standing_orders.evaluate.measure import MakeBatch
from standing_orders.rules.compliance import top_held
from standing_orders.rules.orders import Order
from standing_orders.search.oracle import true_state_action

_FIRST_RESTORE = encode("Restore", HOSTS[0])


@jit
def _types_of(hosts: int) -> int:
    mask = 0
    for unit_type in range(len(UNIT_TYPE_HOSTS)):
        if hosts & UNIT_TYPE_HOSTS[unit_type]:
            mask |= 1 << unit_type
    return mask


@jit
def _restore_first(hosts: int, order: int) -> int:
    """Restore of the first host (lowest index) of the highest-ranked type among some hosts."""
    top = top_held(_types_of(hosts), order)
    if top < 0:
        return SLEEP
    return _FIRST_RESTORE + nth_bit(hosts & UNIT_TYPE_HOSTS[top], 0)


@jit
def _act_on_table(
    observations: NDArray[np.int8],  # (num_envs, 52)
    order: int,
    actions: NDArray[np.int64],  # (num_envs,), written
) -> None:
    for i in range(len(actions)):
        hosts = 0
        for host in range(DEFENDER + 1, NUM_HOSTS):  # no one can take Defender
            if observations[i, 4 * host + 2] or observations[i, 4 * host + 3]:
                hosts |= 1 << host
        actions[i] = _restore_first(hosts, order)


@jit
def _act_on_truth(
    states: NDArray[np.void],  # (num_envs,)
    order: int,
    actions: NDArray[np.int64],  # (num_envs,), written
) -> None:
    for i in range(len(actions)):
        actions[i] = true_state_action(states[i], order)


class GreedyDefender:
    """Restores what blue's table shows, the highest-ranked type first; sleeps else.

    Args:
        order: that it follows.

    Example:
        >>> defender = GreedyDefender(Order.parse("critical_first"))
        >>> defender.reset(np.zeros(1, np.uint64))
        >>> seen = np.zeros((1, 52), np.int8)
        >>> seen[0, 4 * HOSTS.index("User1") + 3] = 1
        >>> defender.act(seen).tolist() == [encode("Restore", "User1")]
        True
    """

    def __init__(self, order: Order) -> None:
        self.name = f"greedy@{order}"
        self._order = order.index

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        self._actions = np.zeros(len(seeds), dtype=np.int64)

    def act(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> NDArray[np.int64]:  # (num_envs,)
        """Choose one action for each environment; the next call overwrites the result."""
        _act_on_table(observations, self._order, self._actions)
        return self._actions


class OracleDefender:
    """Restores what red really holds; it looks into the environments that `watching` made.

    Args:
        order: that it follows.
    """

    def __init__(self, order: Order) -> None:
        self.name = f"oracle@{order}"
        self._order = order.index

    def watching(self, make_batch: MakeBatch) -> MakeBatch:
        """Environments whose true state this defender sees."""

        def make(num_envs: int) -> Cage2Batch:
            self._batch = make_batch(num_envs)
            return self._batch

        return make

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        self._actions = np.zeros(len(seeds), dtype=np.int64)

    def act(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> NDArray[np.int64]:  # (num_envs,)
        """Choose one action for each environment; the next call overwrites the result."""
        _act_on_truth(self._batch.states, self._order, self._actions[: len(observations)])
        return self._actions
