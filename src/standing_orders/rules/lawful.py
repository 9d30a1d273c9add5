"""Orders kept by construction: a fix is forbidden while it probably breaks the order.

A fix that is judged at all (something is held) breaks the order unless its host is of the
highest-ranked held type. The belief gives the probability of every set of held types, so the
probability of a violation is known: no true state, no training, any policy.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.belief import Belief
from standing_orders.cage2.actions import (
    HOST_OF_ACTION,
    KIND_OF_ACTION,
    NUM_ACTIONS,
    REMOVE,
    RESTORE,
    encode,
)
from standing_orders.cage2.policy import Policy, in_game
from standing_orders.cage2.scenario import HOSTS, NUM_HOSTS, NUM_UNIT_TYPES, UNIT_TYPE_OF_HOST
from standing_orders.compiled import jit
from standing_orders.config import DEFAULT_CERTAINTY, RedAgent, SimConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.compliance import top_held
from standing_orders.rules.orders import NUM_ORDERS

_NUM_SETS = 1 << NUM_UNIT_TYPES
_ROUNDING = 1e-12
_ANALYSE_0, _REMOVE_0, _RESTORE_0 = (encode(k, HOSTS[0]) for k in ("Analyse", "Remove", "Restore"))


@jit
def violation_chances(
    held_types: NDArray[np.float64],  # (num_envs, 32)
    orders: NDArray[np.int64],  # (num_envs,)
    chances: NDArray[np.float64],  # (num_envs, 5), written
) -> None:
    """Probability that a fix of each unit type breaks the order, given that it is judged.

    A fix is judged if red holds something; where it cannot, no fix breaks the order.
    """
    for i in range(len(orders)):
        judged = 0.0
        for unit_type in range(NUM_UNIT_TYPES):
            chances[i, unit_type] = 0.0
        for types in range(1, _NUM_SETS):
            chance = held_types[i, types]
            if chance > 0.0:
                judged += chance
                chances[i, top_held(types, orders[i])] += chance
        for unit_type in range(NUM_UNIT_TYPES):
            if judged > 0.0:
                chances[i, unit_type] = 1.0 - chances[i, unit_type] / judged


@jit
def _fill_mask(
    chances: NDArray[np.float64],  # (num_envs, 5)
    allowed: float,
    mask: NDArray[np.bool_],  # (num_envs, 145), written
) -> None:
    for i in range(len(chances)):
        for action in range(NUM_ACTIONS):
            mask[i, action] = True
        for host in range(NUM_HOSTS):
            is_lawful = chances[i, UNIT_TYPE_OF_HOST[host]] <= allowed
            mask[i, _REMOVE_0 + host] = is_lawful
            mask[i, _RESTORE_0 + host] = is_lawful


def lawful_types(
    held_types: NDArray[np.float64],  # (num_envs, 32)
    orders: NDArray[np.int64],  # (num_envs,)
    certainty: float,
    chances: NDArray[np.float64],  # (num_envs, 5), written
) -> NDArray[np.bool_]:  # (num_envs, 5)
    """Unit types whose hosts may be fixed, see `lawful_fixes`; `chances` as `violation_chances`."""
    violation_chances(held_types, orders, chances)
    return chances <= 1.0 - certainty + _ROUNDING


def lawful_fixes(
    held_types: NDArray[np.float64],  # (num_envs, 32)
    orders: NDArray[np.int64],  # (num_envs,)
    certainty: float,
    out: NDArray[np.bool_] | None = None,  # (num_envs, 145)
) -> NDArray[np.bool_]:  # (num_envs, 145)
    """Which actions may be played: all but the fixes that break the order too probably.

    Args:
        held_types: probability of each set of held types, as in `Belief.held_types`.
        orders: 0 to 119, one for each environment.
        certainty: a fix is allowed while the probability that it breaks the order, given that
            red holds anything, is at most 1 - certainty.
        out: where to write; a new array if left out.

    Raises:
        ConfigError: `certainty` is not between 0 and 1.

    Example:
        >>> held_types = np.zeros((1, 32)); held_types[0, 0b00010] = 1.0  # enterprise alone
        >>> mask = lawful_fixes(held_types, np.array([0]), 0.95)
        >>> mask[0, [encode("Restore", "Enterprise1"), encode("Remove", "User1")]].tolist()
        [True, False]
    """
    if not 0 <= certainty <= 1:
        raise ConfigError(f"certainty = {certainty}: must be between 0 and 1")
    chances = np.empty((len(orders), NUM_UNIT_TYPES))
    violation_chances(held_types, orders, chances)
    mask = np.empty((len(orders), NUM_ACTIONS), dtype=np.bool_) if out is None else out
    _fill_mask(chances, 1.0 - certainty + _ROUNDING, mask)
    return mask


@jit
def _replacement(
    mask: NDArray[np.bool_],  # (145,)
    held: NDArray[np.float64],  # (13,)
    malware: NDArray[np.float64],  # (13,)
    observation: NDArray[np.int8],  # (52,)
    action: int,
) -> int:
    """What to do instead of an unlawful fix."""
    first = action - HOST_OF_ACTION[action]
    best, most = -1, 0.0
    for host in range(NUM_HOSTS):
        if mask[first + host] and held[host] > most:
            best, most = first + host, held[host]
    if best >= 0:
        return best
    best, most = _ANALYSE_0 + HOST_OF_ACTION[action], 0.0
    for host in range(NUM_HOSTS):
        # Where blue's table says Privileged, Analyse shows nothing new.
        is_known = observation[4 * host + 2] == 1 and observation[4 * host + 3] == 1
        doubt = malware[host] * (1.0 - malware[host])
        if not is_known and doubt > most:
            best, most = _ANALYSE_0 + host, doubt
    return best


@jit
def _replace(
    mask: NDArray[np.bool_],  # (num_envs, 145)
    held: NDArray[np.float64],  # (num_envs, 13)
    malware: NDArray[np.float64],  # (num_envs, 13)
    observations: NDArray[np.int8],  # (num_envs, 52)
    actions: NDArray[np.int64],  # (num_envs,), changed where unlawful
) -> int:
    """Put a lawful action in the place of each unlawful fix; their number."""
    count = 0
    for i in range(len(actions)):
        if not mask[i, actions[i]]:
            actions[i] = _replacement(mask[i], held[i], malware[i], observations[i], actions[i])
            count += 1
    return count


class LawfulPolicy:
    """Any defender, made to keep an order.

    A fix that probably breaks the order is replaced by one of the same kind on the host that red
    most probably holds among those whose fix is lawful; or else by Analyse, of the host where it
    is least known what that will show.

    Args:
        policy: the defender; it goes on seeing observations only.
        orders: each 0 to 119; the environment with seed s must keep number s modulo their count.
        config: the game that is played.
        certainty: see `lawful_fixes`.
        reds: the red agents that are possible; the config's if left out.

    Attributes:
        orders: as given.
        belief: what it knows, of the environments of the last reset; None before it.
        num_replaced: fixes that were replaced so far.
        num_fixes: fixes that the defender wanted so far.

    Raises:
        ConfigError: there is no such order or certainty.
    """

    def __init__(
        self,
        policy: Policy,
        orders: Sequence[int],
        config: SimConfig,
        *,
        certainty: float = DEFAULT_CERTAINTY,
        reds: tuple[RedAgent, ...] | None = None,
    ) -> None:
        for order in orders:
            if not 0 <= order < NUM_ORDERS:
                raise ConfigError(f"order {order}: must be between 0 and {NUM_ORDERS - 1}")
        if not 0 <= certainty <= 1:
            raise ConfigError(f"certainty = {certainty}: must be between 0 and 1")
        self.name = f"lawful {policy.name}"
        self.orders = tuple(orders)
        self.belief: Belief | None = None
        self.switch: tuple[int, int] | None = None  # step from which another order counts, and it
        self.num_replaced = self.num_fixes = 0
        self._policy, self._config = policy, config
        self._certainty, self._reds = certainty, reds
        self._kept = np.zeros(0, dtype=np.int64)
        self._actions: NDArray[np.int64] | None = None  # of the last step of the episode

    def told(self, order: int) -> "LawfulPolicy":
        """The same defender, made to keep this order in every episode."""
        return self._changed(orders=(order,))

    def switched(self, step: int, order: int) -> "LawfulPolicy":
        """The same defender, made to keep another order from a step on; the first step is 0."""
        return self._changed(switch=(step, order))

    def in_game(self, config: SimConfig) -> "LawfulPolicy":
        """The same defender in that game."""
        if config == self._config:
            return self
        return self._changed(_policy=in_game(self._policy, config), _config=config)

    def _changed(self, **values: Any) -> "LawfulPolicy":
        other = copy.copy(self)
        vars(other).update(values, belief=None, num_replaced=0, num_fixes=0)
        return other

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        self._policy.reset(seeds)
        if self.belief is None or self.belief.num_envs != len(seeds):
            self.belief = Belief(self._config, len(seeds), reds=self._reds)
        orders = np.array(self.orders, dtype=np.int64)
        self._kept = orders[(seeds % np.uint64(len(orders))).astype(np.int64)]
        self._actions = None
        self._turn = 0

    def act(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> NDArray[np.int64]:  # (num_envs,)
        """Choose one lawful action for each environment."""
        wanted = self._policy.act(observations)
        if self.switch is not None and self._turn == self.switch[0]:
            self._kept[:] = self.switch[1]
        self._turn += 1
        assert self.belief is not None
        if self._actions is None:
            self.belief.reset(observations)
        else:
            self.belief.update(self._actions, observations)
        self._actions = wanted.copy()
        mask = lawful_fixes(self.belief.held_types, self._kept, self._certainty)
        kinds = KIND_OF_ACTION[wanted]
        self.num_fixes += int(((kinds == REMOVE) | (kinds == RESTORE)).sum())
        self.num_replaced += _replace(
            mask, self.belief.held, self.belief.malware, observations, self._actions
        )
        return self._actions
