"""A network as collectors need it: from observations to actions, the same bits in any company."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.collect.loop import Weights
from standing_orders.collect.plan import Plan
from standing_orders.config import SimConfig
from standing_orders.learn.inputs import InputEncoder, InputLayout
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.order_losses import mask_violations
from standing_orders.learn.sampling import sample_actions

_PROBE_SEED = 0
_MAX_PROBE = 512


class NetworkActor:
    """Plays with the actor of a network.

    Args:
        network: whose actor plays; it may learn between plans.
    """

    preload = "standing_orders.learn.preloaded"

    def __init__(self, network: ActorCritic) -> None:
        self._network = network

    @property
    def input_size(self) -> int:
        """Number of inputs of a choice."""
        return self._network.layout.size

    def begin(self, plan: Plan, game: SimConfig) -> "NetworkDefenders":
        """The defenders of the episodes of a plan, before the first step."""
        num_rows = plan.num_episodes
        if num_rows < plan.whole:
            network = self._network
            least = least_rows(network.layout, network.hidden, network.activation, plan.whole)
            num_rows = max(num_rows, least)
        return NetworkDefenders(self._network, plan, game, num_rows)

    def recipe(self) -> Callable[[], "NetworkActor"]:
        """What makes such an actor elsewhere; its weights follow."""
        network = self._network
        return partial(make_actor, network.layout, network.hidden, network.activation)

    def weights(self) -> Weights:
        """Weights of the actor as plain arrays."""
        return {name: value.numpy() for name, value in self._network.actor.state_dict().items()}

    def load(self, weights: Weights) -> None:
        """Take over weights of the actor."""
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
        self._network.actor.load_state_dict(tensors)


def make_actor(layout: InputLayout, hidden: tuple[int, ...], activation: str) -> NetworkActor:
    """An actor without its weights, in a process of its own."""
    torch.set_num_threads(1)
    return NetworkActor(ActorCritic(layout, hidden=hidden, activation=activation, seed=0))


class NetworkDefenders:
    """The defenders of some episodes; see `collect.loop.Defenders`.

    Args:
        network: whose actor plays.
        plan: the episodes.
        game: that is played.
        num_rows: rows that the network is given at once, at least one for each episode; see
            `least_rows`.
    """

    def __init__(self, network: ActorCritic, plan: Plan, game: SimConfig, num_rows: int) -> None:
        self._network = network
        self._plan = plan
        self._encoder = InputEncoder(network.layout, plan.orders, game)
        self._step = 0
        self._padded = np.zeros((num_rows, network.layout.size), dtype=np.int8)

    def see(self, observations: NDArray[np.int8], out: NDArray[np.int8]) -> None:
        """Take in a step's observations and write the network's inputs."""
        if self._plan.switches is not None:
            self._encoder.tell(self._plan.told_at(self._step))
        self._encoder.encode(observations, out)
        self._step += 1

    def choose(
        self,
        inputs: NDArray[np.int8],  # (num_envs, size)
        top: NDArray[np.int8],  # (num_envs,)
        uniforms: NDArray[np.float64],  # (num_envs,)
        out: NDArray[np.int64],  # (num_envs,)
    ) -> None:
        """Choose an action for each environment, and remember it."""
        plan = self._plan
        with torch.inference_mode():
            logits = self._logits(inputs)
            if plan.mask_factor is not None:
                logits = mask_violations(logits, torch.from_numpy(top), plan.mask_factor)
        values: NDArray[Any] = logits.numpy()
        if plan.is_greedy:
            out[:] = values.argmax(axis=1)
        else:
            sample_actions(values, uniforms, out)
        step = self._step - 1
        if plan.trials is not None:
            np.copyto(out, plan.trials.actions, where=plan.trials.steps == step)
        if step < len(plan.opening):
            out[:] = plan.opening[step]
        self._encoder.note(out)

    def _logits(self, inputs: NDArray[np.int8]) -> torch.Tensor:
        if len(inputs) < len(self._padded):
            self._padded[: len(inputs)] = inputs
            return _logits_of(self._network, self._padded)[: len(inputs)]
        return _logits_of(self._network, inputs)


def _logits_of(network: ActorCritic, inputs: NDArray[np.int8]) -> torch.Tensor:
    return network.logits(network.prepare(inputs))


@lru_cache
def least_rows(layout: InputLayout, hidden: tuple[int, ...], activation: str, whole: int) -> int:
    """How many rows a network must be given so that each comes out as among `whole` rows.

    Libraries multiply small matrices by other routines, which add in another order and differ in
    the last bit; that may turn an action. Which routine is taken depends on the shapes alone, so it
    is tried out: the smallest number of rows that gives the bits of `whole` rows, for any row.
    """
    network = ActorCritic(layout, hidden=hidden, activation=activation, seed=_PROBE_SEED)
    generator = np.random.Generator(np.random.Philox(_PROBE_SEED))
    rows = generator.integers(0, 2, (whole, layout.size)).astype(np.int8)
    count = min(whole, _MAX_PROBE)
    with torch.inference_mode():
        wanted = _logits_of(network, rows).numpy()[:count]
        least = 1
        while least < whole:
            parts = [
                _logits_of(network, np.resize(rows[start : start + least], (least, layout.size)))
                for start in range(0, count, least)
            ]
            if np.array_equal(torch.cat(parts)[:count].numpy(), wanted):
                return least
            least *= 2
    return whole
