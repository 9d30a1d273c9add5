"""What a defender is: seeds in at the start of an episode, observations in, actions out."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from standing_orders.config import SimConfig

# Scripted ones, see `defenders`; here, because Numba is not needed to know their names.
NAMES = ("sleep", "random", "useful-random", "react_restore", "react_remove", "heuristic")


class Policy(Protocol):
    """A defender of a batch of environments that sees observations and nothing else."""

    @property
    def name(self) -> str:
        """Name for tables and logs."""
        ...

    def reset(self, seeds: NDArray[np.uint64]) -> None:
        """Begin one episode in each of `len(seeds)` environments.

        Args:
            seeds: shape (num_envs,); environment i's random choices depend on `seeds[i]` alone.
        """
        ...

    def act(
        self,
        observations: NDArray[np.int8],  # (num_envs, 52)
    ) -> NDArray[np.int64]:  # (num_envs,)
        """Choose one action for each environment; the next call may overwrite the result."""
        ...


@runtime_checkable
class KnowsGame(Protocol):
    """A policy that must know which game is played, such as for a belief."""

    def in_game(self, config: SimConfig) -> Policy:
        """The same policy in that game."""


def in_game(policy: Policy, config: SimConfig) -> Policy:
    """The policy as it plays a game: told of it, if it wants to know."""
    return policy.in_game(config) if isinstance(policy, KnowsGame) else policy
