"""Blue's 145 actions: index <-> (kind, host)."""

import numpy as np

from standing_orders.cage2.scenario import DECOYS, HOSTS, NUM_HOSTS
from standing_orders.errors import ConfigError

KINDS = ("Sleep", "Monitor", "Analyse", "Remove", *(f"Decoy{name}" for name in DECOYS), "Restore")
SLEEP, MONITOR, ANALYSE, REMOVE, FIRST_DECOY = 0, 1, 2, 3, 4
LAST_DECOY = FIRST_DECOY + len(DECOYS) - 1
RESTORE = LAST_DECOY + 1

NUM_ACTIONS = 2 + NUM_HOSTS * (len(KINDS) - 2)
KIND_OF_ACTION = np.array([SLEEP, MONITOR] + [k for k in range(2, len(KINDS)) for _ in HOSTS])
HOST_OF_ACTION = np.array([-1, -1] + list(range(NUM_HOSTS)) * (len(KINDS) - 2))


def encode(kind: str, host: str | None = None) -> int:
    """Index of an action.

    Args:
        kind: one of `KINDS`.
        host: one of `scenario.HOSTS`; None for Sleep and Monitor.

    Raises:
        ConfigError: there is no such kind or host, or the kind takes no host.

    Example:
        >>> encode("Restore", "Op_Server0")
        139
    """
    if kind not in KINDS:
        raise ConfigError(f"action kind {kind!r}: must be one of {', '.join(KINDS)}")
    kind_index = KINDS.index(kind)
    if kind_index < ANALYSE:
        if host is not None:
            raise ConfigError(f"action {kind} takes no host, but got {host!r}")
        return kind_index
    if host not in HOSTS:
        raise ConfigError(f"host {host!r}: must be one of {', '.join(HOSTS)}")
    return 2 + NUM_HOSTS * (kind_index - ANALYSE) + HOSTS.index(host)


def describe(action: int) -> str:
    """Name of an action.

    Args:
        action: index, 0 to 144.

    Raises:
        ConfigError: the index is out of range.

    Example:
        >>> describe(139)
        'Restore Op_Server0'
    """
    if not 0 <= action < NUM_ACTIONS:
        raise ConfigError(f"action {action}: must be between 0 and {NUM_ACTIONS - 1}")
    kind = KINDS[KIND_OF_ACTION[action]]
    return kind if action < 2 else f"{kind} {HOSTS[HOST_OF_ACTION[action]]}"
