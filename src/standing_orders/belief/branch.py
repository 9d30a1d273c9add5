"""Every way one red action can go: targets, exploits, detections, with their probabilities.

The rules are the simulator's own; this only enumerates what `cage2.red.draw` would draw, and drops
a branch as soon as blue's observation contradicts it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from standing_orders.belief.hypothesis import (
    ACTIVITY_WORD,
    NUM_WORDS,
    pack,
    pack_events,
    read_observation,
    unpack,
    unpack_events,
)
from standing_orders.belief.weighted import WeightedStates, add
from standing_orders.cage2.actions import HOST_OF_ACTION
from standing_orders.cage2.blue import act_blue
from standing_orders.compiled import count_bits, jit
from standing_orders.cage2.observe import observe, update_belief
from standing_orders.cage2.opponents import commit, decide, settle
from standing_orders.cage2.red import act_red, is_exploitable, needs_session_pick
from standing_orders.cage2.scenario import (
    DETECTION_PROB,
    ESCALATE,
    EXPLOIT,
    EXPLOIT_CANDIDATES,
    NO_EXPLOIT,
    NO_TARGET,
    NUM_EXPLOITS,
    NUM_HOSTS,
    SSH_BRUTE_FORCE,
    STOCK,
    SUBNET_TARGET,
    SUBNETS,
    TOP_EXPLOIT,
    TOP_EXPLOIT_PROB,
)
from standing_orders.cage2.state import Environment, allocate

_MAX_TARGET = SUBNET_TARGET + len(SUBNETS)
_FRAME, _PARENT, _CHILD = range(3)  # of `Bench.records`
# Every observation is possible; only one is; every one is, and each state is kept with its own.
UNSEEN, SEEN, NOTED = range(3)


class Bench(NamedTuple):
    """Where states are unpacked and played."""

    records: NDArray[np.void]  # (3,): what blue knows, a state, one of its branches
    words: NDArray[np.int64]  # (8,)
    observation: NDArray[np.uint32]  # (13,)


class Turn(NamedTuple):
    """One red action, and what blue has seen at the end of its step."""

    rules: int
    style: int
    action: int  # blue's
    is_first: bool  # red action of the step: blue acts before it
    actions_left: int  # red actions of the step, this one included
    sight: int  # UNSEEN, SEEN or NOTED
    active: int  # SEEN: mask of hosts that showed activity
    observation: NDArray[np.uint32]  # SEEN: (13,)


def make_bench() -> Bench:
    """Room for the states that are being played."""
    return Bench(
        allocate(3), np.zeros(NUM_WORDS, dtype=np.int64), np.zeros(NUM_HOSTS, dtype=np.uint32)
    )


@jit
def active_hosts(observation: NDArray[np.uint32]) -> int:  # (13,)
    """Mask of the hosts whose observation shows activity."""
    mask = 0
    for host in range(NUM_HOSTS):
        if observation[host] & np.uint32(0xFFFF):
            mask |= 1 << host
    return mask


@jit
def _is_possible(env: Environment, turn: Turn, actions_left: int) -> bool:
    """Whether the events so far can still become what blue has seen."""
    missing = turn.active & ~env.event_hosts
    if missing and count_bits(missing) > actions_left:
        return False
    extra = env.event_hosts & ~turn.active
    # In stock style the host of a decoy may stay silent whatever happens on it.
    return extra == 0 or (turn.style == STOCK and extra == 1 << max(env.decoy_host, 0))


@jit
def _equals_observation(env: Environment, bench: Bench, turn: Turn) -> bool:
    observe(env, turn.style, bench.observation)
    difference = np.uint32(0)
    for host in range(NUM_HOSTS):
        difference |= bench.observation[host] ^ turn.observation[host]
    return difference == 0


@jit
def _finish(
    bench: Bench,
    turn: Turn,
    kind: int,
    target: int,
    draws: tuple[int, int, int],
    weight: float,
    result: WeightedStates,
) -> None:
    """Play one branch and keep it unless blue's observation contradicts it."""
    bench.records[_CHILD] = bench.records[_PARENT]
    env = bench.records[_CHILD]
    commit(env, kind, target)
    act_red(env, turn.rules, kind, target, draws[0], draws[1], draws[2])
    if turn.sight == SEEN and not _is_possible(env, turn, turn.actions_left - 1):
        return
    is_last = turn.actions_left == 1
    if is_last:
        update_belief(env)
        if turn.sight == SEEN and not _equals_observation(env, bench, turn):
            return
    settle(env)
    pack(env, bench.words)
    if not is_last:
        pack_events(env, bench.words)
    elif turn.sight == NOTED:
        observe(env, turn.style, bench.observation)
        bench.words[ACTIVITY_WORD] = read_observation(bench.observation)[1]
    add(result, bench.words, weight)


@jit
def _branch_exploits(
    bench: Bench, turn: Turn, target: int, weight: float, result: WeightedStates
) -> None:
    env = bench.records[_PARENT]
    scan = env.scan_ports[target]
    candidates, top = EXPLOIT_CANDIDATES[scan], TOP_EXPLOIT[scan]
    others = candidates & ~(1 << top)
    if others == 0:
        candidates |= 1 << NO_EXPLOIT if candidates == 0 else 0
    for exploit in range(NUM_EXPLOITS + 1):
        if not candidates >> exploit & 1:
            continue
        chance = weight
        if others:
            if exploit == top:
                chance *= TOP_EXPLOIT_PROB
            else:
                chance *= (1 - TOP_EXPLOIT_PROB) / count_bits(others)
        if exploit != SSH_BRUTE_FORCE and is_exploitable(env, target, exploit):
            seen, unseen = (exploit, 1, -1), (exploit, 0, -1)
            _finish(bench, turn, EXPLOIT, target, seen, chance * DETECTION_PROB, result)
            _finish(bench, turn, EXPLOIT, target, unseen, chance * (1 - DETECTION_PROB), result)
        else:
            _finish(bench, turn, EXPLOIT, target, (exploit, -1, -1), chance, result)


@jit
def _branch(bench: Bench, turn: Turn, weight: float, result: WeightedStates) -> None:
    """Play every branch of the state in `bench.records[_PARENT]`."""
    env = bench.records[_PARENT]
    kind, targets = decide(env)
    if targets == 0:
        _finish(bench, turn, kind, NO_TARGET, (NO_EXPLOIT, -1, -1), weight, result)
        return
    weight /= count_bits(targets)
    if turn.sight == SEEN:
        # An action makes events on its target only.
        missing = turn.active & ~env.event_hosts
        if missing and count_bits(missing) == turn.actions_left:
            targets &= missing
    for target in range(_MAX_TARGET):
        if not targets >> target & 1:
            continue
        if kind == EXPLOIT:
            _branch_exploits(bench, turn, target, weight, result)
        elif kind == ESCALATE and needs_session_pick(env, target):
            sessions = env.num_sessions[target]
            for session in range(sessions):
                draws = (NO_EXPLOIT, -1, session)
                _finish(bench, turn, kind, target, draws, weight / sessions, result)
        else:
            _finish(bench, turn, kind, target, (NO_EXPLOIT, -1, -1), weight, result)


@jit
def play_red_action(
    bench: Bench,
    turn: Turn,
    words: NDArray[np.int64],  # (n, 8)
    weights: NDArray[np.float64],  # (n,)
    result: WeightedStates,
) -> None:
    """Play one red action from each of n states; `result` must be empty.

    Args:
        bench: `records[0]` holds what blue knows, at the first red action of a step from before
            blue's action, at the others from after it.
        turn: the action's place in its step.
        words: the states.
        weights: their probabilities; those of a result may add up to less, see `Turn.sight`.
        result: written.
    """
    for i in range(len(weights)):
        bench.records[_PARENT] = bench.records[_FRAME]
        env = bench.records[_PARENT]
        unpack(words[i], env)
        if turn.is_first:
            act_blue(env, turn.action, turn.rules)
        else:
            unpack_events(words[i], HOST_OF_ACTION[turn.action], env)
        _branch(bench, turn, weights[i], result)
