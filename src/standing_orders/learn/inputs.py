"""What a network is shown: blue's observation, its order, what it can know and what it recalls.

Inputs are small whole numbers (int8), so that equal ones can be found exactly; `InputLayout.scale`
turns them into floats of about one. Nothing here knows the true state.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.belief import Belief
from standing_orders.belief.update import FORESEEN
from standing_orders.cage2.actions import (
    FIRST_DECOY,
    HOST_OF_ACTION,
    KIND_OF_ACTION,
    LAST_DECOY,
    RESTORE,
    SLEEP,
)
from standing_orders.cage2.defenders import compatible_decoys
from standing_orders.cage2.scenario import (
    DECOYS,
    HOSTS,
    NUM_HOSTS,
    NUM_UNIT_TYPES,
    OBSERVATION_SIZE,
    RED_AGENTS,
)
from standing_orders.compiled import jit
from standing_orders.config import RedAgent, SimConfig
from standing_orders.rules.lawful import lawful_types
from standing_orders.rules.masks import RuleMask
from standing_orders.rules.orders import ENCODING_SIZE, ENCODINGS
from standing_orders.rules.temporal import GROUPS, read_rules

MEMORY_SIZE = 3 * NUM_HOSTS
_SCANS, _EXPLOITS, _DECOYS = 0, NUM_HOSTS, 2 * NUM_HOSTS  # where each begins in a memory
_MAX_SCANS, _MAX_DECOYS, MAX_CLOCK = 3, 4, 100
_PROBABILITIES = ("belief", "privileged", "agent", "upcoming")
_DECOY_PLACES = np.array(
    [
        (host, DECOYS.index(decoy))
        for host, name in enumerate(HOSTS)
        for decoy in compatible_decoys(name)
    ]
)  # (41, 2)
_GRADES = 8  # a probability is shown in so many steps, so that many rows stay equal


@dataclass(frozen=True)
class InputLayout:
    """Which inputs a network has, in this order, and what its defender knows and may do.

    Observation, order, lawful, ruled, belief, privileged, agent, upcoming, decoys, memory, clock.
    """

    has_order: bool = True  # 25 bits
    has_belief: bool = False  # 13: probability that red holds each host, in eighths
    has_full_belief: bool = False  # 13: that it is privileged there; and of each of `reds`
    # 39 and 41: probability of each red action that may be next, and which decoys stand.
    has_foresight: bool = False
    has_memory: bool = False  # 39: scans, exploits and decoys per host
    has_clock: bool = False  # 1: steps played
    is_useful: bool = False  # only actions that can have an effect are chosen
    has_host_weights: bool = False  # weights that all hosts share, see `networks.Actor`
    certainty: float | None = None  # of keeping the order; with it 5 bits: types that may be fixed
    rules: tuple[str, ...] = ()  # about blue's own actions; with any 5 bits: kinds that keep them
    reds: tuple[RedAgent, ...] = RED_AGENTS  # red agents that the belief holds possible

    @property
    def needs_belief(self) -> bool:
        """Whether the defender keeps a belief."""
        has_any = self.has_belief or self.has_full_belief or self.has_foresight
        return has_any or self.certainty is not None

    @property
    def blocks(self) -> dict[str, slice]:
        """Where each kind of input stands."""
        sizes = {
            "observation": OBSERVATION_SIZE,
            "order": ENCODING_SIZE * self.has_order,
            "lawful": NUM_UNIT_TYPES * (self.certainty is not None),
            "ruled": len(GROUPS) * bool(self.rules),
            "belief": NUM_HOSTS * self.has_belief,
            "privileged": NUM_HOSTS * self.has_full_belief,
            "agent": len(self.reds) * self.has_full_belief,
            "upcoming": len(FORESEEN) * NUM_HOSTS * self.has_foresight,
            "decoys": len(_DECOY_PLACES) * self.has_foresight,
            "memory": MEMORY_SIZE * self.has_memory,
            "clock": 1 * self.has_clock,
        }
        blocks, start = {}, 0
        for name, size in sizes.items():
            if size:
                blocks[name] = slice(start, start + size)
            start += size
        return blocks

    @property
    def host_inputs(self) -> dict[str, NDArray[np.int64]]:  # each (13, features)
        """Which inputs of each block say something of each host."""
        hosts, found = np.arange(NUM_HOSTS)[:, None], {}
        for name, block in self.blocks.items():
            size = (block.stop - block.start) // NUM_HOSTS
            if name == "observation":
                found[name] = block.start + size * hosts + np.arange(size)
            elif name in ("belief", "privileged", "upcoming", "memory"):
                found[name] = block.start + hosts + NUM_HOSTS * np.arange(size)
        return found

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
        for name in _PROBABILITIES:
            if name in self.blocks:
                scale[self.blocks[name]] = 1 / _GRADES
        if self.has_clock:
            scale[-1] = 1 / MAX_CLOCK
        return scale


@jit
def _remember(memory: NDArray[np.int8], observation: NDArray[np.int8], action: int) -> None:
    """Enter one step: what blue did and what it saw then (-1: it only looks)."""
    kind = KIND_OF_ACTION[action] if action >= 0 else SLEEP
    target = HOST_OF_ACTION[action]
    if FIRST_DECOY <= kind <= LAST_DECOY:
        memory[_DECOYS + target] = min(memory[_DECOYS + target] + 1, _MAX_DECOYS)
    elif kind == RESTORE:
        memory[_DECOYS + target] = 0
        memory[_SCANS + target] = min(memory[_SCANS + target], 1)
    for host in range(NUM_HOSTS):
        if observation[4 * host + 1]:
            memory[_EXPLOITS + host] = 1
        elif observation[4 * host]:
            memory[_SCANS + host] = min(memory[_SCANS + host] + 1, _MAX_SCANS)


@jit
def _remember_all(
    memories: NDArray[np.int8],  # (num_envs, MEMORY_SIZE)
    observations: NDArray[np.int8],  # (num_envs, 52)
    last_actions: NDArray[np.int64],  # (num_envs,), -1 = none yet
) -> None:
    for i in range(len(memories)):
        _remember(memories[i], observations[i], last_actions[i])


class InputEncoder:
    """Turns the observations of a batch into inputs, remembering what the layout asks for.

    Args:
        layout: which inputs.
        orders: shape (num_envs,), the order each environment's defender is told.
        game: the game that is played, for the belief; the standard one if left out.

    Attributes:
        belief: what blue can know; None if the layout needs none.
    """

    def __init__(
        self, layout: InputLayout, orders: NDArray[np.int64], game: SimConfig | None = None
    ) -> None:
        self.layout = layout
        count = len(orders)
        self.belief = None
        if layout.needs_belief:
            self.belief = Belief(game or SimConfig(), count, reds=layout.reds)
        self._blocks = layout.blocks
        self._orders = orders
        self._chances = np.zeros((count, NUM_UNIT_TYPES))
        self._memories = np.zeros((count, MEMORY_SIZE), dtype=np.int8)
        self._last_actions = np.full(count, -1, dtype=np.int64)
        self._mask = RuleMask(read_rules(layout.rules), count) if layout.rules else None
        self._clock = 0

    def tell(self, orders: NDArray[np.int64] | int) -> None:
        """Tell the defenders these orders, one for all or one for each, from now on."""
        self._orders = np.full_like(self._orders, orders)

    def encode(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
        out: NDArray[np.int8],  # (num_envs, size)
    ) -> NDArray[np.int8]:
        """Write the inputs of one step; call it once a step."""
        layout, blocks = self.layout, self._blocks
        out[:, blocks["observation"]] = observations
        if layout.has_order:
            out[:, blocks["order"]] = ENCODINGS[self._orders]
        if self.belief is not None:
            self._believe(self.belief, observations, out)
        if self._mask is not None:
            out[:, blocks["ruled"]] = self._mask.allowed()
        if layout.has_memory:
            _remember_all(self._memories, observations, self._last_actions)
            out[:, blocks["memory"]] = self._memories
        if layout.has_clock:
            out[:, -1] = min(self._clock, MAX_CLOCK)
        return out

    def _believe(
        self, belief: Belief, observations: NDArray[np.int8], out: NDArray[np.int8]
    ) -> None:
        if self._clock == 0:
            belief.reset(observations)
        else:
            belief.update(self._last_actions, observations)
        known = {"belief": belief.held}
        if self.layout.has_full_belief:
            known |= {"privileged": belief.privileged, "agent": belief.agent}
        if self.layout.has_foresight:
            known["upcoming"] = belief.foresee().reshape(len(out), -1)
            hosts, kinds = _DECOY_PLACES.T
            out[:, self._blocks["decoys"]] = belief.decoys[:, hosts] >> kinds & 1
        for name, probabilities in known.items():
            if name in self._blocks:
                out[:, self._blocks[name]] = np.rint(_GRADES * probabilities)
        if self.layout.certainty is not None:
            out[:, self._blocks["lawful"]] = lawful_types(
                belief.held_types, self._orders, self.layout.certainty, self._chances
            )

    def note(self, actions: NDArray[np.int64]) -> None:  # (num_envs,)
        """Remember what blue is about to do."""
        self._clock += 1
        self._last_actions[:] = actions
        if self._mask is not None:
            self._mask.note(actions)
