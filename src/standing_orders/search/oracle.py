"""The restore oracle: a defender that sees the TRUE state and follows an order to the letter.

It gives every order a true value within seconds, so that the search can be checked against the
truth. It is a yardstick for the search and never a score: no policy may see what it sees.
"""

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import SLEEP, encode
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.info import held_types
from standing_orders.cage2.reward import reward_tenths
from standing_orders.cage2.scenario import HOSTS, RULE_SETS, UNIT_TYPE_HOSTS
from standing_orders.cage2.state import Environment
from standing_orders.cage2.step import play_step
from standing_orders.compiled import jit, nth_bit
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.rules.compliance import top_held
from standing_orders.rules.orders import NUM_ORDERS
from standing_orders.seeding import child_seed, environment_seeds

_FIRST_RESTORE = encode("Restore", HOSTS[0])


@jit
def true_state_action(env: Environment, order: int) -> int:
    """Restore of the first held host (lowest index) of the highest-ranked held type, or Sleep.

    A host is held if red has a session on it other than the foothold.
    """
    top = top_held(held_types(env), order)
    if top < 0:
        return SLEEP
    return _FIRST_RESTORE + nth_bit(env.held & UNIT_TYPE_HOSTS[top], 0)


@jit
def _play_all(
    states: NDArray[np.void],  # (num_envs,), at the start of an episode
    order: int,
    horizon: int,
    rules: int,
    red_tempo: int,
    returns: NDArray[np.int64],  # (num_envs,), added to, tenths
) -> None:
    for i in range(len(states)):
        env = states[i]
        for _ in range(horizon):
            play_step(env, true_state_action(env, order), rules, red_tempo)
            returns[i] += reward_tenths(env)


def oracle_returns(
    config: SimConfig, num_episodes: int, seed: int
) -> NDArray[np.int64]:  # (120, num_episodes)
    """Returns of the true-state oracle for every order, in tenths of a point.

    All orders meet the same attacks: in episode e, whatever the order, red draws the same random
    numbers and has done the same things when the head start ends.

    Args:
        config: the game.
        num_episodes: how many for each order, at least 1.
        seed: root seed; episode e depends on it and on e alone.

    Raises:
        ConfigError: there is nothing to play, or the seed cannot be one.

    Example:
        >>> oracle_returns(SimConfig(horizon=5), 3, 0).shape
        (120, 3)
    """
    if num_episodes < 1:
        raise ConfigError(f"episodes = {num_episodes}: must be at least 1")
    batch = Cage2Batch(num_episodes, config)
    batch.reset(environment_seeds(child_seed(seed, "oracle", config.red), num_episodes))
    rules = RULE_SETS.index(config.rules)
    returns = np.zeros((NUM_ORDERS, num_episodes), dtype=np.int64)
    for order in range(NUM_ORDERS):
        states = batch.states.copy()
        _play_all(states, order, config.horizon, rules, config.red_tempo, returns[order])
    batch.close()
    return returns
