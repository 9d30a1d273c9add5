"""The step loop that every collector runs, over any simulator and any policy."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.reward import TENTHS_PER_POINT
from standing_orders.collect.plan import Plan
from standing_orders.collect.rollout import Rollout, empty_rollout
from standing_orders.config import SimConfig
from standing_orders.rules.compliance import judge_all, look_all

Weights = dict[str, NDArray[Any]]


class Game(Protocol):
    """Environments in lock step, such as `cage2.batch.Cage2Batch`."""

    config: SimConfig
    states: NDArray[np.void]  # (num_envs,); of the true state, at least the held hosts

    def reset(
        self,
        seed: NDArray[np.uint64],  # (num_envs,)
        *,
        reds: NDArray[np.int8],  # (num_envs,)
    ) -> NDArray[np.int8]:  # (num_envs, 52)
        """Begin an episode in every environment."""
        ...

    def step(
        self,
        actions: NDArray[np.int64],  # (num_envs,)
    ) -> tuple[NDArray[np.int8], NDArray[np.int32]]:  # (num_envs, 52), (num_envs,) in tenths
        """Play one step in every environment."""
        ...


class Defenders(Protocol):
    """The defenders of some episodes: what they remember, and how they choose."""

    def see(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
        out: NDArray[np.int8],  # (num_envs, input_size)
    ) -> None:
        """Take in a step's observations and write what the choice is made from."""
        ...

    def choose(
        self,
        inputs: NDArray[np.int8],  # (num_envs, input_size)
        top: NDArray[np.int8],  # (num_envs,): highest-ranked held type, for training only
        uniforms: NDArray[np.float64],  # (num_envs,)
        out: NDArray[np.int64],  # (num_envs,)
    ) -> None:
        """Choose an action for each environment, and remember it."""
        ...


class Actor(Protocol):
    """A policy as collectors need it. Its recipe and weights can be sent to another process."""

    @property
    def input_size(self) -> int:
        """Number of inputs of a choice."""
        ...

    @property
    def preload(self) -> str:
        """Module to import, once for all workers of a machine, before such actors are made."""
        ...

    def begin(self, plan: Plan, game: SimConfig) -> Defenders:
        """The defenders of the episodes of a plan, before the first step."""
        ...

    def recipe(self) -> Callable[[], "Actor"]:
        """What makes such an actor elsewhere; its weights follow."""
        ...

    def weights(self) -> Weights:
        """Weights as plain arrays."""
        ...

    def load(self, weights: Weights) -> None:
        """Take over weights."""
        ...


@dataclass
class Timing:
    """Seconds of work, and of waiting for it, over all that play."""

    environment: float = 0.0  # simulating
    inference: float = 0.0  # encoding inputs, choosing actions, judging them
    waiting: float = 0.0  # for the slowest at a barrier, or for a task
    transport: float = 0.0  # sending and receiving

    def add(self, other: "Timing") -> None:
        """Add another's seconds."""
        for name, seconds in vars(other).items():
            setattr(self, name, getattr(self, name) + seconds)


def play_episodes(game: Game, actor: Actor, plan: Plan, timing: Timing) -> Rollout:
    """Play every episode of a plan, all at once.

    Args:
        game: as many environments as the plan has episodes; they are reset.
        actor: the policy that plays.
        plan: which episodes.
        timing: the time spent is added to it.
    """
    steps = plan.steps
    rollout = empty_rollout(steps, plan.num_episodes, actor.input_size)
    defenders = actor.begin(plan, game.config)
    clock = perf_counter()
    observations = game.reset(plan.seeds, reds=plan.reds)
    clock = _note(timing, "environment", clock)
    for step in range(steps):
        now = (rollout.top[step], rollout.num_held[step], rollout.held_hosts[step])
        inputs, actions = rollout.inputs[step], rollout.actions[step]
        look_all(game.states, plan.judged_at(step), plan.count_foothold, *now)
        defenders.see(observations, inputs)
        defenders.choose(inputs, rollout.top[step], plan.uniforms[step], actions)
        judge_all(actions, *now, rollout.verdicts[step], rollout.tallies)
        clock = _note(timing, "inference", clock)
        observations, tenths = game.step(actions)
        rollout.rewards[step] = tenths / TENTHS_PER_POINT
        clock = _note(timing, "environment", clock)
    defenders.see(observations, rollout.inputs[steps])
    return rollout


def _note(timing: Timing, name: str, since: float) -> float:
    now = perf_counter()
    setattr(timing, name, getattr(timing, name) + now - since)
    return now
