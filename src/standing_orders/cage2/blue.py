"""Compiled effects of blue's actions (no randomness)."""

from standing_orders.cage2.actions import (
    ANALYSE,
    FIRST_DECOY,
    HOST_OF_ACTION,
    KIND_OF_ACTION,
    LAST_DECOY,
    REMOVE,
    RESTORE,
    SLEEP,
)
from standing_orders.cage2.scenario import (
    BASE_PORTS,
    BELIEF_NO,
    BELIEF_UNKNOWN,
    DECOY_FITS_HOSTS,
    DECOY_NEEDS_FREE,
    DECOY_PORTS,
    FAILED,
    LEADERBOARD_2022,
    MAIL_HOSTS,
    OP_SERVER0,
    SUCCEEDED,
    UNKNOWN,
    USER0,
    VSFTPD,
)
from standing_orders.cage2.state import Environment
from standing_orders.compiled import jit


@jit
def listening_ports(env: Environment, host: int) -> int:
    """Mask of the ports that a scan of the host finds open."""
    return BASE_PORTS[host] | DECOY_PORTS[env.decoys[host]]


@jit
def _remove(env: Environment, host: int) -> None:
    """Delete user-level sessions that are removable; the order of the others stays."""
    priv, removable = env.session_priv[host], env.session_removable[host]
    kept = kept_priv = kept_removable = 0
    for j in range(env.num_sessions[host]):
        is_priv, is_removable = priv >> j & 1, removable >> j & 1
        if is_priv or not is_removable:
            kept_priv |= is_priv << kept
            kept_removable |= is_removable << kept
            kept += 1
    env.num_sessions[host] = kept
    env.session_priv[host] = kept_priv
    env.session_removable[host] = kept_removable
    if kept == (host == USER0):
        env.held &= ~(1 << host)
    if env.belief[host] != BELIEF_NO:
        env.belief[host] = BELIEF_UNKNOWN


@jit
def _restore(env: Environment, host: int, rules: int) -> None:
    bit = 1 << host
    # Session 0 on User0, the foothold, comes back with every restore.
    foothold = 1 if host == USER0 else 0
    env.num_sessions[host] = foothold
    env.session_priv[host] = foothold
    env.session_removable[host] = 0
    env.held &= ~bit
    if host != USER0:
        env.privileged &= ~bit
    env.malware &= ~bit
    env.decoys[host] = 0
    env.num_vsftpd[host] = 0
    env.belief[host] = BELIEF_NO
    if host == OP_SERVER0:
        env.ot_up = 1
        env.ot_active = 1
        env.ot_linked = 0  # the backup lacks the link from the service to its process
    if rules == LEADERBOARD_2022:
        env.mail_immune |= bit & MAIL_HOSTS


@jit
def _place_decoy(env: Environment, decoy: int, host: int) -> int:
    fits = DECOY_FITS_HOSTS[decoy] >> host & 1
    if not fits or listening_ports(env, host) & DECOY_NEEDS_FREE[decoy]:
        return FAILED
    env.decoys[host] |= 1 << decoy
    if decoy == VSFTPD:
        env.num_vsftpd[host] += 1
    env.decoy_host = host
    return SUCCEEDED


@jit
def act_blue(env: Environment, action: int, rules: int) -> None:
    """Execute one of blue's 145 actions."""
    kind, host = KIND_OF_ACTION[action], HOST_OF_ACTION[action]
    env.blue_action = action
    env.blue_success = UNKNOWN if kind == SLEEP else SUCCEEDED
    env.decoy_host = -1
    env.malware_host = -1
    if kind == ANALYSE:
        if env.malware >> host & 1:
            env.malware_host = host
    elif kind == REMOVE:
        _remove(env, host)
    elif kind == RESTORE:
        _restore(env, host, rules)
    elif FIRST_DECOY <= kind <= LAST_DECOY:
        env.blue_success = _place_decoy(env, kind - FIRST_DECOY, host)
