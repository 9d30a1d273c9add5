"""Play episodes and note everything: the true states, what blue saw, what both did.

An attack is fixed by its number: the simulator's random stream is keyed by seed and turn, so the
same number under another policy, or from some step on, meets the same draws.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.attacks import AttackBatch, AttackFile
from standing_orders.cage2.batch import Cage2Batch
from standing_orders.cage2.policy import Policy, in_game
from standing_orders.config import SimConfig
from standing_orders.errors import ConfigError
from standing_orders.seeding import child_seed


@runtime_checkable
class Remembers(Protocol):
    """A policy that remembers what it did, and can be told that something else was played."""

    def played(self, actions: NDArray[np.int64]) -> None:  # (num_envs,)
        """Remember these as the last actions instead of those that `act` gave."""
        ...


class Believer(Protocol):
    """What blue can know of each environment, from its own actions and observations."""

    @property
    def held(self) -> NDArray[np.float64]:  # (num_envs, 13)
        """Probability that red holds each host."""
        ...

    def reset(self, observations: NDArray[np.int8]) -> None:  # (num_envs, 52)
        """Begin an episode."""
        ...

    def update(
        self,
        actions: NDArray[np.int64],  # (num_envs,)
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> None:
        """Take in one step."""
        ...


MakeBeliever = Callable[[SimConfig, int], Believer]  # for a game and a number of environments


@dataclass(frozen=True)
class Recording:
    """Some episodes of one policy, step 0 being the start; T steps, N episodes."""

    config: SimConfig
    policy: str
    numbers: tuple[int, ...]  # (N,): which attacks
    states: NDArray[np.void]  # (T + 1, N)
    observations: NDArray[np.int8]  # (T + 1, N, 52)
    actions: NDArray[np.int64]  # (T, N)
    rewards: NDArray[np.int32]  # (T, N), tenths of a point
    held_chance: NDArray[np.float64] | None = None  # (T + 1, N, 13): P(held), if it was watched
    attack: AttackFile | None = None  # whose draws were met instead of those of the numbers

    @property
    def returns(self) -> NDArray[np.int64]:  # (N,), tenths of a point
        """Return of each episode."""
        return np.asarray(self.rewards.sum(axis=0, dtype=np.int64))


class Takeover:
    """One policy up to a step and another one from there on.

    A successor that `Remembers` watches from the start, told what was really played; any other
    begins at the step where it takes over.

    Args:
        first: acts before the step.
        second: acts from the step on.
        step: steps that the first one plays, at least 0.
    """

    def __init__(self, first: Policy, second: Policy, step: int) -> None:
        if step < 0:
            raise ConfigError(f"step {step}: must be at least 0")
        self.name = f"{first.name}, from step {step} {second.name}"
        self._first, self._second, self._step = first, second, step

    def in_game(self, config: SimConfig) -> "Takeover":
        """The same policies in that game."""
        return Takeover(in_game(self._first, config), in_game(self._second, config), self._step)

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments."""
        self._now = 0
        self._first.reset(seeds)
        self._second.reset(seeds)

    def act(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> NDArray[np.int64]:  # (num_envs,)
        """Choose one action for each environment; the next call may overwrite the result."""
        self._now += 1
        if self._now > self._step:
            return self._second.act(observations)
        actions = self._first.act(observations)
        if isinstance(self._second, Remembers):
            self._second.act(observations)
            self._second.played(actions)
        return actions


def record(
    policy: Policy,
    config: SimConfig,
    numbers: Sequence[int],
    *,
    make_believer: MakeBeliever | None = None,
    attack: AttackFile | None = None,
) -> Recording:
    """Play one episode for each number and note everything.

    Number s is the episode that `standing-orders play --seed s` shows.

    Args:
        policy: the defender.
        config: the game.
        numbers: which attacks, each at least 0.
        make_believer: makes one that watches too, if given.
        attack: whose draws are met instead, with its numbers for the policy's own choices.

    Raises:
        ConfigError: a number cannot be a seed, or there is none.
    """
    if not numbers:
        raise ConfigError("no episode to record: name at least one")
    own = [child_seed(n, "play", "policy") for n in numbers]
    batch = Cage2Batch(len(numbers), config)
    if attack is not None:
        batch = AttackBatch(config, [attack.seeds] * len(numbers))
        own = [attack.policy_seed] * len(numbers)
    policy = in_game(policy, config)
    policy.reset(np.array(own, dtype=np.uint64))
    seen = batch.reset(np.array([child_seed(n, "play") for n in numbers], dtype=np.uint64))
    states, observations = [batch.states.copy()], [seen.copy()]
    believer = None if make_believer is None else make_believer(config, len(numbers))
    chances = []
    if believer is not None:
        believer.reset(seen)
        chances.append(believer.held.copy())
    played, rewards = [], []
    for _ in range(config.horizon):
        actions = np.array(policy.act(seen))
        seen, earned = batch.step(actions)
        states.append(batch.states.copy())
        observations.append(seen.copy())
        played.append(actions)
        rewards.append(earned.copy())
        if believer is not None:
            believer.update(actions, seen)
            chances.append(believer.held.copy())
    return Recording(
        config=config,
        policy=policy.name,
        numbers=tuple(int(n) for n in numbers),
        states=np.stack(states),
        observations=np.stack(observations),
        actions=np.stack(played),
        rewards=np.stack(rewards),
        held_chance=np.stack(chances) if chances else None,
        attack=attack,
    )


def notable(recording: Recording) -> dict[str, int]:
    """Places of the best, the median and the worst episode; the first of equals.

    Example:
        >>> from standing_orders.cage2.defenders import ScriptedDefender
        >>> found = notable(record(ScriptedDefender("sleep"), SimConfig(horizon=30), range(5)))
        >>> sorted(found)
        ['best', 'median', 'worst']
    """
    ranking = np.argsort(-recording.returns, kind="stable")
    places = {"best": 0, "median": (len(ranking) - 1) // 2, "worst": len(ranking) - 1}
    return {name: int(ranking[place]) for name, place in places.items()}
