"""Replay recorded episodes in our simulator, feeding their random draws, and count differences."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.blue import act_blue
from standing_orders.cage2.observe import clear_events, observe, update_belief
from standing_orders.cage2.opponents import commit, decide
from standing_orders.cage2.red import act_red, is_exploitable, is_known, needs_session_pick
from standing_orders.cage2.reward import reward_tenths
from standing_orders.cage2.scenario import (
    B_LINE,
    CORRECTED,
    ESCALATE,
    EXPLOIT,
    EXPLOIT_CANDIDATES,
    EXPLOIT_PORT,
    HOSTS,
    IMPACT,
    MEANDER,
    NO_EXPLOIT,
    NUM_HOSTS,
    OBSERVATION_SIZE,
    RED_SLEEP,
    REFUSED,
    RULE_SETS,
    SLEEP,
    SSH_BRUTE_FORCE,
    STOCK,
    SUBNETS,
    SUCCEEDED,
)
from standing_orders.cage2.state import Environment, allocate, begin_episode
from standing_orders.cage2.traces import FED, STATE_FIELDS, Recording, read_recording
from standing_orders.compiled import jit

AGENT_NAMES = {B_LINE: "b_line", MEANDER: "meander", SLEEP: "sleep", FED: "fed"}

# Columns of the array of checks that the replay kernel fills, 1 = as recorded.
_CHECKS = ("red_choice", "red_legal", "exploit", "detect", "session_pick")


@dataclass
class FieldCount:
    """How one quantity compared: steps (or states) looked at, and those that differ."""

    compared: int = 0
    differences: int = 0
    first: str = ""  # where the first difference is

    def add(self, is_equal: NDArray[np.bool_], step: int) -> None:
        """Count one step of all episodes."""
        self.compared += is_equal.size
        wrong = np.flatnonzero(~is_equal)
        self.differences += wrong.size
        if wrong.size and not self.first:
            self.first = f"episode {wrong[0]}, step {step}"


@dataclass
class ParityReport:
    """Result of one recording."""

    path: Path
    rules: str
    red: str
    num_episodes: int
    num_steps: int
    fields: dict[str, FieldCount] = field(default_factory=dict)
    process_id_reuse: list[str] = field(default_factory=list)  # where, see `_adopt_reuse`

    @property
    def differences(self) -> int:
        """Differences in all fields; cases of process-id re-use are listed apart."""
        return sum(count.differences for count in self.fields.values())

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {**asdict(self), "path": str(self.path), "differences": self.differences}


@jit
def _draws_fit(
    env: Environment, kind: int, target: int, exploit: int, detected: int, session: int
) -> tuple[bool, bool, bool]:
    """Whether the recorded exploit, detection and session are ones that could be drawn here."""
    wants_detection = False
    exploit_fits = exploit == NO_EXPLOIT
    if kind == EXPLOIT:
        candidates = EXPLOIT_CANDIDATES[env.scan_ports[target]]
        exploit_fits = candidates >> exploit & 1 != 0 or (candidates == 0 and exploit == NO_EXPLOIT)
        wants_detection = exploit != SSH_BRUTE_FORCE and is_exploitable(env, target, exploit)
    if kind == ESCALATE:
        if needs_session_pick(env, target):
            session_fits = 0 <= session < env.num_sessions[target]
        else:
            session_fits = session == -1
    else:  # the reference draws one for Impact too, without effect
        session_fits = session == -1 or kind == IMPACT
    return exploit_fits, (detected >= 0) == wants_detection, session_fits


@jit
def _replay_step(
    states: NDArray[np.void],  # (E,)
    rules: int,
    inputs: NDArray[np.int64],  # (E, 6): blue action, red action, target, exploit, detect, session
    checks: NDArray[np.int8],  # (E, 5), see _CHECKS
    rewards: NDArray[np.int64],  # (E,)
) -> None:
    for i in range(len(states)):
        env = states[i]
        blue, kind, target, exploit, detected, session = inputs[i]
        clear_events(env)
        act_blue(env, blue, rules)
        checks[i, 0] = 1
        if env.red != FED:
            expected, targets = decide(env)
            is_target = kind == RED_SLEEP or targets >> target & 1
            checks[i, 0] = 1 if kind == expected and is_target else 0
            commit(env, kind, target)
        checks[i, 1] = kind == REFUSED or is_known(env, kind, target)
        fits = _draws_fit(env, kind, target, exploit, detected, session)
        checks[i, 2], checks[i, 3], checks[i, 4] = fits
        act_red(env, rules, kind, target, exploit, max(detected, 0), max(session, 0))
        update_belief(env)
        rewards[i] = reward_tenths(env)


@jit
def _begin_all(states: NDArray[np.void]) -> None:
    for i in range(len(states)):
        begin_episode(states[i])


@jit
def _observe_all(states: NDArray[np.void], style: int, words: NDArray[np.uint32]) -> None:
    for i in range(len(states)):
        observe(states[i], style, words[i])


def _bits(masks: NDArray[np.int16], size: int) -> NDArray[np.int64]:
    """(E,) masks -> (E, size) of 0 and 1."""
    return np.asarray(masks[:, None] >> np.arange(size) & 1, dtype=np.int64)


def _observation(states: NDArray[np.void], style: int) -> NDArray[np.int8]:
    observations = np.zeros((len(states), OBSERVATION_SIZE), dtype=np.int8)
    _observe_all(states, style, observations.view(np.uint32))
    return observations


def snapshot(states: NDArray[np.void]) -> dict[str, NDArray[np.generic]]:
    """The state arrays of a recording, taken from our environments; each (num_envs, size)."""
    sessions, priv = states["num_sessions"], states["session_priv"]
    is_user_level = ~priv & ((np.int64(1) << sessions.astype(np.int64)) - 1)
    is_held = sessions > 0
    ot = [states[f"ot_{name}"] for name in ("up", "linked", "known", "active")]
    return {
        "obs_stock": _observation(states, STOCK),
        "obs_cardiff": _observation(states, CORRECTED),
        "red_access": is_held * (1 + _bits(states["privileged"], NUM_HOSTS)),
        "first_access": is_held * (1 + (priv & 1)),
        "n_sessions": sessions,
        "n_priv": np.bitwise_count(priv),
        "n_removable": np.bitwise_count(states["session_removable"] & is_user_level),
        "malware": _bits(states["malware"], NUM_HOSTS),
        "known_ip": _bits(states["known_ip"], NUM_HOSTS),
        "known_host": _bits(states["known_host"], NUM_HOSTS),
        "scanned": states["scan_ports"] != 0,
        "scan_ports": states["scan_ports"],
        "decoys": states["decoys"],
        "n_vsftpd": states["num_vsftpd"],
        "ot": np.stack(ot, axis=1),
        "subnets_known": _bits(states["known_subnets"], len(SUBNETS)),
        "mdr_escalated": _bits(states["meander_escalated"], NUM_HOSTS),
        "mdr_exploited": _bits(states["meander_exploited"], NUM_HOSTS),
        "mdr_scanned": _bits(states["meander_scanned"], NUM_HOSTS),
    }


def _adopt_reuse(
    states: NDArray[np.void],
    arrays: dict[str, NDArray[np.int64]],
    step: int,
    was_detected: NDArray[np.bool_],  # (E, 13): a detected exploit earlier in the episode
) -> list[str]:
    """Follow the recording where a new session was given a process id blue already suspects.

    CybORG keeps blue's list of suspicious process ids through a Restore. A new session that blue
    did not see may by chance get an id of that list (1 in 32,768 for each): it is removable then.
    The recording shows that draw only in `n_removable`, so it is read from there, under exactly
    these conditions, and reported by place.
    """
    found = []
    ours = snapshot(states)["n_removable"]
    for i in range(len(states)):
        host = arrays["red_target"][i, step]
        is_unseen = arrays["detect"][i, step] != 1
        is_new = arrays["red_action"][i, step] == EXPLOIT and states["red_success"][i] == SUCCEEDED
        if not (is_new and is_unseen and was_detected[i, host]):
            continue
        if arrays["n_removable"][i, step + 1, host] == int(ours[i, host]) + 1:
            newest = int(states["num_sessions"][i, host]) - 1
            states["session_removable"][i, host] |= 1 << newest
            found.append(f"episode {i}, step {step + 1}, {HOSTS[host]}")
    return found


def compare_recording(recording: Recording, rules: str = "head") -> ParityReport:
    """Replay one recording under a rule set and count what differs, field by field."""
    arrays = recording.arrays
    report = ParityReport(
        recording.path, rules, AGENT_NAMES[recording.red],
        recording.num_episodes, recording.num_steps,
    )  # fmt: skip
    states = allocate(recording.num_episodes)
    states["red"] = recording.red
    _begin_all(states)
    was_detected = np.zeros((recording.num_episodes, NUM_HOSTS), dtype=np.bool_)
    episodes = np.arange(recording.num_episodes)
    names = ("blue_action", "red_action", "red_target", "exploit", "detect", "session_pick")
    inputs = np.stack([arrays[name] for name in names], axis=-1)
    checks = np.zeros((recording.num_episodes, len(_CHECKS)), dtype=np.int8)
    rewards = np.zeros(recording.num_episodes, dtype=np.int64)
    _compare_states(report, states, arrays, 0)
    for step in range(recording.num_steps):
        now = np.ascontiguousarray(inputs[:, step])
        _replay_step(states, RULE_SETS.index(rules), now, checks, rewards)
        where = _adopt_reuse(states, arrays, step, was_detected)
        report.process_id_reuse += where
        is_seen = arrays["detect"][:, step] == 1
        was_detected[episodes[is_seen], arrays["red_target"][is_seen, step]] = True
        _compare_step(report, states, arrays, step, rewards)
        for column, name in enumerate(_CHECKS):
            _count(report, name).add(checks[:, column] == 1, step + 1)
        _compare_states(report, states, arrays, step + 1)
    return report


def _count(report: ParityReport, name: str) -> FieldCount:
    return report.fields.setdefault(name, FieldCount())


def _compare_step(
    report: ParityReport,
    states: NDArray[np.void],
    arrays: dict[str, NDArray[np.int64]],
    step: int,
    rewards: NDArray[np.int64],
) -> None:
    ours: dict[str, NDArray[np.generic]] = {
        "reward10": rewards,
        "blue_success": states["blue_success"],
        "red_success": states["red_success"],
        "exploit_port": EXPLOIT_PORT[states["exploit"]],
    }
    if report.red == "b_line":
        ours["bline_state"] = states["bline_index"]
    if "done" in arrays:  # the game never ends by itself
        ours["done"] = np.zeros_like(rewards)
    for name, values in ours.items():
        _count(report, name).add(values == arrays[name][:, step], step + 1)


def _compare_states(
    report: ParityReport, states: NDArray[np.void], arrays: dict[str, NDArray[np.int64]], step: int
) -> None:
    ours = snapshot(states)
    for name in STATE_FIELDS:
        is_equal = np.all(ours[name] == arrays[name][:, step], axis=1)
        _count(report, name).add(is_equal, step)


def compare_file(path: Path, rules: str = "head") -> ParityReport:
    """Read one file and replay it.

    Raises:
        DataError: the file is malformed.
    """
    return compare_recording(read_recording(path), rules)
