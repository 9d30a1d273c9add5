"""A red agent of the user's own in our simulator: a compiled function or, slower, plain Python.

The function `decide(env, memory, word)` gives the kind of red's next action and its target, both as
in `cage2.scenario`: for instance (EXPLOIT, 7) or (DISCOVER_SYSTEMS, SUBNET_TARGET + 2). `env` is
the environment (see `state.Environment`), of which an honest attacker reads red's knowledge, its
last action and its success; `memory` are `MEMORY_SIZE` numbers of its own, zero at the start of an
episode; `word` is a random number below 2**32. What red does not know it cannot name: such an
action is refused. Decorated with `standing_orders.compiled.jit` it runs at full speed; as it stands
it runs too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from standing_orders.cage2.actions import SLEEP
from standing_orders.cage2.batch import Cage2Batch, check_actions
from standing_orders.cage2.blue import act_blue
from standing_orders.cage2.observe import clear_events, observe, update_belief
from standing_orders.cage2.red import act_red, draw
from standing_orders.cage2.reward import reward_tenths
from standing_orders.cage2.rng import RED_STREAM, philox
from standing_orders.cage2.scenario import (
    DISCOVER_SYSTEMS,
    IMPACT,
    NUM_HOSTS,
    RED_SLEEP,
    SUBNET_TARGET,
    SUBNETS,
)
from standing_orders.cage2.state import begin_episode
from standing_orders.compiled import jit
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.plugins import load_attribute

MEMORY_SIZE = 32
Decide = Callable[[Any, NDArray[np.int64], int], tuple[int, int]]


@jit
def _begin_all(states: NDArray[np.void]) -> None:
    for i in range(len(states)):
        begin_episode(states[i])


@jit
def _play_blue(states: NDArray[np.void], actions: NDArray[np.int64], rules: int) -> None:
    for i in range(len(states)):
        clear_events(states[i])
        act_blue(states[i], actions[i], rules)


@jit
def _draw_words(states: NDArray[np.void], words: NDArray[np.int64]) -> None:
    for i in range(len(states)):
        env = states[i]
        words[i] = philox(env.turn, env.episode, RED_STREAM, 0, env.seed)[0]


@jit
def _decide_compiled(
    decide: Any,
    states: NDArray[np.void],
    memories: NDArray[np.int64],
    words: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    for i in range(len(states)):
        kind, target = decide(states[i], memories[i], words[i])
        chosen[i, 0] = kind
        chosen[i, 1] = target


@jit
def _play_red(states: NDArray[np.void], chosen: NDArray[np.int64], rules: int) -> None:
    for i in range(len(states)):
        env = states[i]
        kind, target = chosen[i]
        words = philox(env.turn, env.episode, RED_STREAM, 0, env.seed)
        exploit, detected, session = draw(env, kind, target, words)
        act_red(env, rules, kind, target, exploit, detected, session)


@jit
def _finish(
    states: NDArray[np.void], style: int, words: NDArray[np.uint32], rewards: NDArray[np.int32]
) -> None:
    for i in range(len(states)):
        env = states[i]
        update_belief(env)
        env.step += 1
        rewards[i] = reward_tenths(env)
        observe(env, style, words[i])


class OwnRedBatch(Cage2Batch):
    """A batch in which a red agent of the user's own attacks.

    Args:
        num_envs: how many, at least 1.
        config: which game; its red agent is not used.
        red: module:attribute of the function.

    Raises:
        ConfigError: there is no such function.
    """

    def __init__(self, num_envs: int, config: SimConfig, *, red: str) -> None:
        super().__init__(num_envs, config)
        self._red = red
        self._decide: Decide = load_attribute(red, "red agent")
        if not callable(self._decide):
            raise ConfigError(f"red agent {red!r}: must be a function decide(env, memory, word)")
        self._memories = np.zeros((num_envs, MEMORY_SIZE), dtype=np.int64)
        self._chosen = np.zeros((num_envs, 2), dtype=np.int64)
        self._words = np.zeros(num_envs, dtype=np.int64)

    def reset(
        self,
        seed: int | ArrayLike | None = None,
        *,
        chosen: NDArray[np.bool_] | None = None,
        reds: NDArray[np.int8] | None = None,  # noqa: ARG002 (there is but one)
    ) -> NDArray[np.int8]:  # (num_envs, 52)
        """Begin an episode in all environments; see `Cage2Batch.reset`.

        Raises:
            ConfigError: only some were chosen, or a decision of red's is no action.
        """
        if chosen is not None:
            raise ConfigError("chosen: all environments of such a batch are reset together")
        super().reset(seed)
        _begin_all(self.states)
        self._memories[:] = 0
        for _ in range(self.config.head_start):
            self._play(np.full(self.num_envs, SLEEP, dtype=np.int64), self.observations)
        self.states["step"] = 0
        return self.observations

    def step(
        self,
        actions: ArrayLike,
        *,
        chosen: NDArray[np.bool_] | None = None,
        out: NDArray[np.int8] | None = None,
    ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """Play one step in all environments; see `Cage2Batch.step`.

        Raises:
            ConfigError: only some were chosen, or an action of blue's or red's is none.
        """
        if chosen is not None:
            raise ConfigError("chosen: all environments of such a batch play together")
        checked = check_actions(actions, self.num_envs)
        self._check_playable(self._everyone)
        out = self.observations if out is None else self._check_out(out)
        self._play(checked, out)
        return out, self.rewards

    def _play(self, actions: NDArray[np.int64], out: NDArray[np.int8]) -> None:
        _play_blue(self.states, actions, self._rules)
        for _ in range(self.config.red_tempo):
            _draw_words(self.states, self._words)
            self._let_decide()
            self._check_decisions()
            _play_red(self.states, self._chosen, self._rules)
        _finish(self.states, self._style, out.view(np.uint32), self.rewards)

    def _let_decide(self) -> None:
        if hasattr(self._decide, "py_func"):  # compiled
            _decide_compiled(self._decide, self.states, self._memories, self._words, self._chosen)
            return
        rows: Any = self.states.view(np.recarray)
        for i in range(self.num_envs):
            self._chosen[i] = self._decide(rows[i], self._memories[i], int(self._words[i]))

    def _check_decisions(self) -> None:
        kind, target = self._chosen.T
        on_host = (kind > DISCOVER_SYSTEMS) & (kind <= IMPACT)
        is_good = (kind == RED_SLEEP) | (on_host & (target >= 0) & (target < NUM_HOSTS))
        subnet = target - SUBNET_TARGET
        is_good |= (kind == DISCOVER_SYSTEMS) & (subnet >= 0) & (subnet < len(SUBNETS))
        if not is_good.all():
            bad = tuple(self._chosen[np.flatnonzero(~is_good)[0]].tolist())
            raise ConfigError(f"red agent {self._red!r}: {bad} is no action and target")
