"""Scripted defenders: sleep, random, useful-random, react_restore, react_remove, heuristic."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2 import actions as blue
from standing_orders.cage2.actions import encode
from standing_orders.cage2.policy import NAMES
from standing_orders.cage2.rng import BLUE_STREAM, below, philox
from standing_orders.cage2.scenario import (
    BASE_PORTS,
    BELIEF_NO,
    BELIEF_PRIVILEGED,
    BELIEF_USER,
    DECOY_FITS_HOSTS,
    DECOY_NEEDS_FREE,
    DECOYS,
    HOSTS,
    NUM_HOSTS,
    OBSERVATION_SIZE,
    USER0,
)
from standing_orders.compiled import jit
from standing_orders.errors import ConfigError, SimulationError

_SLEEP, _RANDOM, _USEFUL, _REACT_RESTORE, _REACT_REMOVE, _HEURISTIC = range(len(NAMES))

# Hosts in the order in which the reacting defenders look after them.
PRIORITY = (
    "Op_Server0", "Enterprise2", "Enterprise1", "Enterprise0", "Op_Host0", "Op_Host1", "Op_Host2",
    "User1", "User2", "User3", "User4",
)  # fmt: skip
DECOY_PLAN = (
    ("Femitter", "Enterprise2"), ("Femitter", "Enterprise1"), ("HarakaSMPT", "Op_Server0"),
    ("Tomcat", "Op_Server0"), ("HarakaSMPT", "Enterprise0"), ("Apache", "Enterprise0"),
    ("Tomcat", "User1"), ("Smss", "User1"), ("Femitter", "User2"), ("Apache", "User2"),
    ("SSHD", "User3"), ("Vsftpd", "User4"), ("Vsftpd", "Enterprise0"), ("Apache", "Op_Host0"),
    ("Tomcat", "Op_Host1"), ("HarakaSMPT", "Op_Host2"),
)  # fmt: skip


def compatible_decoys(host: str) -> list[str]:
    """Decoys that can be placed on a host in its initial state.

    Example:
        >>> compatible_decoys("User3")
        ['SSHD', 'Vsftpd']
    """
    index = HOSTS.index(host)
    return [
        name
        for decoy, name in enumerate(DECOYS)
        if DECOY_FITS_HOSTS[decoy] >> index & 1 and not BASE_PORTS[index] & DECOY_NEEDS_FREE[decoy]
    ]


def useful_actions() -> list[int]:
    """Monitor, and all that can have an effect on the eleven hosts of `PRIORITY`; 67 in all."""
    kinds = [(kind, host) for kind in ("Analyse", "Remove", "Restore") for host in PRIORITY]
    kinds += [(f"Decoy{decoy}", host) for host in PRIORITY for decoy in compatible_decoys(host)]
    return sorted([blue.MONITOR, *(encode(kind, host) for kind, host in kinds)])


_PRIORITY = np.array([HOSTS.index(host) for host in PRIORITY])
_USEFUL_ACTIONS = np.array(useful_actions())
_PLAN = np.array([encode(f"Decoy{decoy}", host) for decoy, host in DECOY_PLAN])
_PLAN_OF_HOST = np.array(
    [sum(1 << i for i, (_, host) in enumerate(DECOY_PLAN) if host == name) for name in HOSTS]
)
_ANALYSE, _REMOVE, _RESTORE = (encode(kind, HOSTS[0]) for kind in ("Analyse", "Remove", "Restore"))

_MEMORY_DTYPE = np.dtype(
    [
        ("seed", "u8"),
        ("turn", "i8"),
        ("placed", "i4"),  # mask of DECOY_PLAN
        ("pending", "i4"),  # host to analyse next, -1 none
        ("rotation", "i4"),
    ]
)


@jit
def _believed(observation: NDArray[np.int8], host: int) -> int:
    return observation[4 * host + 2] + 2 * observation[4 * host + 3]


@jit
def _shows_exploit(observation: NDArray[np.int8], host: int) -> bool:
    return observation[4 * host + 1] == 1


@jit
def _restore(memory: Any, host: int) -> int:
    memory.placed &= ~_PLAN_OF_HOST[host]
    return _RESTORE + host


@jit
def _act_heuristic(memory: Any, observation: NDArray[np.int8]) -> int:
    if memory.pending >= 0:
        host = memory.pending
        memory.pending = -1
        return _ANALYSE + host
    for host in _PRIORITY:
        if _believed(observation, host) == BELIEF_PRIVILEGED:
            return _restore(memory, host)
    for host in _PRIORITY:
        if _believed(observation, host) == BELIEF_USER:
            if host < USER0:
                return _restore(memory, host)
            memory.pending = host
            return _REMOVE + host
    for i in range(len(_PLAN)):
        if not memory.placed >> i & 1:
            memory.placed |= 1 << i
            return _PLAN[i]
    host = _PRIORITY[memory.rotation % len(_PRIORITY)]
    memory.rotation += 1
    return _ANALYSE + host


@jit
def _act(policy: int, memory: Any, observation: NDArray[np.int8]) -> int:
    if policy == _RANDOM or policy == _USEFUL:
        word = philox(memory.turn, 0, BLUE_STREAM, 0, memory.seed)[0]
        if policy == _RANDOM:
            return below(word, blue.NUM_ACTIONS)
        return _USEFUL_ACTIONS[below(word, len(_USEFUL_ACTIONS))]
    if policy == _REACT_RESTORE:
        for host in _PRIORITY:
            if _believed(observation, host) != BELIEF_NO:
                return _RESTORE + host
    elif policy == _REACT_REMOVE:
        for host in _PRIORITY:
            if _shows_exploit(observation, host):
                return _REMOVE + host
        return blue.MONITOR
    elif policy == _HEURISTIC:
        return _act_heuristic(memory, observation)
    return blue.SLEEP


@jit
def _act_all(
    policy: int,
    memories: NDArray[np.void],  # (num_envs,)
    observations: NDArray[np.int8],  # (num_envs, 52)
    actions: NDArray[np.int64],  # (num_envs,)
) -> None:
    for i in range(len(memories)):
        actions[i] = _act(policy, memories[i], observations[i])
        memories[i].turn += 1


class ScriptedDefender:
    """One of the scripted defenders, for any number of environments.

    Args:
        name: one of `NAMES`.

    Raises:
        ConfigError: there is no such defender.

    Example:
        >>> defender = ScriptedDefender("react_restore")
        >>> defender.reset(np.zeros(2, np.uint64))
        >>> defender.act(np.zeros((2, 52), np.int8))
        array([0, 0])
    """

    def __init__(self, name: str) -> None:
        if name not in NAMES:
            raise ConfigError(f"policy {name!r}: must be one of {', '.join(NAMES)}")
        self.name = name
        self._policy = NAMES.index(name)
        self._memories = np.zeros(0, dtype=_MEMORY_DTYPE)
        self._actions = np.zeros(0, dtype=np.int64)

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        self._memories = np.zeros(len(seeds), dtype=_MEMORY_DTYPE)
        self._memories["seed"] = seeds
        self._memories["pending"] = -1
        self._actions = np.zeros(len(seeds), dtype=np.int64)

    def act(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> NDArray[np.int64]:  # (num_envs,)
        """Choose one action for each environment; the next call overwrites the result."""
        wanted = (len(self._memories), OBSERVATION_SIZE)
        if observations.shape != wanted:
            raise SimulationError(
                f"observations of shape {observations.shape}: reset was for {wanted}"
            )
        _act_all(self._policy, self._memories, observations, self._actions)
        return self._actions


assert NUM_HOSTS == len(PRIORITY) + 2  # all but Defender and User0
