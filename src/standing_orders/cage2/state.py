"""The state of a batch of environments: one array, one record per environment.

`states["malware"]` is a column over all environments, `states[i].malware` (in compiled code) one
field of environment i. A record is contiguous, so a step touches a handful of cache lines, and a
copy, a checkpoint or a digest of any number of environments is that of one array.
"""

import hashlib
from typing import Annotated, Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.scenario import (
    FAILED,
    NO_TARGET,
    NUM_HOSTS,
    RED_SLEEP,
    UNKNOWN,
    USER,
    USER0,
)
from standing_orders.compiled import jit

# A host that holds this many red sessions gains no further one. Without a privileged session a
# host never comes near it; with one, further sessions change neither reward nor observation.
MAX_SESSIONS = 63

PerHost = NDArray[Any]


class Environment:
    """One environment. A mask has one bit per host; a `PerHost` field one number per host.

    All but the seed are signed: Numba turns a mix of signed and unsigned integers into floats.
    """

    # randomness and time
    seed: Annotated[int, "u8"]
    episode: Annotated[int, "i4"]  # episodes begun with this seed
    turn: Annotated[int, "i4"]  # red actions so far in the episode
    step: Annotated[int, "i4"]  # steps since blue may act
    # red's sessions in order of creation: bit j of a host's word tells of its j-th session
    session_priv: Annotated[PerHost, "i8"]
    session_removable: Annotated[PerHost, "i8"]  # Remove deletes it while it is user level
    num_sessions: Annotated[PerHost, "i1"]
    held: Annotated[int, "i2"]  # mask: a session other than the foothold
    privileged: Annotated[int, "i2"]  # mask: a privileged session
    malware: Annotated[int, "i2"]  # mask
    mail_immune: Annotated[int, "i2"]  # mask, rule set leaderboard-2022 only
    # decoys: bit mask of kinds per host; Vsftpd, the only one that stacks, is counted
    decoys: Annotated[PerHost, "i2"]
    num_vsftpd: Annotated[PerHost, "i2"]
    # red's knowledge
    known_ip: Annotated[int, "i2"]  # mask
    known_host: Annotated[int, "i2"]  # mask
    known_subnets: Annotated[int, "i1"]  # mask of subnets
    scan_ports: Annotated[PerHost, "i2"]  # remembered scan, 0 = never scanned
    # the operational technology service
    ot_up: Annotated[int, "i1"]
    ot_linked: Annotated[int, "i1"]
    ot_known: Annotated[int, "i1"]
    ot_active: Annotated[int, "i1"]
    # blue's table of compromised hosts
    belief: Annotated[PerHost, "i1"]
    # the step just played
    blue_action: Annotated[int, "i2"]
    blue_success: Annotated[int, "i1"]
    decoy_host: Annotated[int, "i1"]  # where blue placed a decoy in this step, -1 nowhere
    malware_host: Annotated[int, "i1"]  # where blue's Analyse found malware in this step
    event_hosts: Annotated[int, "i2"]  # mask: hosts with network events in this step
    event_count: Annotated[PerHost, "i4"]
    event_ports: Annotated[PerHost, "i2"]  # mask of local ports
    event_alerts: Annotated[PerHost, "i1"]  # events towards remote port 4444
    # red's last action and its random draws, -1 = not drawn
    red_action: Annotated[int, "i1"]
    red_target: Annotated[int, "i1"]
    red_success: Annotated[int, "i1"]
    exploit: Annotated[int, "i1"]
    detected: Annotated[int, "i1"]
    session_pick: Annotated[int, "i1"]
    scan_was_empty: Annotated[int, "i1"]
    # the red agent and its memory
    red: Annotated[int, "i1"]
    bline_index: Annotated[int, "i1"]
    bline_entry: Annotated[int, "i1"]  # the user host it goes through, -1 not drawn yet
    bline_tried_server: Annotated[int, "i1"]
    meander_subnets: Annotated[int, "i1"]  # mask of subnets it scanned
    meander_scanned: Annotated[int, "i2"]
    meander_exploited: Annotated[int, "i2"]
    meander_escalated: Annotated[int, "i2"]
    meander_named: Annotated[int, "i2"]  # hosts whose name it can map to an IP
    meander_last_exploited: Annotated[int, "i1"]
    meander_last_host: Annotated[int, "i1"]


def _state_dtype() -> np.dtype[Any]:
    fields = []
    for name, hint in get_type_hints(Environment, include_extras=True).items():
        kind, code = get_args(hint)
        fields.append((name, code) if kind is int else (name, code, (NUM_HOSTS,)))
    return np.dtype(fields, align=True)


STATE_DTYPE = _state_dtype()


def allocate(num_envs: int) -> NDArray[np.void]:  # (num_envs,)
    """Make room for `num_envs` environments; each must be reset before it is played."""
    return np.zeros(num_envs, dtype=STATE_DTYPE)


def digest(states: NDArray[np.void]) -> str:  # (num_envs,)
    """SHA-256 of everything a state holds, padding aside."""
    total = hashlib.sha256()
    for name in STATE_DTYPE.names or ():
        total.update(np.ascontiguousarray(states[name]).tobytes())
    return total.hexdigest()


@jit
def begin_episode(env: Environment) -> None:
    """Put one environment into the initial state; seed, episode number and red agent stay."""
    env.turn = 0
    env.step = 0
    for host in range(NUM_HOSTS):
        env.session_priv[host] = 0
        env.session_removable[host] = 0
        env.num_sessions[host] = 0
        env.decoys[host] = 0
        env.num_vsftpd[host] = 0
        env.scan_ports[host] = 0
        env.belief[host] = 0
        env.event_count[host] = 0
        env.event_ports[host] = 0
        env.event_alerts[host] = 0
    env.num_sessions[USER0] = 1
    env.session_priv[USER0] = 1
    env.held = 0
    env.privileged = 1 << USER0
    env.malware = 0
    env.mail_immune = 0
    env.known_ip = 1 << USER0
    env.known_host = 1 << USER0
    env.known_subnets = 1 << USER
    env.ot_up = 1
    env.ot_linked = 1
    env.ot_known = 0
    env.ot_active = 1
    env.blue_action = 0
    env.blue_success = UNKNOWN
    env.decoy_host = -1
    env.malware_host = -1
    env.event_hosts = 0
    env.red_action = RED_SLEEP
    env.red_target = NO_TARGET
    env.red_success = FAILED
    env.exploit = 0
    env.detected = -1
    env.session_pick = -1
    env.scan_was_empty = 0
    env.bline_index = 0
    env.bline_entry = -1
    env.bline_tried_server = 0
    env.meander_subnets = 0
    env.meander_scanned = 0
    env.meander_exploited = 0
    env.meander_escalated = 0
    env.meander_named = 0
    env.meander_last_exploited = -1
    env.meander_last_host = -1
