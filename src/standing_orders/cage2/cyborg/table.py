"""Blue's table of 13 hosts from CybORG's raw observations: the 52 bits of both wrappers.

The challenge's own wrapper copies every observation deeply and draws a text table each step. This
is the same reading of the same dictionaries, without the copies.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import HOST_OF_ACTION, KIND_OF_ACTION, REMOVE, RESTORE
from standing_orders.cage2.observe import HOST_WORDS
from standing_orders.cage2.scenario import (
    BELIEF_NO,
    BELIEF_PRIVILEGED,
    BELIEF_UNKNOWN,
    BELIEF_USER,
    CORRECTED,
    EXPLOIT_SEEN,
    HOSTS,
    NO_ACTIVITY,
    NUM_HOSTS,
    SCAN_SEEN,
)

Raw = dict[str, Any]  # one observation of CybORG: host -> what was seen there
_REVERSE_SHELL_PORT = 4444
_MALWARE_DENSITY = 0.9
_INDEX = {host: i for i, host in enumerate(HOSTS)}
_FILES, _PROCESSES, _CONNECTIONS = "Files", "Processes", "Connections"


class BlueTable:
    """What blue believes of each host, step by step.

    Args:
        first: the raw observation of the reset: what is normal on each host.
    """

    def __init__(self, first: Raw) -> None:
        self._normal = {host: first[host] for host in HOSTS}
        self._beliefs = [BELIEF_NO] * NUM_HOSTS
        self._activities = {}  # type: dict[int, list[dict[str, Any]]]

    def update(self, action: int, raw: Raw) -> None:
        """Enter one step: what blue did, then what it saw."""
        host = int(HOST_OF_ACTION[action])
        if KIND_OF_ACTION[action] == RESTORE:
            self._beliefs[host] = BELIEF_NO
        elif KIND_OF_ACTION[action] == REMOVE and self._beliefs[host] != BELIEF_NO:
            self._beliefs[host] = BELIEF_UNKNOWN
        self._activities = {}
        for name, seen in raw.items():
            if name in _INDEX:
                self._enter(_INDEX[name], seen)

    def _enter(self, host: int, seen: Raw) -> None:
        processes = self._unusual(host, seen, _PROCESSES)
        if processes:
            self._activities[host] = processes
            if _activity(processes, CORRECTED) == EXPLOIT_SEEN:
                self._beliefs[host] = BELIEF_USER
        files = self._unusual(host, seen, _FILES)
        if any(file["Density"] >= _MALWARE_DENSITY for file in files):
            self._beliefs[host] = BELIEF_PRIVILEGED

    def _unusual(self, host: int, seen: Raw, what: str) -> list[dict[str, Any]]:
        usual = self._normal[HOSTS[host]].get(what, ())
        return [item for item in seen.get(what, ()) if item not in usual]

    def write(self, style: int, words: NDArray[np.uint32]) -> None:  # (13,)
        """Write the observation in one of the two styles."""
        for host, belief in enumerate(self._beliefs):
            words[host] = HOST_WORDS[belief]
        for host, processes in self._activities.items():
            words[host] = HOST_WORDS[4 * _activity(processes, style) + self._beliefs[host]]


def _activity(processes: list[dict[str, Any]], style: int) -> int:
    """What the unusual processes of one host in one step look like."""
    connections = [item[_CONNECTIONS][0] for item in processes if _CONNECTIONS in item]
    num_ports = len({connection["local_port"] for connection in connections})
    if len(processes) >= 3 and num_ports >= 3:
        return SCAN_SEEN
    if any(item.get("remote_port") == _REVERSE_SHELL_PORT for item in connections):
        return EXPLOIT_SEEN
    if len(processes) >= 3 and num_ports == 1:
        return EXPLOIT_SEEN
    if "Service Name" in processes[0]:  # a decoy that blue has just placed
        is_shown = style == CORRECTED and bool(connections)
        return SCAN_SEEN if is_shown else NO_ACTIVITY
    return SCAN_SEEN
