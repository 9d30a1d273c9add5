"""What a network is shown: blue's observation, the order it is told, and what blue itself recalls.

Inputs are small whole numbers (int8), so that equal ones can be found exactly; `InputLayout.scale`
turns them into floats of about one. Nothing here knows the true state.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.actions import (
    FIRST_DECOY,
    HOST_OF_ACTION,
    KIND_OF_ACTION,
    LAST_DECOY,
    RESTORE,
)
from standing_orders.cage2.compiled import jit
from standing_orders.cage2.scenario import (
    DEFENDER,
    NUM_HOSTS,
    NUM_UNIT_TYPES,
    OBSERVATION_SIZE,
    UNIT_TYPE_OF_HOST,
)
from standing_orders.rules.compliance import top_held
from standing_orders.rules.orders import ENCODING_SIZE, ENCODINGS

MEMORY_SIZE = 3 * NUM_HOSTS + 1
_MAX_DECOYS, _MAX_STEPS = 4, 100


@dataclass(frozen=True)
class InputLayout:
    """Which inputs a network has, in this order: observation, order, focus, memory."""

    has_order: bool = True  # 25 bits
    has_focus: bool = False  # 5 bits: the highest-ranked type that blue believes compromised
    has_memory: bool = False  # 40: scans, exploits and decoys so far per host, step fraction

    @property
    def size(self) -> int:
        """Number of inputs."""
        return (
            OBSERVATION_SIZE
            + ENCODING_SIZE * self.has_order
            + NUM_UNIT_TYPES * self.has_focus
            + MEMORY_SIZE * self.has_memory
        )

    @property
    def scale(self) -> NDArray[np.float32]:
        """What each input is multiplied by."""
        scale = np.ones(self.size, dtype=np.float32)
        if self.has_memory:
            scale[-1 - NUM_HOSTS : -1] = 1 / _MAX_DECOYS
            scale[-1] = 1 / _MAX_STEPS
        return scale


@jit
def _believed_types(observation: NDArray[np.int8]) -> int:
    """Mask of the types of which blue's table shows a host as compromised; no one can take
    Defender, whatever the table says of it."""
    mask = 0
    for host in range(DEFENDER + 1, NUM_HOSTS):
        if observation[4 * host + 2] or observation[4 * host + 3]:
            mask |= 1 << UNIT_TYPE_OF_HOST[host]
    return mask


@jit
def _remember(memory: NDArray[np.int8], observation: NDArray[np.int8], action: int) -> None:
    """Enter one step: what blue did and what it saw then."""
    for host in range(NUM_HOSTS):
        if observation[4 * host + 1]:
            memory[NUM_HOSTS + host] = 1
        elif observation[4 * host]:
            memory[host] = 1
    kind, host = KIND_OF_ACTION[action], HOST_OF_ACTION[action]
    if FIRST_DECOY <= kind <= LAST_DECOY:
        memory[2 * NUM_HOSTS + host] = min(memory[2 * NUM_HOSTS + host] + 1, _MAX_DECOYS)
    elif kind == RESTORE:
        memory[2 * NUM_HOSTS + host] = 0
    memory[-1] = min(memory[-1] + 1, _MAX_STEPS)


@jit
def _encode_all(
    observations: NDArray[np.int8],  # (num_envs, 52)
    orders: NDArray[np.int64],  # (num_envs,)
    memories: NDArray[np.int8],  # (num_envs, 40)
    last_actions: NDArray[np.int64],  # (num_envs,), -1 = none yet
    has_order: bool,
    has_focus: bool,
    has_memory: bool,
    out: NDArray[np.int8],  # (num_envs, size)
) -> None:
    for i in range(len(out)):
        row = out[i]
        row[:OBSERVATION_SIZE] = observations[i]
        end = OBSERVATION_SIZE
        if has_order:
            row[end : end + ENCODING_SIZE] = ENCODINGS[orders[i]]
            end += ENCODING_SIZE
        if has_focus:
            row[end : end + NUM_UNIT_TYPES] = 0
            focus = top_held(_believed_types(observations[i]), orders[i])
            if focus >= 0:
                row[end + focus] = 1
            end += NUM_UNIT_TYPES
        if has_memory:
            if last_actions[i] >= 0:
                _remember(memories[i], observations[i], last_actions[i])
            row[end:] = memories[i]


class InputEncoder:
    """Turns the observations of a batch into inputs, remembering what a layout asks for.

    Args:
        layout: which inputs.
        orders: shape (num_envs,), the order each environment's defender is told.
    """

    def __init__(self, layout: InputLayout, orders: NDArray[np.int64]) -> None:
        self.layout = layout
        self._orders = orders
        self._memories = np.zeros((len(orders), MEMORY_SIZE), dtype=np.int8)
        self._last_actions = np.full(len(orders), -1, dtype=np.int64)

    def encode(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
        out: NDArray[np.int8],  # (num_envs, size)
    ) -> NDArray[np.int8]:
        """Write the inputs of one step; call it once a step."""
        layout = self.layout
        _encode_all(
            observations, self._orders, self._memories, self._last_actions,
            layout.has_order, layout.has_focus, layout.has_memory, out,
        )  # fmt: skip
        return out

    def note(self, actions: NDArray[np.int64]) -> None:  # (num_envs,)
        """Remember what blue is about to do."""
        self._last_actions[:] = actions
