"""The true state, for info dictionaries, training and display; a policy never sees it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import (
    HOSTS,
    NO_TARGET,
    NUM_HOSTS,
    NUM_UNIT_TYPES,
    RED_ACTIONS,
    SUBNET_TARGET,
    SUBNETS,
    UNIT_TYPE_HOSTS,
)
from standing_orders.cage2.state import Environment
from standing_orders.compiled import jit


@jit
def held_types(env: Environment) -> int:
    """Mask of the unit types of which red holds a host, the foothold aside."""
    mask = 0
    for unit_type in range(NUM_UNIT_TYPES):
        if env.held & UNIT_TYPE_HOSTS[unit_type]:
            mask |= 1 << unit_type
    return mask


@jit
def _fill(
    states: NDArray[np.void],  # (num_envs,)
    access: NDArray[np.int8],  # (num_envs, 13)
    sessions: NDArray[np.int8],  # (num_envs, 13)
    decoys: NDArray[np.int16],  # (num_envs, 13)
    held: NDArray[np.int8],  # (num_envs, 5)
    red: NDArray[np.int8],  # (3, num_envs)
) -> None:
    for i in range(len(states)):
        env = states[i]
        for host in range(NUM_HOSTS):
            has_session = 1 if env.num_sessions[host] else 0
            access[i, host] = has_session + (env.privileged >> host & 1)
            sessions[i, host] = env.num_sessions[host]
            decoys[i, host] = env.decoys[host]
        mask = held_types(env)
        for unit_type in range(NUM_UNIT_TYPES):
            held[i, unit_type] = mask >> unit_type & 1
        red[0, i] = env.red_action
        red[1, i] = env.red_target
        red[2, i] = env.red_success


def true_state(states: NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """What really is the case in each environment, as fresh arrays.

    Args:
        states: shape (num_envs,).

    Returns:
        `red_access` (num_envs, 13): 0 none, 1 user, 2 privileged; `red_sessions` (num_envs, 13);
        `decoys` (num_envs, 13): bit mask in the order of `scenario.DECOYS`; `held_types`
        (num_envs, 5): 1 where red holds a host of that unit type, the foothold aside; and of
        red's last action (num_envs,): `red_action`, index into `scenario.RED_ACTIONS`,
        `red_target`, a host, 20 + a subnet, or -1, and `red_success`, 0 no, 1 yes, 2 unknown.
    """
    num_envs = len(states)
    access = np.empty((num_envs, NUM_HOSTS), dtype=np.int8)
    sessions = np.empty((num_envs, NUM_HOSTS), dtype=np.int8)
    decoys = np.empty((num_envs, NUM_HOSTS), dtype=np.int16)
    held = np.empty((num_envs, NUM_UNIT_TYPES), dtype=np.int8)
    red = np.empty((3, num_envs), dtype=np.int8)
    _fill(states, access, sessions, decoys, held, red)
    return {
        "red_access": access,
        "red_sessions": sessions,
        "decoys": decoys,
        "held_types": held,
        "red_action": red[0],
        "red_target": red[1],
        "red_success": red[2],
    }


def describe_red(action: int, target: int) -> str:
    """Name of a red action with its target.

    Example:
        >>> describe_red(3, 7)
        'ExploitRemoteService Op_Server0'
    """
    name = RED_ACTIONS[action]
    if target == NO_TARGET:
        return name
    place = SUBNETS[target - SUBNET_TARGET] if target >= SUBNET_TARGET else HOSTS[target]
    return f"{name} {place}"
