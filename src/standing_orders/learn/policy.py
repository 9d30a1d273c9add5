"""A trained network as a defender: it sees observations and the order it is told."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from standing_orders.cage2.rng import BLUE_STREAM, philox
from standing_orders.compiled import jit
from standing_orders.config import SimConfig
from standing_orders.learn.inputs import InputEncoder
from standing_orders.learn.networks import ActorCritic
from standing_orders.learn.sampling import sample_actions
from standing_orders.learn.snapshot import network_arrays, warm_start


@jit
def _draw_uniforms(seeds: NDArray[np.uint64], turn: int, uniforms: NDArray[np.float64]) -> None:
    for i in range(len(seeds)):
        words = philox(turn, 0, BLUE_STREAM, 0, seeds[i])
        uniforms[i] = (words[0] * 2.0**20 + (words[1] >> 12)) * 2.0**-52


class LearnedDefender:
    """A network that plays greedily or draws its actions.

    Args:
        network: trained.
        name: for tables.
        game: that is played, for its belief; the standard one if left out.
        orders: what it is told, each 0 to 119: the environment with seed s gets number s modulo
            their count. None for a network that takes no order.
        is_greedy: take the likeliest action instead of drawing one.
        draws: `own`: every environment draws from its own seed, so that the same seed gives the
            same actions in any batch; `shared`: all draw from one stream, seeded by the first.
    """

    def __init__(
        self,
        network: ActorCritic,
        *,
        name: str,
        game: SimConfig | None = None,
        orders: Sequence[int] = (),
        is_greedy: bool = False,
        draws: Literal["own", "shared"] = "own",
    ) -> None:
        self.name = name
        self.game = game or SimConfig()
        self.orders = tuple(orders)
        self.switch: tuple[int, int] | None = None  # step from which another order is told, and it
        self.opening: tuple[int, ...] = ()  # actions of the first steps, whatever is seen
        self._network = network
        self._is_greedy = is_greedy
        self._draws = draws

    def told(self, order: int) -> "LearnedDefender":
        """The same policy, told this order in every episode and measured as in training."""
        return self._changed(orders=(order,), _draws="shared")

    def switched(self, step: int, order: int) -> "LearnedDefender":
        """The same policy, told another order from a step on; the first step is 0."""
        return self._changed(switch=(step, order))

    @property
    def has_rules(self) -> bool:
        """Whether it keeps rules about its own actions by construction."""
        return bool(self._network.layout.rules)

    def opening_with(self, actions: tuple[int, ...]) -> "LearnedDefender":
        """The same policy, which plays these actions first and then goes on by itself."""
        return self._changed(opening=actions)

    def keeping(self, rules: Sequence[str]) -> "LearnedDefender":
        """The same policy, which keeps rules about its own actions by construction."""
        old = self._network
        layout = replace(old.layout, rules=tuple(rules))
        network = ActorCritic(layout, hidden=old.hidden, activation=old.activation, seed=0)
        warm_start(network, network_arrays(old), old.layout)
        return self._changed(_network=network)

    def in_game(self, config: SimConfig) -> "LearnedDefender":
        """The same policy in another game."""
        return self if config == self.game else self._changed(game=config)

    def _changed(self, **values: Any) -> "LearnedDefender":
        other = copy.copy(self)
        vars(other).update(values)
        return other

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        count = len(seeds)
        self._seeds = seeds
        self._turn = 0
        choice = np.array(self.orders or (0,), dtype=np.int64)
        told = choice[(seeds % np.uint64(len(choice))).astype(np.int64)]
        self._encoder = InputEncoder(self._network.layout, told, self.game)
        self._inputs = np.zeros((count, self._network.layout.size), dtype=np.int8)
        self._uniforms = np.zeros(count)
        self._stream = np.random.Generator(np.random.Philox(int(seeds[0]) if count else 0))
        self._actions = np.zeros(count, dtype=np.int64)

    def act(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> NDArray[np.int64]:  # (num_envs,)
        """Choose one action for each environment; the next call overwrites the result."""
        if self._turn:
            self._encoder.note(self._actions)
        if self.switch is not None and self._turn == self.switch[0]:
            self._encoder.tell(self.switch[1])
        self._encoder.encode(observations, self._inputs)
        with torch.inference_mode():
            logits: NDArray[Any] = self._network.logits(self._network.prepare(self._inputs)).numpy()
        if self._is_greedy:
            self._actions[:] = logits.argmax(axis=1)
        else:
            if self._draws == "own":
                _draw_uniforms(self._seeds, self._turn, self._uniforms)
            else:
                self._stream.random(out=self._uniforms)
            sample_actions(logits, self._uniforms, self._actions)
        if self._turn < len(self.opening):
            self._actions[:] = self.opening[self._turn]
        self._turn += 1
        return self._actions

    def played(self, actions: NDArray[np.int64]) -> None:  # (num_envs,)
        """Remember these as the last actions instead of those that `act` chose."""
        self._actions[:] = actions
