"""Record episodes of CybORG in the format of `cage2.traces`, with every random draw."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.cyborg.batch import CyborgEnv, outside_kept
from standing_orders.cage2.cyborg.install import CyborgSource
from standing_orders.cage2.policy import Policy
from standing_orders.cage2.scenario import (
    CORRECTED,
    DECOYS,
    EXPLOIT,
    EXPLOIT_PORT,
    EXPLOITS,
    FAILED,
    HOSTS,
    NO_TARGET,
    NUM_HOSTS,
    OBSERVATION_SIZE,
    OBSERVATION_STYLES,
    OP_SERVER0,
    PORT_BIT,
    RED_ACTIONS,
    REFUSED,
    SCANNABLE_PORTS,
    STOCK,
    SUBNET_TARGET,
    SUBNETS,
    SUCCEEDED,
    UNKNOWN,
    VSFTPD,
)
from standing_orders.cage2.traces import STATE_ARRAYS, STEP_ARRAYS
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError, SimulationError
from standing_orders.seeding import environment_seeds

Columns = dict[str, NDArray[Any]]
_INDEX = {host: i for i, host in enumerate(HOSTS)}
_PRIVILEGED_USERS = ("root", "SYSTEM")
_MALWARE_DENSITY = 0.9
_OT_SERVICE = "OTService"
# Process names of CybORG's decoys, in the order of `scenario.DECOYS`.
_DECOY_PROCESSES = (
    "apache2", "femitter", "haraka", "Smss.exe", "Sshd.exe", "Svchost.exe", "Tomcat.exe", "vsftpd",
)  # fmt: skip
# Where CybORG draws what a recording must hold: module, name there, column of the recording.
_ACTIONS = "CybORG.Shared.Actions"
_DETECT = (f"{_ACTIONS}.ConcreteActions.ExploitAction", "random", "detect")
_PICKS = (
    (f"{_ACTIONS}.AbstractActions.PrivilegeEscalate", "choice", "session_pick"),
    (f"{_ACTIONS}.AbstractActions.Impact", "choice", "session_pick"),
)
_DETECTION_RATE = 0.95


def record_episodes(
    policy: Policy,
    config: SimConfig,
    *,
    source: CyborgSource,
    num_episodes: int,
    seed: int,
    advance: Callable[[int], None] = lambda _: None,
) -> Columns:
    """Play in CybORG and give the arrays of a recording.

    Args:
        policy: the defender.
        config: the game, without a head start, which a recording cannot hold.
        source: which CybORG.
        num_episodes: how many.
        seed: episode e has the seed `seed + e`, of game and policy alike.
        advance: called with the number of episodes just finished.

    Raises:
        ConfigError: CybORG cannot play this game.
        SimulationError: red did something that no recording can hold.
    """
    if config.head_start:
        raise ConfigError(f"head_start = {config.head_start}: a recording starts at the beginning")
    env = CyborgEnv(config, source)
    steps, style = config.horizon, OBSERVATION_STYLES.index(config.observation)
    columns = {name: np.zeros((num_episodes, steps), np.int64) for name in (*STEP_ARRAYS, "done")}
    columns |= {
        name: np.zeros((num_episodes, steps + 1, size), np.int64)
        for name, size in STATE_ARRAYS.items()
    }
    seeds = environment_seeds(seed, num_episodes)
    columns["seed"] = seeds.astype(np.int64)
    for episode in range(num_episodes):
        with outside_kept():
            env.reset(int(seeds[episode]))
        policy.reset(seeds[episode : episode + 1])
        _enter(columns, (episode, 0), _read_state(env))
        for step in range(steps):
            action = int(policy.act(_observation(env, style)[None])[0])
            with outside_kept(), _noting_draws() as draws:
                reward = env.step(action)
            now = {"blue_action": action, "reward10": reward, **_read_step(env, draws)}
            _enter(columns, (episode, step), now)
            _enter(columns, (episode, step + 1), _read_state(env))
        advance(1)
    return columns


def _enter(columns: Columns, place: tuple[int, int], values: dict[str, Any]) -> None:
    for name, value in values.items():
        columns[name][place] = value


@contextmanager
def _noting_draws() -> Iterator[dict[str, int]]:
    """Note the draws of one step that leave no trace in the state."""
    draws: dict[str, int] = {}
    before = []
    for module_name, name, column in (_DETECT, *_PICKS):
        module = import_module(module_name)
        before.append((module, name, getattr(module, name)))
        setattr(module, name, _noting(getattr(module, name), draws, column))
    try:
        yield draws
    finally:
        for module, name, original in before:
            setattr(module, name, original)


def _noting(draw: Callable[..., Any], draws: dict[str, int], column: str) -> Callable[..., Any]:
    def noted(*args: Any) -> Any:
        value = draw(*args)
        if column == "detect":
            draws[column] = int(value < _DETECTION_RATE)
        else:
            draws[column] = args[0].index(value)
        return value

    return noted


def _read_step(env: CyborgEnv, draws: dict[str, int]) -> dict[str, int]:
    """What red did in the step just played."""
    controller = env.controller
    action = controller.action["Red"]
    kind_name = type(action).__name__
    kind = REFUSED if kind_name == "InvalidAction" else _kind(kind_name)
    exploit = 0
    if kind == EXPLOIT:
        chosen = getattr(action, "sub_action", None)
        was_drawn = action.ip_address in controller.state.sessions["Red"][0].ports
        exploit = EXPLOITS.index(type(chosen).__name__) if chosen and was_drawn else 0
    agent = controller.agent_interfaces["Red"].agent
    is_bline = type(agent).__name__ == "B_lineAgent"
    return {
        "blue_success": _success(controller.observation["Blue"]),
        "red_action": kind,
        "red_target": NO_TARGET if kind == REFUSED else _target(controller, action),
        "red_success": _success(controller.observation["Red"]),
        "exploit": exploit,
        "exploit_port": int(EXPLOIT_PORT[exploit]),
        "detect": draws.get("detect", -1),
        "session_pick": draws.get("session_pick", -1),
        "bline_state": agent.action if is_bline else -1,
    }


def _kind(name: str) -> int:
    if name not in RED_ACTIONS:
        raise SimulationError(f"red played {name}: recordings know {', '.join(RED_ACTIONS)}")
    return RED_ACTIONS.index(name)


def _target(controller: Any, action: Any) -> int:
    if hasattr(action, "subnet"):
        names = {cidr: name for name, cidr in controller.state.subnet_name_to_cidr.items()}
        return SUBNET_TARGET + SUBNETS.index(names[action.subnet])
    if hasattr(action, "ip_address"):
        return _INDEX[controller.state.ip_addresses[action.ip_address]]
    return _INDEX[action.hostname] if hasattr(action, "hostname") else NO_TARGET


def _success(observation: Any) -> int:
    return {"TRUE": SUCCEEDED, "FALSE": FAILED}.get(observation.data["success"].name, UNKNOWN)


def _observation(env: CyborgEnv, style: int) -> NDArray[np.int8]:
    bits = np.zeros(OBSERVATION_SIZE, dtype=np.int8)
    env.table.write(style, bits.view(np.uint32))
    return bits


def _read_state(env: CyborgEnv) -> Columns:
    """The true state and red's knowledge."""
    controller = env.controller
    state = controller.state
    space = controller.agent_interfaces["Red"].action_space
    ips = {host: ip for ip, host in state.ip_addresses.items()}
    foothold = state.sessions["Red"][0]
    scans = [_port_mask(foothold.ports.get(ips[host], ())) for host in HOSTS]
    subnets = [state.subnet_name_to_cidr[name] for name in SUBNETS]
    return {
        "obs_stock": _observation(env, STOCK),
        "obs_cardiff": _observation(env, CORRECTED),
        **_read_hosts(state),
        "known_ip": _flags(space.ip_address.get(ips[host], False) for host in HOSTS),
        "known_host": _flags(space.hostname.get(host, False) for host in HOSTS),
        "scanned": _flags(scan != 0 for scan in scans),
        "scan_ports": np.array(scans),
        "ot": _read_service(state.hosts[HOSTS[OP_SERVER0]], foothold),
        "subnets_known": _flags(space.subnet.get(cidr, False) for cidr in subnets),
        **_read_meander(controller.agent_interfaces["Red"].agent, state.ip_addresses),
    }


def _read_hosts(state: Any) -> Columns:
    """Sessions, malware and decoys of each host."""
    blue = next(s for s in state.sessions["Blue"].values() if hasattr(s, "sus_pids"))
    rows: list[tuple[int, ...]] = []
    for name in HOSTS:
        host = state.hosts[name]
        sessions = [state.sessions["Red"][ident] for ident in host.sessions.get("Red", ())]
        is_priv = [session.username in _PRIVILEGED_USERS for session in sessions]
        suspects = blue.sus_pids.get(name, ())
        removable = sum(
            session.pid in suspects and not priv
            for session, priv in zip(sessions, is_priv, strict=True)
        )
        standing = [
            _DECOY_PROCESSES.index(process.name)
            for process in host.processes
            if process.decoy_type.value
        ]
        rows.append(
            (
                (1 + any(is_priv)) if sessions else 0,
                (1 + is_priv[0]) if sessions else 0,
                len(sessions),
                sum(is_priv),
                removable,
                any(file.density >= _MALWARE_DENSITY for file in host.files),
                sum(1 << decoy for decoy in set(standing)),
                standing.count(VSFTPD),
            )
        )
    names = (
        "red_access", "first_access", "n_sessions", "n_priv", "n_removable", "malware", "decoys",
        "n_vsftpd",
    )  # fmt: skip
    return dict(zip(names, np.array(rows, dtype=np.int64).T, strict=True))


def _read_service(server: Any, foothold: Any) -> NDArray[np.int64]:
    """Whether the service is up, linked to its process, known to red, and active."""
    service = server.services[_OT_SERVICE]
    is_up = any(process.name == _OT_SERVICE for process in server.processes)
    is_linked = service["process"] is not None
    return _flags((is_up, is_linked, foothold.ot_service is not None, service["active"]))


def _read_meander(agent: Any, host_of: dict[Any, str]) -> Columns:
    """Meander's memory; zero for other agents."""
    if type(agent).__name__ != "RedMeanderAgent":
        nothing = np.zeros(NUM_HOSTS, dtype=np.int64)
        return {"mdr_escalated": nothing, "mdr_exploited": nothing, "mdr_scanned": nothing}
    exploited = {host_of[ip] for ip in agent.exploited_ips}
    scanned = {host_of[ip] for ip in agent.scanned_ips}
    return {
        "mdr_escalated": _flags(host in agent.escalated_hosts for host in HOSTS),
        "mdr_exploited": _flags(host in exploited for host in HOSTS),
        "mdr_scanned": _flags(host in scanned for host in HOSTS),
    }


def _port_mask(ports: Any) -> int:
    mask = 0
    for port in ports:
        mask |= PORT_BIT.get(port, 0)
    return mask & SCANNABLE_PORTS


def _flags(values: Any) -> NDArray[np.int64]:
    return np.array([int(bool(value)) for value in values], dtype=np.int64)


assert len(_DECOY_PROCESSES) == len(DECOYS)
