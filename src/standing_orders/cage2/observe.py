"""What blue sees: activity and belief of each host, 4 bits a host, 52 in all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import (
    ACTIVITIES,
    ACTIVITY_BITS,
    BELIEF_BITS,
    BELIEF_PRIVILEGED,
    BELIEF_USER,
    BELIEFS,
    EXPLOIT_SEEN,
    HOSTS,
    NO_ACTIVITY,
    NUM_HOSTS,
    SCAN_SEEN,
    STOCK,
)
from standing_orders.cage2.state import Environment
from standing_orders.compiled import count_bits, jit
from standing_orders.errors import ConfigError

# A host's four bits as four bytes, read as one 32-bit word: 13 stores write an observation.
HOST_WORDS = (
    np.array([[a + b for b in BELIEF_BITS] for a in ACTIVITY_BITS], dtype=np.int8)
    .view(np.uint32)
    .ravel()
)


@jit
def activity(env: Environment, host: int, style: int) -> int:
    """What the network events of this step on one host look like to blue."""
    count = env.event_count[host]
    if count == 0:
        return NO_ACTIVITY
    has_decoy = env.decoy_host == host
    num_events = count + has_decoy
    # The local port of an alert is a random high one, distinct from all others.
    num_ports = count_bits(env.event_ports[host]) + env.event_alerts[host]
    if num_events >= 3 and num_ports >= 3:
        return SCAN_SEEN
    if env.event_alerts[host] or (num_events >= 3 and num_ports == 1):
        return EXPLOIT_SEEN
    return NO_ACTIVITY if has_decoy and style == STOCK else SCAN_SEEN


@jit
def clear_events(env: Environment) -> None:
    """Forget the events of the step before."""
    mask, host = env.event_hosts, 0
    while mask >> host:
        env.event_count[host] = 0
        env.event_ports[host] = 0
        env.event_alerts[host] = 0
        host += 1
    env.event_hosts = 0


@jit
def update_belief(env: Environment) -> None:
    """Enter what was seen in this step into blue's table of compromised hosts."""
    mask, host = env.event_hosts, 0
    while mask >> host:
        if mask >> host & 1 and activity(env, host, STOCK) == EXPLOIT_SEEN:
            env.belief[host] = BELIEF_USER
        host += 1
    if env.malware_host >= 0:
        env.belief[env.malware_host] = BELIEF_PRIVILEGED


@jit
def observe(env: Environment, style: int, words: NDArray[np.uint32]) -> None:
    """Write one observation as 13 host words."""
    for host in range(NUM_HOSTS):
        words[host] = HOST_WORDS[env.belief[host]]
    mask, host = env.event_hosts, 0
    while mask >> host:
        if mask >> host & 1:
            words[host] = HOST_WORDS[4 * activity(env, host, style) + env.belief[host]]
        host += 1


def describe(observation: NDArray[Any]) -> dict[str, tuple[str, str]]:
    """Read one observation back: host -> (activity, compromised).

    Args:
        observation: 52 bits, shape (52,).

    Raises:
        ConfigError: the shape is another, or the activity bits of a host are none of the three.

    Example:
        >>> describe(np.zeros(52, np.int8))["User0"]
        ('None', 'No')
    """
    bits = np.asarray(observation)
    if bits.shape != (4 * NUM_HOSTS,):
        raise ConfigError(f"observation of shape {bits.shape}: must be ({4 * NUM_HOSTS},)")
    result = {}
    for i, host in enumerate(HOSTS):
        seen, believed = tuple(bits[4 * i : 4 * i + 2]), tuple(bits[4 * i + 2 : 4 * i + 4])
        if seen not in ACTIVITY_BITS or believed not in BELIEF_BITS:
            raise ConfigError(f"observation bits {(*seen, *believed)} of {host} mean nothing")
        result[host] = (ACTIVITIES[ACTIVITY_BITS.index(seen)], BELIEFS[BELIEF_BITS.index(believed)])
    return result
