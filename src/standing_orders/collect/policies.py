"""Any policy as collectors need it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from standing_orders.cage2.policy import Policy, in_game
from standing_orders.cage2.scenario import OBSERVATION_SIZE
from standing_orders.collect.loop import Weights
from standing_orders.collect.plan import Plan
from standing_orders.config import SimConfig


class PolicyActor:
    """Plays with a policy that sees observations and draws for itself.

    Args:
        make: gives the policy; it must be possible to send it to another process.
        preload: module that workers need for it.
    """

    input_size = OBSERVATION_SIZE

    def __init__(self, make: Callable[[], Policy], preload: str) -> None:
        self.policy = make()
        self.preload = preload
        self._make = make

    def begin(self, plan: Plan, game: SimConfig) -> "PolicyDefenders":
        """The defenders of the episodes of a plan, before the first step."""
        policy = in_game(self.policy, game)
        policy.reset(plan.policy_seeds)
        return PolicyDefenders(policy)

    def recipe(self) -> "PolicyRecipe":
        """What makes such an actor elsewhere."""
        return PolicyRecipe(self._make, self.preload)

    def weights(self) -> Weights:
        """None: the policy is made again where it plays."""
        return {}

    def load(self, weights: Weights) -> None:
        """Nothing is sent."""


@dataclass(frozen=True)
class PolicyRecipe:
    """Makes an actor in another process."""

    make: Callable[[], Policy]
    preload: str

    def __call__(self) -> PolicyActor:
        """The actor."""
        return PolicyActor(self.make, self.preload)


class PolicyDefenders:
    """The defenders of some episodes; see `collect.loop.Defenders`.

    Args:
        policy: that has been reset.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def see(self, observations: NDArray[np.int8], out: NDArray[np.int8]) -> None:
        """Take in a step's observations."""
        out[:] = observations

    def choose(
        self,
        inputs: NDArray[np.int8],
        top: NDArray[np.int8],  # noqa: ARG002
        uniforms: NDArray[np.float64],  # noqa: ARG002
        out: NDArray[np.int64],
    ) -> None:
        """Choose an action for each environment."""
        out[:] = self._policy.act(inputs)
