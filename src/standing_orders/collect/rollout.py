"""Complete episodes, with all that training needs of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.rules.compliance import (
    NUM_TALLIES,
    OrderCompliance,
    compliance_spread,
    count_episodes,
)


@dataclass(frozen=True)
class Rollout:
    """`num_envs` episodes of `steps` steps. True state is for training only."""

    inputs: NDArray[np.int8]  # (steps + 1, num_envs, size)
    actions: NDArray[np.int64]  # (steps, num_envs)
    rewards: NDArray[np.float64]  # (steps, num_envs): the environment's, in points
    verdicts: NDArray[np.int8]  # (steps, num_envs)
    top: NDArray[np.int8]  # (steps, num_envs): highest-ranked type held before the step, -1 none
    num_held: NDArray[np.int8]  # (steps, num_envs): number of types held before the step
    held_hosts: NDArray[np.int16]  # (steps, num_envs): mask of hosts held before the step
    tallies: NDArray[np.int64]  # (num_envs, NUM_TALLIES)

    @property
    def counts(self) -> OrderCompliance:
        """Verdicts of all episodes together."""
        return count_episodes(self.tallies)

    @property
    def spread(self) -> float | None:
        """Standard deviation of strict compliance between episodes."""
        return compliance_spread(self.tallies)

    @property
    def mean_return(self) -> float:
        """Mean return of the environment's reward."""
        return float(self.rewards.sum(axis=0).mean())

    def put(self, rows: slice, part: "Rollout") -> None:
        """Write some of the episodes, which were played elsewhere."""
        for name, array in vars(self).items():
            where = rows if name == "tallies" else (slice(None), rows)
            array[where] = getattr(part, name)


def empty_rollout(steps: int, num_envs: int, input_size: int) -> Rollout:
    """Room for some episodes."""
    shape = (steps, num_envs)
    return Rollout(
        inputs=np.zeros((steps + 1, num_envs, input_size), dtype=np.int8),
        actions=np.zeros(shape, dtype=np.int64),
        rewards=np.zeros(shape),
        verdicts=np.zeros(shape, dtype=np.int8),
        top=np.zeros(shape, dtype=np.int8),
        num_held=np.zeros(shape, dtype=np.int8),
        held_hosts=np.zeros(shape, dtype=np.int16),
        tallies=np.zeros((num_envs, NUM_TALLIES), dtype=np.int64),
    )
