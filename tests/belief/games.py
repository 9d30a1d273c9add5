"""Games to watch, and the belief of one by brute force: whole records, no early cut."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.blue import act_blue
from standing_orders.cage2.defenders import ScriptedDefender
from standing_orders.cage2.observe import clear_events, observe, update_belief
from standing_orders.cage2.opponents import commit, decide
from standing_orders.cage2.red import act_red, is_exploitable
from standing_orders.cage2.scenario import (
    EXPLOIT_CANDIDATES,
    OBSERVATION_STYLES,
    RED_AGENTS,
    RULE_SETS,
    TOP_EXPLOIT,
)
from standing_orders.cage2.state import allocate, begin_episode
from standing_orders.config import SimConfig

SSH = 5
SCAN, EXPLOIT, ESCALATE = 2, 3, 4
Path = tuple[np.ndarray, float]  # one environment's record, its probability


def watch(
    config: SimConfig, defender: str, num_envs: int, seed: int = 0, steps: int = 100
) -> Iterator[tuple[np.ndarray | None, np.ndarray, np.ndarray]]:
    """Actions (None at first), observations and true states of each step."""
    batch = Cage2Batch(num_envs, config)
    policy = ScriptedDefender(defender)
    observations = batch.reset(seed=seed)
    policy.reset(np.arange(num_envs, dtype=np.uint64) + np.uint64(seed))
    yield None, observations, batch.states
    for _ in range(steps):
        actions = policy.act(observations).copy()
        observations, _ = batch.step(actions)
        yield actions, observations, batch.states


def bits(masks: np.ndarray) -> np.ndarray:
    """(n,) masks -> (n, 13) of 0 and 1."""
    return masks[:, None] >> np.arange(13) & 1


def next_actions(record: Any) -> np.ndarray:  # (3, 13)
    """Probability of each scan, exploit and escalation that red may play next in a state."""
    kind, targets = decide(np.array([record])[0])
    found = np.zeros((3, 13))
    if kind in (SCAN, EXPLOIT, ESCALATE):
        chosen = [target for target in range(13) if targets >> target & 1]
        found[kind - SCAN, chosen] = 1 / len(chosen)
    return found


def outcomes(env: Any, kind: int, targets: int) -> list[tuple[int, int, int, int, float]]:
    """(target, exploit, detection, session, probability) of all that red may draw."""
    if targets == 0:
        return [(-1, 0, -1, -1, 1.0)]
    chosen = [target for target in range(23) if targets >> target & 1]
    found = []
    for target in chosen:
        chance = 1 / len(chosen)
        if kind == EXPLOIT:
            scan = int(env["scan_ports"][target])
            top = int(TOP_EXPLOIT[scan])
            others = [e for e in range(9) if EXPLOIT_CANDIDATES[scan] >> e & 1 and e != top]
            chances = {top: 0.75 if others else 1.0} | {e: 0.25 / len(others) for e in others}
            for exploit, share in chances.items():
                if exploit != SSH and is_exploitable(env, target, exploit):
                    found.append((target, exploit, 1, -1, chance * share * 0.95))
                    found.append((target, exploit, 0, -1, chance * share * 0.05))
                else:
                    found.append((target, exploit, -1, -1, chance * share))
        elif (
            kind == ESCALATE and env["num_sessions"][target] and not env["privileged"] >> target & 1
        ):
            count = int(env["num_sessions"][target])
            found += [(target, 0, -1, session, chance / count) for session in range(count)]
        else:
            found.append((target, 0, -1, -1, chance))
    return found


def _red(paths: list[Path], rules: int) -> Iterator[Path]:
    for states, weight in paths:
        kind, targets = decide(states[0])
        for target, exploit, detected, session, chance in outcomes(states[0], kind, targets):
            after = states.copy()
            commit(after[0], kind, target)
            act_red(after[0], rules, kind, target, exploit, detected, session)
            yield after, weight * chance


def _step(paths: list[Path], config: SimConfig, action: int) -> list[Path]:
    rules = RULE_SETS.index(config.rules)
    paths = [(states.copy(), weight) for states, weight in paths]
    for states, _ in paths:
        clear_events(states[0])
        act_blue(states[0], action, rules)
    for _ in range(config.red_tempo):
        paths = list(_red(paths, rules))
    merged: dict[bytes, Path] = {}
    for states, weight in paths:
        update_belief(states[0])
        key = states.tobytes()
        merged[key] = (states, weight + (merged[key][1] if key in merged else 0.0))
    return list(merged.values())


def _agreeing(paths: list[Path], config: SimConfig, observation: np.ndarray) -> list[Path]:
    seen = np.zeros(52, np.int8)
    kept = []
    for states, weight in paths:
        observe(states[0], OBSERVATION_STYLES.index(config.observation), seen.view(np.uint32))
        if (seen == observation).all():
            kept.append((states, weight))
    total = sum(weight for _, weight in kept)
    return [(states, weight / total) for states, weight in kept]


def brute_force(
    config: SimConfig, reds: tuple[str, ...], actions: list[int], observations: list[np.ndarray]
) -> Iterator[list[Path]]:
    """All ways in which an episode can have gone, after each observation."""
    paths: list[Path] = []
    for red in reds:
        states = allocate(1)
        states["red"] = RED_AGENTS.index(red)
        begin_episode(states[0])
        paths.append((states, 1 / len(reds)))
    for _ in range(config.head_start):
        paths = _step(paths, config, 0)
    paths = _agreeing(paths, config, observations[0])
    yield paths
    for action, observation in zip(actions, observations[1:], strict=True):
        paths = _agreeing(_step(paths, config, action), config, observation)
        yield paths
