"""A possible true state, packed: all that blue does not know, and nothing that cannot matter.

Blue knows its own decoys, which mail servers it restored, and its table. What it cannot know and
what can still show in a later observation, or in who holds what, is packed into eight words.
States whose futures are equal have equal words:

- sessions of a host count as one of three kinds: a privileged one, which only a Restore deletes
  and beside which others do not matter; a user-level one that Remove does not delete; or only
  user-level ones that it deletes. Which one an escalation raises does not matter then.
- whether the operational service is up shows nowhere but in the reward, and red only calls for
  Impact once it knows the service.
- red's memory is settled (`cage2.opponents.settle`).
"""

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import NUM_HOSTS, USER0
from standing_orders.cage2.state import Environment
from standing_orders.compiled import jit

NUM_WORDS = 8
# Word 5 holds blue's table of compromised hosts, the last two the events of an unfinished step. At
# the end of a head start the activity that blue sees is noted there.
TABLE_WORD, ACTIVITY_WORD = 5, 6
_EVENTS = 6
_FOUND_BIT = 2 * NUM_HOSTS  # of TABLE_WORD, in an unfinished step: Analyse found malware
_H = NUM_HOSTS
_MASK = (1 << _H) - 1
_USER0_BIT = 1 << USER0
_SCAN_BITS, _SCAN_MASK = 8, 0xFF
# Words 2 to 4 hold the remembered scans, 4 + 7 + 2 hosts.
_FIRST_SCANS, _SECOND_SCANS = 4, 11
_EVENT_BITS, _HOST_BITS, _COUNT_BITS, _PORT_BITS, _ALERT_BITS = 31, 4, 8, 12, 7
_MAX_COUNT = 100  # of events on a host: more look the same
assert _EVENT_BITS == _HOST_BITS + _COUNT_BITS + _PORT_BITS + _ALERT_BITS


@jit
def _removable_hosts(env: Environment) -> int:
    """Mask of the held hosts whose every session Remove deletes, the foothold aside."""
    mask = 0
    for host in range(_H):
        if env.held >> host & 1:
            goes = env.session_removable[host] & ~env.session_priv[host]
            if host == USER0:
                goes |= 1
            if goes == (1 << env.num_sessions[host]) - 1:
                mask |= 1 << host
    return mask


@jit
def pack(env: Environment, words: NDArray[np.int64]) -> None:  # (8,)
    """Write the words of a settled state between two steps."""
    words[0] = (
        env.held
        | np.int64(env.privileged & ~_USER0_BIT) << _H
        | np.int64(_removable_hosts(env)) << 2 * _H
        | np.int64(env.malware) << 3 * _H
        | np.int64(env.bline_index) << 4 * _H
        | np.int64(env.bline_entry + 1) << 4 * _H + 4
    )
    words[1] = (
        env.known_ip
        | np.int64(env.known_host) << _H
        | np.int64(env.meander_named) << 2 * _H
        | np.int64(env.meander_scanned) << 3 * _H
        | np.int64(env.known_subnets) << 4 * _H
        | np.int64(env.meander_subnets) << 4 * _H + 3
        | np.int64(env.bline_tried_server) << 4 * _H + 6
        | np.int64(env.red_success) << 4 * _H + 7
    )
    scans = np.int64(0)
    for host in range(_FIRST_SCANS):
        scans = scans << _SCAN_BITS | env.scan_ports[host]
    words[2] = (
        env.meander_exploited
        | np.int64(env.meander_escalated) << _H
        | np.int64(env.red) << 2 * _H
        | scans << 2 * _H + 2
    )
    scans = np.int64(0)
    for host in range(_FIRST_SCANS, _SECOND_SCANS):
        scans = scans << _SCAN_BITS | env.scan_ports[host]
    words[3] = scans
    scans = np.int64(0)
    for host in range(_SECOND_SCANS, _H):
        scans = scans << _SCAN_BITS | env.scan_ports[host]
    words[4] = scans
    table = np.int64(0)
    for host in range(_H):
        table |= np.int64(env.belief[host]) << 2 * host
    words[TABLE_WORD] = table
    words[_EVENTS] = 0
    words[_EVENTS + 1] = 0


@jit
def pack_events(env: Environment, words: NDArray[np.int64]) -> None:  # (8,)
    """Add what has happened so far in an unfinished step; at most four hosts have events."""
    if env.malware_host >= 0:
        words[TABLE_WORD] |= np.int64(1) << _FOUND_BIT
    place = 0
    mask, host = env.event_hosts, 0
    while mask >> host:
        if mask >> host & 1:
            event = (
                np.int64(host + 1)
                | np.int64(min(env.event_count[host], _MAX_COUNT)) << _HOST_BITS
                | np.int64(env.event_ports[host]) << _HOST_BITS + _COUNT_BITS
                | np.int64(env.event_alerts[host]) << _HOST_BITS + _COUNT_BITS + _PORT_BITS
            )
            words[_EVENTS + place // 2] |= event << _EVENT_BITS * (place % 2)
            place += 1
        host += 1


@jit
def unpack(words: NDArray[np.int64], env: Environment) -> None:  # (8,)
    """Write a state between two steps into a record that holds what blue knows."""
    word = words[0]
    env.held = word & _MASK
    privileged = word >> _H & _MASK
    removable = word >> 2 * _H & _MASK
    env.privileged = privileged | _USER0_BIT
    env.malware = word >> 3 * _H & _MASK
    env.bline_index = word >> 4 * _H & 15
    env.bline_entry = (word >> 4 * _H + 4 & 15) - 1
    for host in range(_H):
        env.num_sessions[host] = env.held >> host & 1
        env.session_priv[host] = privileged >> host & 1
        env.session_removable[host] = removable >> host & 1
        env.belief[host] = words[TABLE_WORD] >> 2 * host & 3
    env.num_sessions[USER0] += 1
    env.session_priv[USER0] = 1
    env.session_removable[USER0] <<= 1
    word = words[1]
    env.known_ip = word & _MASK
    env.known_host = word >> _H & _MASK
    env.meander_named = word >> 2 * _H & _MASK
    env.meander_scanned = word >> 3 * _H & _MASK
    env.known_subnets = word >> 4 * _H & 7
    env.meander_subnets = word >> 4 * _H + 3 & 7
    env.bline_tried_server = word >> 4 * _H + 6 & 1
    env.red_success = word >> 4 * _H + 7 & 3
    word = words[2]
    env.meander_exploited = word & _MASK
    env.meander_escalated = word >> _H & _MASK
    env.red = word >> 2 * _H & 3
    scans = word >> 2 * _H + 2
    for host in range(_FIRST_SCANS - 1, -1, -1):
        env.scan_ports[host] = scans & _SCAN_MASK
        scans >>= _SCAN_BITS
    scans = words[3]
    for host in range(_SECOND_SCANS - 1, _FIRST_SCANS - 1, -1):
        env.scan_ports[host] = scans & _SCAN_MASK
        scans >>= _SCAN_BITS
    scans = words[4]
    for host in range(_H - 1, _SECOND_SCANS - 1, -1):
        env.scan_ports[host] = scans & _SCAN_MASK
        scans >>= _SCAN_BITS


@jit
def unpack_events(words: NDArray[np.int64], analysed: int, env: Environment) -> None:  # (8,)
    """Write what has happened so far in an unfinished step, `analysed` being Analyse's host."""
    env.malware_host = analysed if words[TABLE_WORD] >> _FOUND_BIT & 1 else -1
    for place in range(4):
        event = words[_EVENTS + place // 2] >> _EVENT_BITS * (place % 2)
        host = (event & (1 << _HOST_BITS) - 1) - 1
        if host < 0:
            return
        event >>= _HOST_BITS
        env.event_hosts |= 1 << host
        env.event_count[host] = event & (1 << _COUNT_BITS) - 1
        event >>= _COUNT_BITS
        env.event_ports[host] = event & (1 << _PORT_BITS) - 1
        event >>= _PORT_BITS
        env.event_alerts[host] = event & (1 << _ALERT_BITS) - 1


@jit
def read_observation(observation: NDArray[np.uint32]) -> tuple[np.int64, np.int64]:  # (13,)
    """Blue's table and the activity that an observation shows, 2 bits a host each."""
    table = activity = np.int64(0)
    for host in range(_H):
        word = np.int64(observation[host])
        activity |= ((word & 1) + (word >> 8 & 1)) << 2 * host
        table |= ((word >> 16 & 1) + 2 * (word >> 24 & 1)) << 2 * host
    return table, activity
