"""How red decides: B_line, Meander and Sleep.

A decision has three parts, so that a recorded one can be followed: `decide` updates the agent's
memory by the result of its last action and gives the action with the mask of its possible
targets; the target is drawn uniformly from the mask (or taken from a recording); `commit` writes
the choice into the agent's memory. Bit 20 + s of a target mask stands for subnet s.
"""

import numpy as np

from standing_orders.cage2.rng import below
from standing_orders.cage2.scenario import (
    ALL_HOSTS,
    B_LINE,
    DISCOVER_SERVICES,
    DISCOVER_SYSTEMS,
    ENTERPRISE,
    ENTERPRISE0,
    ENTERPRISE1,
    ENTERPRISE2,
    ESCALATE,
    EXPLOIT,
    FAILED,
    IMPACT,
    MEANDER,
    NO_TARGET,
    NUM_HOSTS,
    OP_SERVER0,
    OPERATIONAL_HOSTS,
    RED_SLEEP,
    ROUTER_HOSTS,
    SUBNET_HOSTS,
    SUBNET_TARGET,
    SUBNETS,
    SUCCEEDED,
    USER,
    USER1,
    USER2,
    USER3,
    USER4,
)
from standing_orders.cage2.state import Environment
from standing_orders.compiled import count_bits, jit, nth_bit

# B_line's plan: the action of each index, its target, and the index it falls back to.
_X, _Y = -1, -2  # the user host drawn once per episode, and the enterprise host behind it
BLINE_PLAN = (
    (DISCOVER_SYSTEMS, SUBNET_TARGET + USER, 0),
    (DISCOVER_SERVICES, _X, 1),
    (EXPLOIT, _X, 2),
    (ESCALATE, _X, 2),
    (DISCOVER_SERVICES, _Y, 2),
    (EXPLOIT, _Y, 2),
    (ESCALATE, _Y, 5),
    (DISCOVER_SYSTEMS, SUBNET_TARGET + ENTERPRISE, 5),
    (DISCOVER_SERVICES, ENTERPRISE2, 5),
    (EXPLOIT, ENTERPRISE2, 5),
    (ESCALATE, ENTERPRISE2, 9),
    (DISCOVER_SERVICES, OP_SERVER0, 9),
    (EXPLOIT, OP_SERVER0, 9),
    (ESCALATE, OP_SERVER0, 12),
    (IMPACT, OP_SERVER0, 13),
)
_BLINE_KIND = np.array([kind for kind, _, _ in BLINE_PLAN])
_BLINE_TARGET = np.array([target for _, target, _ in BLINE_PLAN])
_BLINE_FALL_BACK = np.array([fall_back for _, _, fall_back in BLINE_PLAN])
_BLINE_FIRST_SCAN, _BLINE_ATTACK_SERVER, _BLINE_LAST = 1, 12, 14
ENTRY_HOSTS = 1 << USER1 | 1 << USER2 | 1 << USER3 | 1 << USER4


@jit
def _decide_bline(env: Environment) -> tuple[int, int]:
    last = env.bline_index
    is_success = env.red_success == SUCCEEDED
    index = min(last + 1, _BLINE_LAST) if is_success else _BLINE_FALL_BACK[last]
    if index == _BLINE_ATTACK_SERVER:
        if env.scan_was_empty and not env.bline_tried_server:
            index = _BLINE_FIRST_SCAN
        else:
            env.bline_tried_server = 1
    env.bline_index = index
    target = _BLINE_TARGET[index]
    if target == _X:
        if env.bline_entry < 0:
            return DISCOVER_SERVICES, ENTRY_HOSTS
        target = env.bline_entry
    elif target == _Y:
        target = ENTERPRISE1 if env.bline_entry <= USER2 else ENTERPRISE0
    return _BLINE_KIND[index], 1 << target


@jit
def _digest_meander(env: Environment) -> None:
    """Let Meander learn from the result of its last action."""
    is_success = env.red_success == SUCCEEDED
    if env.meander_last_exploited >= 0:
        bit = 1 << env.meander_last_exploited
        if is_success:
            env.meander_named |= bit
        else:
            env.meander_exploited &= ~bit
            lost = env.meander_escalated & OPERATIONAL_HOSTS
            if lost == 0:
                lost = env.meander_escalated & ROUTER_HOSTS
            env.meander_escalated &= ~lost
            env.meander_exploited &= ~lost
        env.meander_last_exploited = -1
    if env.meander_last_host >= 0:
        bit = 1 << env.meander_last_host
        if not is_success:
            env.meander_escalated &= ~bit
            if env.meander_named & bit:
                env.meander_exploited &= ~bit
        env.meander_last_host = -1


@jit
def _decide_meander(env: Environment) -> tuple[int, int]:
    _digest_meander(env)
    if env.meander_escalated >> OP_SERVER0 & 1:
        return IMPACT, 1 << OP_SERVER0
    for subnet in range(len(SUBNETS)):
        if env.known_subnets & ~env.meander_subnets & 1 << subnet:
            return DISCOVER_SYSTEMS, 1 << (SUBNET_TARGET + subnet)
    unscanned = env.known_ip & ~env.meander_scanned
    if unscanned:
        return DISCOVER_SERVICES, unscanned
    lost = env.meander_named & ~env.meander_exploited
    candidates = env.known_host & ~env.meander_escalated & ~lost
    if candidates:
        return ESCALATE, candidates
    return EXPLOIT, env.known_ip & ~env.meander_exploited


@jit
def decide(env: Environment) -> tuple[int, int]:
    """Red's next action and the mask of targets it may take."""
    if env.red == B_LINE:
        return _decide_bline(env)
    if env.red == MEANDER:
        return _decide_meander(env)
    return RED_SLEEP, 0


@jit
def choose(targets: int, word: int) -> int:
    """Draw one target of the mask uniformly."""
    if targets == 0:
        return NO_TARGET
    return nth_bit(targets, below(word, count_bits(targets)))


@jit
def commit(env: Environment, kind: int, target: int) -> None:
    """Write a choice into the agent's memory."""
    if env.red == B_LINE:
        if env.bline_index == _BLINE_FIRST_SCAN:
            env.bline_entry = target
    elif env.red == MEANDER:
        if kind == DISCOVER_SYSTEMS:
            env.meander_subnets |= 1 << (target - SUBNET_TARGET)
        elif kind == DISCOVER_SERVICES:
            env.meander_scanned |= 1 << target
        elif kind == EXPLOIT:
            env.meander_exploited |= 1 << target
            env.meander_last_exploited = target
        else:
            env.meander_escalated |= 1 << target
            env.meander_last_host = target


@jit
def _settle_bline(env: Environment) -> None:
    _decide_bline(env)
    upcoming = env.bline_index
    env.bline_index = max(upcoming - 1, 0)
    env.red_success = SUCCEEDED if upcoming else FAILED
    env.scan_was_empty = 0
    # Its plan names no target before an earlier action has revealed it.
    env.known_ip = ALL_HOSTS
    env.known_host = ALL_HOSTS
    env.known_subnets = (1 << len(SUBNETS)) - 1


@jit
def _settle_meander(env: Environment) -> None:
    _digest_meander(env)
    env.red_success = FAILED
    env.scan_was_empty = 0
    # It forgets conquests in the other subnets only, so it is done with these.
    finished = env.meander_exploited & env.meander_escalated & SUBNET_HOSTS[USER]
    env.known_host |= finished
    env.meander_named |= finished
    for host in range(NUM_HOSTS):
        if finished >> host & 1:
            env.scan_ports[host] = 0


@jit
def settle(env: Environment) -> None:
    """Bring the agent's memory into one form for all that lead to the same decisions.

    What `decide` would learn from the result of the last action is learned at once, and what can
    no longer matter is forgotten. Later decisions, with the same draws, are what they were.
    """
    if env.red == B_LINE:
        _settle_bline(env)
    elif env.red == MEANDER:
        _settle_meander(env)
