"""Red's actions: the random draws each one needs, and its compiled effects given those draws."""

from standing_orders.cage2.blue import listening_ports
from standing_orders.cage2.rng import below
from standing_orders.cage2.scenario import (
    BASE_CONNECTIONS,
    BASE_EXPLOITABLE,
    BASE_PRIVILEGED,
    DECOY_EXPLOITABLE,
    DEFENDER,
    DETECTION_PROB,
    DISCOVER_SERVICES,
    DISCOVER_SYSTEMS,
    ESCALATE,
    EXPLOIT,
    EXPLOIT_CANDIDATES,
    EXPLOIT_PORT_BIT,
    FAILED,
    HARAKA_RCE,
    HEAD,
    IMPACT,
    NO_EXPLOIT,
    OP_SERVER0,
    OPERATIONAL,
    OPERATIONAL_HOSTS,
    RED_SLEEP,
    REVEALED_HOSTS,
    ROUTER_HOSTS,
    SCANNABLE_PORTS,
    SSH_BRUTE_FORCE,
    SUBNET_HOSTS,
    SUBNET_OF_HOST,
    SUBNET_TARGET,
    SUCCEEDED,
    TOP_EXPLOIT,
    TOP_EXPLOIT_PROB,
    UNKNOWN,
    VSFTPD,
)
from standing_orders.cage2.state import MAX_SESSIONS, Environment
from standing_orders.compiled import count_bits, jit, nth_bit

_TOP_BELOW = int(TOP_EXPLOIT_PROB * 2**32)
_DETECTED_BELOW = int(DETECTION_PROB * 2**32)
_SSH_EVENTS = 10


# ------------------------------------------------------------------------------------------- draw
@jit
def draw_exploit(scan: int, word: int) -> int:
    """Concrete exploit for a remembered scan: the heaviest with 3/4, else one of the others."""
    candidates = EXPLOIT_CANDIDATES[scan]
    top = TOP_EXPLOIT[scan]
    others = candidates & ~(1 << top)
    if word < _TOP_BELOW or others == 0:
        return top
    rest = ((word - _TOP_BELOW) * count_bits(others)) // (2**32 - _TOP_BELOW)
    return nth_bit(others, rest)


@jit
def is_exploitable(env: Environment, host: int, exploit: int) -> bool:
    """Whether the exploit meets a real service that gives it a shell."""
    if exploit == NO_EXPLOIT or not has_route(env, host):
        return False
    if not BASE_EXPLOITABLE[host] >> exploit & 1:
        return False
    if exploit == SSH_BRUTE_FORCE:
        return host != DEFENDER
    return not (exploit == HARAKA_RCE and env.mail_immune >> host & 1)


@jit
def needs_session_pick(env: Environment, host: int) -> bool:
    """Whether an escalation there raises a session that has to be drawn."""
    return env.num_sessions[host] > 0 and not env.privileged >> host & 1


@jit
def draw(
    env: Environment, kind: int, target: int, words: tuple[int, int, int, int]
) -> tuple[int, int, int]:
    """The exploit (0 none), detection (-1 none) and session (-1 none) drawn for an action."""
    if kind == EXPLOIT:
        exploit = draw_exploit(env.scan_ports[target], words[1])
        if exploit != SSH_BRUTE_FORCE and is_exploitable(env, target, exploit):
            return exploit, 1 if words[2] < _DETECTED_BELOW else 0, -1
        return exploit, -1, -1
    if kind == ESCALATE and needs_session_pick(env, target):
        return NO_EXPLOIT, -1, below(words[3], env.num_sessions[target])
    return NO_EXPLOIT, -1, -1


# ------------------------------------------------------------------------------------------ apply
@jit
def has_route(env: Environment, host: int) -> bool:
    """Operational is reached only through a session on Enterprise0, 1 or 2."""
    return not OPERATIONAL_HOSTS >> host & 1 or env.held & ROUTER_HOSTS != 0


@jit
def _add_events(env: Environment, host: int, count: int, ports: int) -> None:
    env.event_hosts |= 1 << host
    env.event_count[host] += count
    env.event_ports[host] |= ports


@jit
def _add_session(env: Environment, host: int, is_priv: int, is_removable: int) -> None:
    index = env.num_sessions[host]
    if is_priv:
        env.privileged |= 1 << host
    if index < MAX_SESSIONS:
        env.session_priv[host] |= is_priv << index
        env.session_removable[host] |= is_removable << index
        env.num_sessions[host] = index + 1
    env.held |= 1 << host
    env.known_host |= 1 << host


@jit
def _discover_systems(env: Environment, subnet: int) -> int:
    if subnet == OPERATIONAL and not env.held & ROUTER_HOSTS:
        return FAILED
    env.known_ip |= SUBNET_HOSTS[subnet]
    return SUCCEEDED


@jit
def _discover_services(env: Environment, rules: int, host: int) -> int:
    if not has_route(env, host):
        env.scan_was_empty = 1
        return SUCCEEDED
    ports = listening_ports(env, host)
    found = ports & SCANNABLE_PORTS
    env.scan_ports[host] = found if rules == HEAD else env.scan_ports[host] | found
    single_decoys = env.decoys[host] & ~(1 << VSFTPD)
    connections = BASE_CONNECTIONS[host] + count_bits(single_decoys) + env.num_vsftpd[host]
    _add_events(env, host, connections, ports)
    return SUCCEEDED


@jit
def _exploit(env: Environment, host: int, exploit: int, detected: int) -> int:
    port = EXPLOIT_PORT_BIT[exploit]
    if is_exploitable(env, host, exploit):
        if exploit == SSH_BRUTE_FORCE:
            _add_events(env, host, _SSH_EVENTS + 1, port)
            _add_session(env, host, 0, 0)
            return SUCCEEDED
        _add_events(env, host, 1 + detected, port)
        env.event_alerts[host] += detected
        env.malware |= 1 << host
        _add_session(env, host, BASE_PRIVILEGED[host] >> exploit & 1, detected)
        return SUCCEEDED
    if exploit == NO_EXPLOIT or not has_route(env, host):
        return FAILED
    is_base = BASE_EXPLOITABLE[host] >> exploit & 1
    if is_base or DECOY_EXPLOITABLE[env.decoys[host]] >> exploit & 1:
        if exploit == SSH_BRUTE_FORCE:
            _add_events(env, host, _SSH_EVENTS, port)
        else:  # a decoy answers with a second event, an immune mail server does not
            _add_events(env, host, 1 if is_base else 2, port)
    return FAILED


@jit
def _escalate(env: Environment, host: int, session: int) -> int:
    if env.num_sessions[host] == 0:
        return FAILED
    if needs_session_pick(env, host):
        env.session_priv[host] |= 1 << session
        env.privileged |= 1 << host
        env.malware |= 1 << host
    env.known_subnets |= 1 << SUBNET_OF_HOST[host]
    env.known_ip |= REVEALED_HOSTS[host]
    if host == OP_SERVER0:
        env.ot_known = 1
    return SUCCEEDED


@jit
def _impact(env: Environment, host: int) -> int:
    if host != OP_SERVER0 or env.num_sessions[host] == 0 or not env.ot_known:
        return FAILED
    if env.ot_active:
        env.ot_active = 0
        if env.ot_linked:
            env.ot_up = 0
    return SUCCEEDED


@jit
def is_known(env: Environment, kind: int, target: int) -> bool:
    """Whether red knows the target well enough to name it; otherwise its action is refused."""
    if kind == DISCOVER_SYSTEMS:
        return env.known_subnets >> (target - SUBNET_TARGET) & 1 != 0
    if kind == DISCOVER_SERVICES or kind == EXPLOIT:
        return env.known_ip >> target & 1 != 0
    if kind == ESCALATE or kind == IMPACT:
        return env.known_host >> target & 1 != 0
    return kind == RED_SLEEP


@jit
def act_red(
    env: Environment,
    rules: int,
    kind: int,
    target: int,
    exploit: int,
    detected: int,
    session: int,
) -> None:
    """Execute one red action with the draws it was given."""
    env.turn += 1
    env.red_action = kind
    env.red_target = target
    env.exploit = exploit
    env.detected = detected
    env.session_pick = session
    env.scan_was_empty = 0
    success = FAILED
    if kind == RED_SLEEP:
        success = UNKNOWN
    elif is_known(env, kind, target):
        if kind == DISCOVER_SYSTEMS:
            success = _discover_systems(env, target - SUBNET_TARGET)
        elif kind == DISCOVER_SERVICES:
            success = _discover_services(env, rules, target)
        elif kind == EXPLOIT:
            success = _exploit(env, target, exploit, detected)
        elif kind == ESCALATE:
            success = _escalate(env, target, session)
        else:
            success = _impact(env, target)
    env.red_success = success
