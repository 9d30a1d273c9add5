"""One environment, spoken to in the words of the rules."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.blue import act_blue
from standing_orders.cage2.observe import clear_events, observe, update_belief
from standing_orders.cage2.opponents import decide
from standing_orders.cage2.red import act_red
from standing_orders.cage2.scenario import (
    DECOYS,
    EXPLOITS,
    OBSERVATION_STYLES,
    PORTS,
    RED_ACTIONS,
    RULE_SETS,
    SUBNET_TARGET,
    SUCCEEDED,
)
from standing_orders.config import SimConfig

HOSTS = (
    "Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Host0", "Op_Host1", "Op_Host2",
    "Op_Server0", "User0", "User1", "User2", "User3", "User4",
)  # fmt: skip
SUBNETS = ("Enterprise", "Operational", "User")
BLUE_KINDS = (
    "Analyse", "Remove", "DecoyApache", "DecoyFemitter", "DecoyHarakaSMPT", "DecoySmss",
    "DecoySSHD", "DecoySvchost", "DecoyTomcat", "DecoyVsftpd", "Restore",
)  # fmt: skip
BELIEFS = ("No", "Unknown", "User", "Privileged")
ACTIVITY_OF_BITS = {(0, 0): "None", (1, 0): "Scan", (1, 1): "Exploit"}
BELIEF_OF_BITS = {(0, 0): "No", (1, 0): "Unknown", (0, 1): "User", (1, 1): "Privileged"}
# Fields that tell of the step just played rather than of the game.
PASSING = {
    "blue_action", "blue_success", "decoy_host", "malware_host", "turn", "step", "red_action",
    "red_target", "red_success", "exploit", "detected", "session_pick", "scan_was_empty",
    "event_hosts", "event_count", "event_ports", "event_alerts",
}  # fmt: skip


def mask_of(hosts: Any) -> int:
    return sum(1 << HOSTS.index(host) for host in hosts)


def hosts_in(mask: int) -> set[str]:
    return {host for i, host in enumerate(HOSTS) if int(mask) >> i & 1}


class Game:
    """A batch of one, or of many alike, whose state a test arranges and reads by name."""

    def __init__(self, num_envs: int = 1, seed: int = 7, **options: Any) -> None:
        options = {"red": "sleep", "horizon": 10_000} | options
        self.batch = Cage2Batch(num_envs, SimConfig(**options))
        self.batch.reset(seed)
        self.states = self.batch.states
        self.env = self.states[0]
        self.rules = RULE_SETS.index(self.batch.config.rules)
        self.style = OBSERVATION_STYLES.index(self.batch.config.observation)
        self.observation = np.zeros(52, np.int8)

    # ------------------------------------------------------------------------------- arrange
    def know_all(self) -> "Game":
        self.states["known_ip"] = self.states["known_host"] = (1 << 13) - 1
        self.states["known_subnets"] = 0b111
        return self

    def give_session(
        self, host: str, level: str = "user", *, removable: bool = False, count: int = 1
    ) -> "Game":
        i = HOSTS.index(host)
        for _ in range(count):
            bit = 1 << int(self.env["num_sessions"][i])
            self.states["num_sessions"][:, i] += 1
            self.states["held"] |= 1 << i
            self.states["session_removable"][:, i] |= bit * removable
            if level == "priv":
                self.states["session_priv"][:, i] |= bit
                self.states["privileged"] |= 1 << i
        return self

    def remember_scan(self, host: str, *ports: int) -> "Game":
        mask = sum(1 << PORTS.index(port) for port in ports)
        self.states["scan_ports"][:, HOSTS.index(host)] = mask
        return self

    def believe(self, host: str, belief: str) -> "Game":
        self.states["belief"][:, HOSTS.index(host)] = BELIEFS.index(belief)
        return self

    def put_malware(self, *hosts: str) -> "Game":
        self.states["malware"] |= mask_of(hosts)
        return self

    def put(self, **fields: Any) -> "Game":
        for name, value in fields.items():
            self.states[name] = mask_of(value) if isinstance(value, list) else value
        return self

    def lead_meander(self, kind: str, *hosts: str) -> "Game":
        """Bring a Meander to where its next action is of this kind, on one of these hosts."""
        everything = (1 << 13) - 1
        mask = mask_of(hosts)
        memory = {"meander_scanned": everything, "meander_exploited": everything}
        memory |= {"meander_escalated": everything & ~mask_of(["Op_Server0"])}
        memory |= {"known_host": everything & ~mask_of(["Op_Server0"])}
        field = {
            "DiscoverNetworkServices": "meander_scanned",
            "PrivilegeEscalate": "meander_escalated",
            "ExploitRemoteService": "meander_exploited",
        }[kind]
        memory[field] &= ~mask
        if kind == "PrivilegeEscalate":
            memory["known_host"] |= mask
        self.put(known_ip=everything, known_subnets=0b111, meander_subnets=0b111)
        return self.put(meander_named=0, meander_last_exploited=-1, meander_last_host=-1, **memory)

    # ----------------------------------------------------------------------------------- act
    def blue(self, kind: str, host: str | None = None) -> bool:
        """Blue's part of a step alone; tells whether the action succeeded."""
        act_blue(self.env, blue_index(kind, host), self.rules)
        return int(self.env["blue_success"]) == SUCCEEDED

    def red(
        self,
        kind: str,
        target: str | None = None,
        exploit: str = "none",
        *,
        detected: bool | None = None,
        session: int = -1,
    ) -> bool:
        """Red's part of a step alone, with given draws; tells whether the action succeeded."""
        if kind == "DiscoverRemoteSystems":
            index = SUBNET_TARGET + SUBNETS.index(str(target))
        else:
            index = -1 if target is None else HOSTS.index(target)
        draw = -1 if detected is None else int(detected)
        kind_index, exploit_index = RED_ACTIONS.index(kind), EXPLOITS.index(exploit)
        act_red(self.env, self.rules, kind_index, index, exploit_index, draw, session)
        return int(self.env["red_success"]) == SUCCEEDED

    def exploit(self, host: str, exploit: str, *, detected: bool = True) -> bool:
        return self.red("ExploitRemoteService", host, exploit, detected=detected)

    def play(self, blue: tuple[str, ...], *red: Any, **draws: Any) -> None:
        """A whole step with a given red action; `seen` then tells what blue sees."""
        clear_events(self.env)
        self.blue(*blue)
        if red:
            self.red(*red, **draws)
        self.look()

    def look(self) -> None:
        """The end of a step: blue sees the events so far."""
        update_belief(self.env)
        observe(self.env, self.style, self.observation.view(np.uint32))

    def step(self, kind: str = "Sleep", host: str | None = None) -> float:
        """A step of the engine itself, red deciding; gives the first environment's reward."""
        index = blue_index(kind, host)
        observations, rewards = self.batch.step(np.full(self.batch.num_envs, index))
        self.observation = observations[0].copy()
        return int(rewards[0]) / 10

    def decide(self) -> tuple[str, set[str]]:
        """Red's next action and the targets it may take, after it has digested its last one."""
        kind, mask = decide(self.env)
        subnets = {name for s, name in enumerate(SUBNETS) if mask >> (SUBNET_TARGET + s) & 1}
        return RED_ACTIONS[kind], hosts_in(mask) | subnets

    # ---------------------------------------------------------------------------------- read
    def sessions(self, host: str) -> list[tuple[str, bool]]:
        """Level and removable flag of each session, oldest first."""
        i = HOSTS.index(host)
        priv, removable = int(self.env["session_priv"][i]), int(self.env["session_removable"][i])
        return [
            ("priv" if priv >> j & 1 else "user", bool(removable >> j & 1))
            for j in range(int(self.env["num_sessions"][i]))
        ]

    def decoys(self, host: str) -> dict[str, int]:
        i = HOSTS.index(host)
        mask = int(self.env["decoys"][i])
        counts = {name: 1 for k, name in enumerate(DECOYS) if mask >> k & 1}
        return counts | ({"Vsftpd": int(self.env["num_vsftpd"][i])} if "Vsftpd" in counts else {})

    def seen_ports(self, host: str) -> set[int]:
        """Remembered ports that a choice of exploit can depend on; empty = never scanned."""
        mask = int(self.env["scan_ports"][HOSTS.index(host)])
        return {port for k, port in enumerate(PORTS) if mask >> k & 1}

    def events(self, host: str) -> tuple[int, set[int], int]:
        """Number of events, their local ports, and how many go to remote port 4444."""
        i = HOSTS.index(host)
        ports = int(self.env["event_ports"][i])
        local = {port for k, port in enumerate(PORTS) if ports >> k & 1}
        return int(self.env["event_count"][i]), local, int(self.env["event_alerts"][i])

    def hosts(self, field: str) -> set[str]:
        return hosts_in(int(self.env[field]))

    def subnets(self, field: str = "known_subnets") -> set[str]:
        return {name for s, name in enumerate(SUBNETS) if int(self.env[field]) >> s & 1}

    def belief(self, host: str) -> str:
        return BELIEFS[int(self.env["belief"][HOSTS.index(host)])]

    def seen(self, host: str) -> tuple[str, str]:
        """Activity and compromised of a host in the last observation."""
        i = 4 * HOSTS.index(host)
        bits = self.observation.tolist()
        return ACTIVITY_OF_BITS[tuple(bits[i : i + 2])], BELIEF_OF_BITS[tuple(bits[i + 2 : i + 4])]

    def last_red(self) -> tuple[str, str]:
        """Kind and target of red's last action."""
        target = int(self.env["red_target"])
        if target >= SUBNET_TARGET:
            name = SUBNETS[target - SUBNET_TARGET]
        else:
            name = HOSTS[target] if target >= 0 else "nothing"
        return RED_ACTIONS[int(self.env["red_action"])], name

    def drawn_exploit(self) -> str:
        return EXPLOITS[int(self.env["exploit"])]

    def snapshot(self, *without: str) -> dict[str, Any]:
        """All of the game's state but what tells of the last step only."""
        names = [n for n in self.states.dtype.names if n not in PASSING | set(without)]
        return {name: self.env[name].tolist() for name in names}


def blue_index(kind: str, host: str | None = None) -> int:
    if kind in ("Sleep", "Monitor"):
        return ("Sleep", "Monitor").index(kind)
    return 2 + 13 * BLUE_KINDS.index(kind) + HOSTS.index(str(host))


@pytest.fixture
def game() -> Callable[..., Game]:
    """Makes a `Game`; its options are those of SimConfig, red sleeping unless told."""
    return Game
