"""One step of the belief of every environment of a batch, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from standing_orders.belief.branch import SEEN, Bench, Turn, active_hosts, play_red_action
from standing_orders.belief.hypothesis import NUM_WORDS, read_observation, unpack
from standing_orders.belief.prior import Prior
from standing_orders.belief.weighted import WeightedStates, clear
from standing_orders.cage2.blue import act_blue
from standing_orders.cage2.opponents import decide
from standing_orders.cage2.scenario import (
    BELIEF_NO,
    BELIEF_PRIVILEGED,
    BELIEF_UNKNOWN,
    DISCOVER_SERVICES,
    ESCALATE,
    EXPLOIT,
    NUM_HOSTS,
    NUM_UNIT_TYPES,
    UNIT_TYPE_HOSTS,
    UNIT_TYPE_OF_HOST,
)
from standing_orders.cage2.state import begin_episode
from standing_orders.compiled import count_bits, jit

NUM_TYPE_SETS = 1 << NUM_UNIT_TYPES
_MASK = (1 << NUM_HOSTS) - 1
_ROUNDING = 1e-16
FORESEEN = (DISCOVER_SERVICES, EXPLOIT, ESCALATE)  # red's actions on a host that may be next
_DOUBT = 0.5  # chance that a host is held which blue's own table calls Unknown


class Rules(NamedTuple):
    """The game, and what may be left out."""

    rules: int
    style: int
    red_tempo: int
    least: float  # share of a belief below which a state is left out


class Memory(NamedTuple):
    """What is remembered of each environment."""

    frames: NDArray[np.void]  # (num_envs,): what blue knows of the state
    words: NDArray[np.int64]  # (num_envs, cap, 8)
    weights: NDArray[np.float64]  # (num_envs, cap)
    sizes: NDArray[np.int64]  # (num_envs,)


class Picture(NamedTuple):
    """What a belief says."""

    held: NDArray[np.float64]  # (num_envs, 13)
    privileged: NDArray[np.float64]  # (num_envs, 13)
    malware: NDArray[np.float64]  # (num_envs, 13)
    held_types: NDArray[np.float64]  # (num_envs, 32)
    agent: NDArray[np.float64]  # (num_envs, 3)
    likelihood: NDArray[np.float64]  # (num_envs,)
    cut: NDArray[np.float64]  # (num_envs,)
    is_lost: NDArray[np.bool_]  # (num_envs,)


class Desk(NamedTuple):
    """Where one belief at a time is worked on."""

    bench: Bench
    result: WeightedStates
    spare: WeightedStates


@jit
def _count_above(weights: NDArray[np.float64], floor: float) -> int:
    count = 0
    for weight in weights:
        count += weight >= floor
    return count


@jit
def _find(codes: NDArray[np.int64], code: np.int64) -> int:
    """Where the code stands in ascending codes; -1 if it does not."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low if low < len(codes) and codes[low] == code else -1


@jit
def _keep(
    words: NDArray[np.int64],  # (n, 8)
    weights: NDArray[np.float64],  # (n,)
    least: float,
    memory: Memory,
    i: int,
) -> tuple[float, float]:
    """Remember the likely ones of n states; their total weight and the share left out."""
    total = 0.0
    for weight in weights:
        total += weight
    cap = memory.weights.shape[1]
    # All from `sure` on are kept, and between it and `floor` as many as there is room for.
    floor = least * total
    sure = max(floor, _ROUNDING * total)
    room = cap - _count_above(weights, sure)
    while room < 0:
        floor, sure = sure, 2 * sure
        room = cap - _count_above(weights, sure)
    size, kept = 0, 0.0
    for j in range(len(weights)):
        is_kept = weights[j] >= sure
        if not is_kept and weights[j] >= floor and room > 0:
            room -= 1
            is_kept = True
        if is_kept:
            for k in range(NUM_WORDS):
                memory.words[i, size, k] = words[j, k]
            memory.weights[i, size] = weights[j]
            kept += weights[j]
            size += 1
    memory.sizes[i] = size
    for j in range(size):
        memory.weights[i, j] /= kept
    return total, max(0.0, 1.0 - kept / total)


@jit
def _describe_states(memory: Memory, picture: Picture, i: int) -> None:
    for j in range(memory.sizes[i]):
        weight = memory.weights[i, j]
        held = memory.words[i, j, 0] & _MASK
        privileged = memory.words[i, j, 0] >> NUM_HOSTS & _MASK
        malware = memory.words[i, j, 0] >> 3 * NUM_HOSTS & _MASK
        types = 0
        for unit_type in range(NUM_UNIT_TYPES):
            if held & UNIT_TYPE_HOSTS[unit_type]:
                types |= 1 << unit_type
        picture.held_types[i, types] += weight
        picture.agent[i, memory.words[i, j, 2] >> 2 * NUM_HOSTS & 3] += weight
        for host in range(NUM_HOSTS):
            picture.held[i, host] += weight * (held >> host & 1)
            picture.privileged[i, host] += weight * (privileged >> host & 1)
            picture.malware[i, host] += weight * (malware >> host & 1)


@jit
def _describe_table(observation: NDArray[np.uint32], picture: Picture, i: int) -> None:
    """Without a state that explains what was seen: blue's own table, hosts being independent."""
    table = read_observation(observation)[0]
    for host in range(NUM_HOSTS):
        entry = table >> 2 * host & 3
        if entry != BELIEF_NO:
            picture.held[i, host] = _DOUBT if entry == BELIEF_UNKNOWN else 1.0
        if entry == BELIEF_PRIVILEGED:
            picture.privileged[i, host] = 1.0
        picture.malware[i, host] = picture.held[i, host]
    for types in range(NUM_TYPE_SETS):
        chance = 1.0
        for unit_type in range(NUM_UNIT_TYPES):
            free = 1.0
            for host in range(NUM_HOSTS):
                if UNIT_TYPE_OF_HOST[host] == unit_type:
                    free *= 1.0 - picture.held[i, host]
            chance *= 1.0 - free if types >> unit_type & 1 else free
        picture.held_types[i, types] = chance
    for red in range(picture.agent.shape[1]):
        picture.agent[i, red] = 1.0 / picture.agent.shape[1]


@jit
def describe(memory: Memory, observation: NDArray[np.uint32], picture: Picture, i: int) -> None:
    """Write what the belief of one environment says."""
    for host in range(NUM_HOSTS):
        picture.held[i, host] = 0.0
        picture.privileged[i, host] = 0.0
        picture.malware[i, host] = 0.0
    for types in range(NUM_TYPE_SETS):
        picture.held_types[i, types] = 0.0
    for red in range(picture.agent.shape[1]):
        picture.agent[i, red] = 0.0
    picture.is_lost[i] = memory.sizes[i] == 0
    if memory.sizes[i]:
        _describe_states(memory, picture, i)
    else:
        _describe_table(observation, picture, i)


@jit
def begin_all(
    prior: Prior,
    rules: Rules,
    chosen: NDArray[np.bool_],  # (num_envs,)
    observations: NDArray[np.uint32],  # (num_envs, 13)
    memory: Memory,
    picture: Picture,
) -> None:
    """Begin the belief of the chosen environments with their first observation."""
    for i in range(len(chosen)):
        if not chosen[i]:
            continue
        begin_episode(memory.frames[i])
        memory.frames[i].ot_known = 1
        table, activity = read_observation(observations[i])
        code = table | activity << 2 * NUM_HOSTS
        group = _find(prior.codes, code)
        memory.sizes[i] = 0
        picture.likelihood[i] = 0.0
        picture.cut[i] = 0.0
        if group >= 0:
            first, last = prior.first[group], prior.first[group + 1]
            picture.likelihood[i], picture.cut[i] = _keep(
                prior.words[first:last], prior.weights[first:last], rules.least, memory, i
            )
        describe(memory, observations[i], picture, i)


@jit
def _advance(
    rules: Rules,
    action: int,
    observation: NDArray[np.uint32],  # (13,)
    memory: Memory,
    desk: Desk,
    i: int,
) -> tuple[float, float]:
    """Play one step of one environment; the likelihood of what was seen, and the share cut."""
    active = active_hosts(observation)
    desk.bench.records[0] = memory.frames[i]
    words, weights = memory.words[i, : memory.sizes[i]], memory.weights[i, : memory.sizes[i]]
    source, result = desk.spare, desk.result
    act_blue(memory.frames[i], action, rules.rules)
    for number in range(rules.red_tempo):
        left = rules.red_tempo - number
        turn = Turn(rules.rules, rules.style, action, number == 0, left, SEEN, active, observation)
        clear(result)
        play_red_action(desk.bench, turn, words, weights, result)
        words, weights = result.words[: result.counts[0]], result.weights[: result.counts[0]]
        desk.bench.records[0] = memory.frames[i]
        source, result = result, source
    if len(weights) == 0:
        memory.sizes[i] = 0
        return 0.0, 0.0
    return _keep(words, weights, rules.least, memory, i)


@jit
def update_all(
    rules: Rules,
    chosen: NDArray[np.bool_],  # (num_envs,)
    actions: NDArray[np.int64],  # (num_envs,)
    observations: NDArray[np.uint32],  # (num_envs, 13)
    memory: Memory,
    desk: Desk,
    picture: Picture,
) -> None:
    """Play one step of the chosen environments: blue's action, and what it saw then."""
    for i in range(len(chosen)):
        if chosen[i]:
            picture.likelihood[i], picture.cut[i] = _advance(
                rules, actions[i], observations[i], memory, desk, i
            )
            describe(memory, observations[i], picture, i)


@jit
def foresee_all(
    memory: Memory,
    desk: Desk,
    upcoming: NDArray[np.float64],  # (num_envs, 3, 13)
) -> None:
    """Probability of each of red's next actions; see `Belief.foresee`."""
    upcoming[:] = 0.0
    for i in range(len(upcoming)):
        for j in range(memory.sizes[i]):
            desk.bench.records[0] = memory.frames[i]
            env = desk.bench.records[0]
            unpack(memory.words[i, j], env)
            kind, targets = decide(env)
            for place, foreseen in enumerate(FORESEEN):
                if kind == foreseen:
                    share = memory.weights[i, j] / count_bits(targets)
                    for host in range(NUM_HOSTS):
                        upcoming[i, place, host] += share * (targets >> host & 1)
