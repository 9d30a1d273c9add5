"""A set of packed states with weights in which equal states are one: a hash table in plain arrays.

Clearing costs nothing: a slot counts only if it carries the number of the present filling.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from standing_orders.belief.hypothesis import NUM_WORDS
from standing_orders.compiled import jit

_SIZE, _FILLING, _LOST = range(3)  # of `counts`


class WeightedStates(NamedTuple):
    """States `words[:counts[0]]` with their weights."""

    words: NDArray[np.int64]  # (capacity, 8)
    weights: NDArray[np.float64]  # (capacity,)
    slots: NDArray[np.int64]  # (a power of two >= 2 * capacity,): filling << 32 | index
    counts: NDArray[np.int64]  # (3,): states, number of the filling, additions without room


def make_states(capacity: int) -> WeightedStates:
    """An empty set with room for `capacity` states."""
    size = 1 << (2 * capacity - 1).bit_length()
    return WeightedStates(
        np.zeros((capacity, NUM_WORDS), dtype=np.int64),
        np.zeros(capacity),
        np.zeros(size, dtype=np.int64),
        np.array([0, 1, 0]),
    )


@jit
def clear(states: WeightedStates) -> None:
    """Forget all states."""
    states.counts[_SIZE] = 0
    states.counts[_FILLING] += 1
    states.counts[_LOST] = 0


@jit
def _hash(words: NDArray[np.int64]) -> np.int64:
    total = np.int64(0)
    for word in words:
        total = (total ^ word) * np.int64(-7046029254386353131)
        total ^= total >> 29
    return total ^ (total >> 32)


@jit
def add(states: WeightedStates, words: NDArray[np.int64], weight: float) -> None:
    """Add weight to a state, which is copied if it is new.

    Without room it is counted as lost and left out.
    """
    filling = states.counts[_FILLING]
    mask = len(states.slots) - 1
    slot = _hash(words) & mask
    while True:
        entry = states.slots[slot]
        if entry >> 32 != filling:
            break
        index = entry & 0xFFFFFFFF
        is_equal = True
        for i in range(NUM_WORDS):
            if states.words[index, i] != words[i]:
                is_equal = False
                break
        if is_equal:
            states.weights[index] += weight
            return
        slot = (slot + 1) & mask
    size = states.counts[_SIZE]
    if size == len(states.weights):
        states.counts[_LOST] += 1
        return
    states.slots[slot] = filling << 32 | size
    for i in range(NUM_WORDS):
        states.words[size, i] = words[i]
    states.weights[size] = weight
    states.counts[_SIZE] = size + 1
