"""What blue believes when it first looks: every state that red can have reached by then.

A head start is played out in full: each red action branches into all that it can do, equal states
are merged, and each final state is kept with the observation that goes with it. States that happen
once in ten million million episodes are left out; `cut` says how much that is. A prior that takes
long is kept on disk.
"""

import hashlib
import io
import os
import tempfile
import zipfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from standing_orders.belief.branch import NOTED, UNSEEN, Turn, make_bench, play_red_action
from standing_orders.belief.hypothesis import ACTIVITY_WORD, NUM_WORDS, TABLE_WORD, pack
from standing_orders.belief.weighted import clear, make_states
from standing_orders.cage2.actions import SLEEP
from standing_orders.cage2.scenario import NUM_HOSTS, OBSERVATION_STYLES, RED_AGENTS, RULE_SETS
from standing_orders.cage2.state import begin_episode
from standing_orders.compiled import cache_folder, jit
from standing_orders.config import GameConfig, RedAgent

_FIRST_CAPACITY = 1 << 12
MAX_STATES = 1 << 20
_LEAST, _LEAST_ON_THE_WAY = 1e-12, 1e-14  # probability below which a state is left out
_WORTH_KEEPING = 10_000  # states; fewer are played out as fast as they are read


class Prior(NamedTuple):
    """States grouped by the first observation, the likeliest first within a group."""

    codes: NDArray[np.int64]  # (num_groups,), ascending: table | activity << 26
    first: NDArray[np.int64]  # (num_groups + 1,): where each group begins
    words: NDArray[np.int64]  # (num_states, 8)
    weights: NDArray[np.float64]  # (num_states,), adding up to 1 - cut
    cut: float


@jit
def begin_frame(frame: NDArray[np.void], red: int) -> None:  # (1,)
    """Put what blue knows at the beginning into a record; red knows the service, see `pack`."""
    begin_episode(frame[0])
    frame[0].red = red
    frame[0].ot_known = 1


def _play_head_start(
    config: GameConfig, red: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """All states after the head start, with their probabilities, and what was left out."""
    bench = make_bench()
    begin_frame(bench.records, red)
    words = np.zeros((1, NUM_WORDS), dtype=np.int64)
    pack(bench.records[0], words[0])
    weights = np.ones(1)
    result, spare = make_states(_FIRST_CAPACITY), make_states(_FIRST_CAPACITY)
    rules = RULE_SETS.index(config.rules)
    style = OBSERVATION_STYLES.index(config.observation)
    nothing = np.zeros(NUM_HOSTS, dtype=np.uint32)
    num_actions = config.head_start * config.red_tempo
    for number in range(num_actions):
        left = config.red_tempo - number % config.red_tempo
        sight = NOTED if number == num_actions - 1 else UNSEEN
        is_first = left == config.red_tempo
        turn = Turn(rules, style, SLEEP, is_first, left, sight, 0, nothing)
        while True:
            clear(result)
            play_red_action(bench, turn, words, weights, result)
            if not result.counts[2]:
                break
            result = make_states(4 * len(result.weights))
        size = int(result.counts[0])
        words, weights = result.words[:size], result.weights[:size]
        words, weights = _thin(words, weights, _LEAST if sight == NOTED else _LEAST_ON_THE_WAY)
        result, spare = spare, result
    return words.copy(), weights.copy(), max(0.0, 1.0 - float(weights.sum()))


def _thin(
    words: NDArray[np.int64], weights: NDArray[np.float64], least: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Leave out the unlikely, and whatever is too much."""
    kept = np.flatnonzero(weights >= least)
    if len(kept) > MAX_STATES:
        kept = np.sort(np.argsort(weights)[-MAX_STATES:])
    return words[kept], weights[kept]


def _group(words: NDArray[np.int64], weights: NDArray[np.float64], cut: float) -> Prior:
    codes = words[:, TABLE_WORD] | words[:, ACTIVITY_WORD] << 2 * NUM_HOSTS
    by_group = np.lexsort((-weights, codes))
    words, weights, codes = words[by_group], weights[by_group], codes[by_group]
    words[:, ACTIVITY_WORD] = 0
    groups, first = np.unique(codes, return_index=True)
    return Prior(groups, np.append(first, len(codes)), words, weights, cut)


@lru_cache(maxsize=8)
def make_prior(config: GameConfig, reds: tuple[RedAgent, ...]) -> Prior:
    """What blue believes at first, each of the red agents being equally likely.

    Args:
        config: the game: rules, observation style, head start and tempo.
        reds: the red agents that are possible.
    """
    parts = [_read_or_play(config, red) for red in reds]
    words = np.concatenate([part[0] for part in parts])
    weights = np.concatenate([part[1] for part in parts]) / len(reds)
    return _group(words, weights, sum(part[2] for part in parts) / len(reds))


# ------------------------------------------------------------------------------------- on disk
def _read_or_play(
    config: GameConfig, red: RedAgent
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    name = f"{red}-{config.rules}-{config.observation}-{config.head_start}-{config.red_tempo}"
    path = cache_folder() / f"head-start-{name}.npz"
    kept = _read(path)
    if kept is not None:
        return kept
    words, weights, cut = _play_head_start(config, RED_AGENTS.index(red))
    if len(weights) >= _WORTH_KEEPING:
        _write(path, words, weights, cut)
    return words, weights, cut


def _checksum(words: NDArray[np.int64], weights: NDArray[np.float64], cut: float) -> str:
    total = hashlib.sha256(np.ascontiguousarray(words).tobytes())
    total.update(np.ascontiguousarray(weights).tobytes() + np.float64(cut).tobytes())
    return total.hexdigest()


def _read(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64], float] | None:
    """What was kept, or None if there is nothing, or nothing that is whole."""
    try:
        with np.load(path, allow_pickle=False) as file:
            words, weights = file["words"], file["weights"]
            cut, checksum = float(file["cut"]), str(file["checksum"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return (words, weights, cut) if checksum == _checksum(words, weights, cut) else None


def _write(path: Path, words: NDArray[np.int64], weights: NDArray[np.float64], cut: float) -> None:
    """Keep a prior; a folder that cannot be written to only costs time later."""
    data = io.BytesIO()
    checksum = _checksum(words, weights, cut)
    np.savez_compressed(data, words=words, weights=weights, cut=cut, checksum=checksum)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data.getvalue())
        Path(temporary).replace(path)
