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
    SLEEP,
)
from standing_orders.cage2.scenario import (
    BASE_PORTS,
    DECOY_FITS_HOSTS,
    DECOY_NEEDS_FREE,
    DEFENDER,
    NUM_DECOYS,
    NUM_HOSTS,
    NUM_UNIT_TYPES,
    OBSERVATION_SIZE,
    UNIT_TYPE_OF_HOST,
)
from standing_orders.compiled import jit
from standing_orders.rules.compliance import top_held
from standing_orders.rules.orders import ENCODING_SIZE, ENCODINGS

MEMORY_SIZE = 3 * NUM_HOSTS
_SCANS, _EXPLOITS, _DECOYS = 0, NUM_HOSTS, 2 * NUM_HOSTS  # where each begins in a memory
# Behind what is an input, for suspicions: whether a decoy that fits stands on a host, whether one
# did when a scan was seen, so that red may know of it, and how much speaks for a session there that
# no sensor reported.
_STANDING, _BAITS, _DOUBTS = (MEMORY_SIZE + block * NUM_HOSTS for block in range(3))
_PRIVATE_SIZE = MEMORY_SIZE + 3 * NUM_HOSTS
# What a doubt can be; from _SILENT on the host is a suspect.
_NO_DOUBT, _ATTACKED, _SILENT, _CERTAIN = range(4)
_STRAIGHT_PATH = 4  # hosts on B_line's way to the server; who scans more of them wanders
_MAX_SCANS, _MAX_DECOYS, MAX_CLOCK = 3, 4, 100
# (8, 13): whether a decoy can be placed on a host in its initial state.
_DECOY_FITS = np.array(
    [
        [
            bool(DECOY_FITS_HOSTS[decoy] >> host & 1)
            and not BASE_PORTS[host] & DECOY_NEEDS_FREE[decoy]
            for host in range(NUM_HOSTS)
        ]
        for decoy in range(NUM_DECOYS)
    ]
)


@dataclass(frozen=True)
class InputLayout:
    """Which inputs a network has, in this order.

    Observation, order, focus, memory, suspects, clock.
    """

    has_order: bool = True  # 25 bits
    has_focus: bool = False  # 5 bits: the highest-ranked type that blue believes compromised
    has_memory: bool = False  # 39: scans, exploits and decoys per host
    has_suspects: bool = False  # 13: whether red may hold a host (1) or does (2), though unreported
    has_clock: bool = False  # 1: steps played

    @property
    def blocks(self) -> dict[str, slice]:
        """Where each kind of input stands."""
        sizes = {
            "observation": OBSERVATION_SIZE,
            "order": ENCODING_SIZE * self.has_order,
            "focus": NUM_UNIT_TYPES * self.has_focus,
            "memory": MEMORY_SIZE * self.has_memory,
            "suspects": NUM_HOSTS * self.has_suspects,
            "clock": 1 * self.has_clock,
        }
        blocks, start = {}, 0
        for name, size in sizes.items():
            if size:
                blocks[name] = slice(start, start + size)
            start += size
        return blocks

    @property
    def size(self) -> int:
        """Number of inputs."""
        return max(block.stop for block in self.blocks.values())

    @property
    def scale(self) -> NDArray[np.float32]:
        """What each input is multiplied by."""
        scale = np.ones(self.size, dtype=np.float32)
        if self.has_memory:
            memory = scale[self.blocks["memory"]]
            memory[_SCANS:_EXPLOITS] = 1 / _MAX_SCANS
            memory[_DECOYS:] = 1 / _MAX_DECOYS
        if self.has_suspects:
            scale[self.blocks["suspects"]] = 1 / (_CERTAIN - _ATTACKED)
        if self.has_clock:
            scale[-1] = 1 / MAX_CLOCK
        return scale


@jit
def _suspicion(doubt: int) -> int:
    """What a network is shown of a doubt: 0 none, 1 red may hold the host, 2 it does."""
    return max(doubt - _ATTACKED, 0)


@jit
def _believed_types(
    observation: NDArray[np.int8], memory: NDArray[np.int8], has_suspects: bool
) -> int:
    """Mask of the types of which blue believes a host compromised, by its table or a suspicion.

    No one can take Defender, whatever the table says of it.
    """
    mask = 0
    for host in range(DEFENDER + 1, NUM_HOSTS):
        is_shown = observation[4 * host + 2] or observation[4 * host + 3]
        if is_shown or (has_suspects and _suspicion(memory[_DOUBTS + host])):
            mask |= 1 << UNIT_TYPE_OF_HOST[host]
    return mask


@jit
def _remember(memory: NDArray[np.int8], observation: NDArray[np.int8], action: int) -> None:
    """Enter one step: what blue did and what it saw then (-1: it only looks)."""
    kind = KIND_OF_ACTION[action] if action >= 0 else SLEEP
    target = HOST_OF_ACTION[action]
    if FIRST_DECOY <= kind <= LAST_DECOY:
        memory[_DECOYS + target] = min(memory[_DECOYS + target] + 1, _MAX_DECOYS)
        if _DECOY_FITS[kind - FIRST_DECOY, target]:
            memory[_STANDING + target] = 1
    elif kind == RESTORE:
        memory[_DECOYS + target] = 0
        memory[_STANDING + target] = 0
        memory[_DOUBTS + target] = _NO_DOUBT
        memory[_SCANS + target] = min(memory[_SCANS + target], 1)
    _doubt(memory, observation)
    for host in range(NUM_HOSTS):
        if observation[4 * host + 1]:
            memory[_EXPLOITS + host] = 1
        elif observation[4 * host]:
            memory[_SCANS + host] = min(memory[_SCANS + host] + 1, _MAX_SCANS)
            if memory[_STANDING + host]:
                memory[_BAITS + host] = 1


@jit
def _doubt(memory: NDArray[np.int8], observation: NDArray[np.int8]) -> None:
    """Weigh for each host whether red got in unseen, by what was known before this step.

    A second scan of a host is how an exploit looks that was not detected, or that a decoy caught
    which red knew of. Red follows a success up with an escalation, which no sensor sees; after a
    failure one that wanders mostly shows itself at the next host.
    """
    num_scanned, is_silent = 0, True
    for host in range(NUM_HOSTS):
        num_scanned += memory[_SCANS + host] > 0
        is_silent &= not observation[4 * host]
    for host in range(NUM_HOSTS):
        doubt = memory[_DOUBTS + host]
        if doubt == _CERTAIN:
            continue
        if observation[4 * host + 1]:
            doubt = _NO_DOUBT
        elif observation[4 * host] and memory[_SCANS + host]:
            is_trap = memory[_BAITS + host] and memory[_STANDING + host]
            doubt = _ATTACKED if is_trap else _CERTAIN
        elif doubt == _ATTACKED:
            doubt = _SILENT if is_silent and num_scanned > _STRAIGHT_PATH else _NO_DOUBT
        memory[_DOUBTS + host] = doubt


@jit
def _encode_all(
    observations: NDArray[np.int8],  # (num_envs, 52)
    orders: NDArray[np.int64],  # (num_envs,)
    memories: NDArray[np.int8],  # (num_envs, _PRIVATE_SIZE)
    last_actions: NDArray[np.int64],  # (num_envs,), -1 = none yet
    clock: int,  # -1 = not an input
    has_order: bool,
    has_focus: bool,
    has_memory: bool,
    has_suspects: bool,
    out: NDArray[np.int8],  # (num_envs, size)
) -> None:
    for i in range(len(out)):
        row = out[i]
        row[:OBSERVATION_SIZE] = observations[i]
        end = OBSERVATION_SIZE
        _remember(memories[i], observations[i], last_actions[i])
        if has_order:
            row[end : end + ENCODING_SIZE] = ENCODINGS[orders[i]]
            end += ENCODING_SIZE
        if has_focus:
            row[end : end + NUM_UNIT_TYPES] = 0
            believed = _believed_types(observations[i], memories[i], has_suspects)
            focus = top_held(believed, orders[i])
            if focus >= 0:
                row[end + focus] = 1
            end += NUM_UNIT_TYPES
        if has_memory:
            row[end : end + MEMORY_SIZE] = memories[i][:MEMORY_SIZE]
            end += MEMORY_SIZE
        if has_suspects:
            for host in range(NUM_HOSTS):
                row[end + host] = _suspicion(memories[i, _DOUBTS + host])
        if clock >= 0:
            row[-1] = clock


class InputEncoder:
    """Turns the observations of a batch into inputs, remembering what a layout asks for.

    Args:
        layout: which inputs.
        orders: shape (num_envs,), the order each environment's defender is told.
    """

    def __init__(self, layout: InputLayout, orders: NDArray[np.int64]) -> None:
        self.layout = layout
        self._orders = orders
        self._memories = np.zeros((len(orders), _PRIVATE_SIZE), dtype=np.int8)
        self._last_actions = np.full(len(orders), -1, dtype=np.int64)
        self._clock = 0

    def encode(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
        out: NDArray[np.int8],  # (num_envs, size)
    ) -> NDArray[np.int8]:
        """Write the inputs of one step; call it once a step."""
        layout = self.layout
        clock = min(self._clock, MAX_CLOCK) if layout.has_clock else -1
        _encode_all(
            observations, self._orders, self._memories, self._last_actions, clock,
            layout.has_order, layout.has_focus, layout.has_memory, layout.has_suspects, out,
        )  # fmt: skip
        return out

    def note(self, actions: NDArray[np.int64]) -> None:  # (num_envs,)
        """Remember what blue is about to do."""
        self._clock += 1
        self._last_actions[:] = actions
