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
from standing_orders.compiled import count_bits, jit

_MAX_TARGET = SUBNET_TARGET + len(SUBNETS)
_MAX_DRAWS = 256
_FRAME, _PARENT, _CHILD = range(3)  # of `Bench.records`
# Every observation is possible; only one is; every one is, and each state is kept with its own.
UNSEEN, SEEN, NOTED = range(3)


class Bench(NamedTuple):
    """Where states are unpacked and played."""

    records: NDArray[np.void]  # (3,): what blue knows, a state, one of its branches
    draws: NDArray[np.int64]  # (256, 4): target, exploit, detection, session, as `act_red` wants
    chances: NDArray[np.float64]  # (256,)
    words: NDArray[np.int64]  # (8,)
    observation: NDArray[np.uint32]  # (13,)
    num_played: NDArray[np.int64]  # (1,): branches played so far


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
        allocate(3),
        np.zeros((_MAX_DRAWS, 4), dtype=np.int64),
        np.zeros(_MAX_DRAWS),
        np.zeros(NUM_WORDS, dtype=np.int64),
        np.zeros(NUM_HOSTS, dtype=np.uint32),
        np.zeros(1, dtype=np.int64),
    )


# ------------------------------------------------------------------------------------------- draw
@jit
def _note(
    bench: Bench, count: int, target: int, exploit: int, detected: int, session: int, chance: float
) -> int:
    draw = bench.draws[count]
    draw[0], draw[1], draw[2], draw[3] = target, exploit, detected, session
    bench.chances[count] = chance
    return count + 1


@jit
def _list_exploits(bench: Bench, env: Environment, target: int, chance: float, count: int) -> int:
    scan = env.scan_ports[target]
    top = TOP_EXPLOIT[scan]
    others = EXPLOIT_CANDIDATES[scan] & ~(1 << top)
    num_others = count_bits(others)
    for exploit in range(NUM_EXPLOITS + 1):
        if exploit == top:
            share = TOP_EXPLOIT_PROB if num_others else 1.0
        elif others >> exploit & 1:
            share = (1 - TOP_EXPLOIT_PROB) / num_others
        else:
            continue
        share *= chance
        is_drawn = exploit != SSH_BRUTE_FORCE and is_exploitable(env, target, exploit)
        for detected in range(0 if is_drawn else -1, 2 if is_drawn else 0):
            part = 1.0
            if detected >= 0:
                part = DETECTION_PROB if detected else 1 - DETECTION_PROB
            count = _note(bench, count, target, exploit, detected, -1, share * part)
    return count


@jit
def list_draws(bench: Bench, env: Environment, kind: int, targets: int, chance: float) -> int:
    """Write all that `choose` and `draw` may give for an action, with the chances; their number.

    Args:
        bench: `draws` and `chances` are written.
        env: the state.
        kind: red's action.
        targets: mask of the targets to look at.
        chance: of each of them.
    """
    if targets == 0:
        return _note(bench, 0, NO_TARGET, NO_EXPLOIT, -1, -1, chance)
    count = 0
    for target in range(_MAX_TARGET):
        if not targets >> target & 1:
            continue
        if kind == EXPLOIT:
            count = _list_exploits(bench, env, target, chance, count)
            continue
        sessions = 0
        if kind == ESCALATE and needs_session_pick(env, target):
            sessions = env.num_sessions[target]
        for session in range(0 if sessions else -1, sessions):
            part = chance / max(sessions, 1)
            count = _note(bench, count, target, NO_EXPLOIT, -1, session, part)
    return count


# ------------------------------------------------------------------------------------------- play
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
def _is_seen(bench: Bench, turn: Turn) -> bool:
    num_equal = 0
    for host in range(NUM_HOSTS):
        num_equal += bench.observation[host] == turn.observation[host]
    return num_equal == NUM_HOSTS


@jit
def _play(bench: Bench, turn: Turn, kind: int, number: int) -> bool:
    """Play one of the draws, into `bench.words`; False if blue's observation contradicts it."""
    bench.records[_CHILD] = bench.records[_PARENT]
    env, draw = bench.records[_CHILD], bench.draws[number]
    commit(env, kind, draw[0])
    act_red(env, turn.rules, kind, draw[0], draw[1], draw[2], draw[3])
    if turn.sight == SEEN and not _is_possible(env, turn, turn.actions_left - 1):
        return False
    is_last = turn.actions_left == 1
    if is_last:
        update_belief(env)
        if turn.sight != UNSEEN:
            observe(env, turn.style, bench.observation)
        if turn.sight == SEEN and not _is_seen(bench, turn):
            return False
    settle(env)
    pack(env, bench.words)
    if not is_last:
        pack_events(env, bench.words)
    elif turn.sight == NOTED:
        bench.words[ACTIVITY_WORD] = read_observation(bench.observation)[1]
    return True


@jit
def _decide(bench: Bench, turn: Turn) -> tuple[int, int]:
    """Red's action in the state that is looked at, and the number of draws it may be played with.

    Targets that what blue has seen leaves no room for are left out.
    """
    env = bench.records[_PARENT]
    kind, targets = decide(env)
    chance = 1.0 / max(count_bits(targets), 1)
    if turn.sight == SEEN:
        # An action makes events on its target only.
        missing = turn.active & ~env.event_hosts
        if missing and count_bits(missing) == turn.actions_left:
            targets &= missing
            if targets == 0:
                return kind, 0
    return kind, list_draws(bench, env, kind, targets, chance)


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
        kind, count = _decide(bench, turn)
        bench.num_played[0] += count
        for number in range(count):
            if _play(bench, turn, kind, number):
                add(result, bench.words, weights[i] * bench.chances[number])
